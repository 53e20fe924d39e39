package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Style says what the writer can show.
type Style struct {
	// Live redraws the current line in place; otherwise every change is a line of its
	// own that begins with the time.
	Live bool
	// Color allows colors.
	Color bool
	// Width is how many columns a redrawn line may take; 0 means 80.
	Width int
}

// tick is how often a live line shows the time that passes.
const tick = time.Second

// Progress is a StatusSink that shows one test at a time as it goes through its
// stages. It writes from a goroutine of its own that lives only while there is
// something to write, so a terminal that is stopped holds no test back.
type Progress struct {
	clock ports.Clock
	style Style

	mu      sync.Mutex
	queue   []func()
	writing bool
	idle    *sync.Cond
	ticker  ports.Timer
	closed  bool

	// The rest belongs to the goroutine that writes.
	out   io.Writer
	shown map[uuid.UUID]*view
	// live tells that a line without an end stands on the terminal.
	live bool
	last *view
}

var _ ports.StatusSink = (*Progress)(nil)

// view is what is shown of a test.
type view struct {
	id      uuid.UUID
	stage   core.Stage
	since   time.Time
	reason  core.Reason
	message string
	failed  bool
}

// NewProgress makes a Progress that writes to out in the style. The clock must be the
// one that gives the transitions their times. It must be closed.
func NewProgress(out io.Writer, clock ports.Clock, style Style) *Progress {
	if style.Width <= 0 {
		style.Width = 80
	}
	p := &Progress{clock: clock, style: style, out: out, shown: map[uuid.UUID]*view{}}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// Transition shows what changed. It never waits for the writer.
func (p *Progress) Transition(transition core.StoredTransition) {
	p.enqueue(func() { p.show(transition) })
}

// Write shows lines of text between those of the progress, above the current one. It
// never waits for the writer and never fails.
func (p *Progress) Write(text []byte) (int, error) {
	lines := core.Printable(string(text))
	p.enqueue(func() {
		wasLive := p.live
		p.clearLine()
		fmt.Fprintln(p.out, strings.TrimRight(lines, "\n"))
		if wasLive {
			p.redraw(p.clock.Now())
		}
	})
	return len(text), nil
}

// Close writes what is left and ends the current line. Later transitions are
// ignored.
func (p *Progress) Close() {
	p.mu.Lock()
	if p.ticker != nil {
		p.ticker.Stop()
	}
	p.mu.Unlock()
	p.enqueue(p.endLine)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for p.writing {
		p.idle.Wait()
	}
}

// enqueue has the writing goroutine do the call, in order.
func (p *Progress) enqueue(call func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.queue = append(p.queue, call)
	if !p.writing {
		p.writing = true
		go p.write()
	}
}

func (p *Progress) write() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) > 0 {
		call := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		call()
		p.mu.Lock()
	}
	p.writing = false
	p.idle.Broadcast()
}

func (p *Progress) show(transition core.StoredTransition) {
	record := &transition.After
	v := p.shown[record.ID]
	if v == nil {
		v = &view{id: record.ID, since: transition.At}
		p.shown[record.ID] = v
	}
	now := record.Stage()
	reason, message := current(record, now)
	if now == v.stage && reason == v.reason && message == v.message {
		return
	}
	failing := record.Status.Phase == core.PhaseFailed && transition.Before.Status.Phase != core.PhaseFailed
	if p.style.Live {
		p.showLive(v, now, transition, failing)
	}
	// A wait that looks like an earlier stage's, such as Coder being unavailable
	// while agents start, is still the later stage's.
	if now > v.stage {
		v.stage, v.since = now, transition.At
	}
	v.reason, v.message, v.failed = reason, message, v.failed || failing
	p.last = v
	if p.style.Live {
		p.redraw(transition.At)
		p.planTick()
		return
	}
	if failing {
		p.plainLine(transition.At, "failed", record.Status.Reason, record.Status.Message)
		if now == core.StageDone {
			return
		}
	}
	p.plainLine(transition.At, v.stage.String(), reason, message)
}

// plainLine writes a line for a log.
func (p *Progress) plainLine(at time.Time, what string, reason core.Reason, message string) {
	line := fmt.Sprintf("%s %-7s %s", at.UTC().Format(time.RFC3339), what, reason)
	if message != "" {
		line += ": " + core.Printable(message)
	}
	fmt.Fprintln(p.out, line)
}

// showLive writes the lines of the stages that are over.
func (p *Progress) showLive(v *view, now core.Stage, transition core.StoredTransition, failing bool) {
	at := transition.At
	switch {
	case failing:
		p.endStage(v, at, false, transition.After.Status.Reason, transition.After.Status.Message)
	case now > v.stage && v.stage != core.StageDone:
		if v.stage == core.StageCleanup && v.failed || !v.failed {
			p.endStage(v, at, true, "", "")
		}
	}
}

// endStage writes the line of a stage that is over in place of the live one.
func (p *Progress) endStage(v *view, at time.Time, well bool, reason core.Reason, message string) {
	mark := p.paint("32", "✓")
	if !well {
		mark = p.paint("31", "✗")
	}
	line := fmt.Sprintf("%s %-7s %6s", mark, v.stage, elapsed(at.Sub(v.since)))
	if reason != "" {
		line += "  " + string(reason)
	}
	if message != "" {
		line += ": " + core.Printable(message)
	}
	p.clearLine()
	fmt.Fprintln(p.out, line)
}

// redraw writes the live line anew.
func (p *Progress) redraw(at time.Time) {
	v := p.last
	if v == nil || v.stage == core.StageDone {
		return
	}
	text := fmt.Sprintf("%-7s %6s  %s", v.stage, elapsed(at.Sub(v.since)), v.reason)
	if v.message != "" {
		text += ": " + core.Printable(v.message)
	}
	// The mark and the space before the text take two columns; the last column stays
	// free, because terminals wrap when it is written.
	p.clearLine()
	fmt.Fprint(p.out, p.paint("33", "·")+" "+cut(text, p.style.Width-3))
	p.live = true
}

func (p *Progress) clearLine() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[2K")
		p.live = false
	}
}

// endLine leaves no unfinished line behind. A wait that nobody saw the end of stays
// readable.
func (p *Progress) endLine() {
	if p.live {
		fmt.Fprintln(p.out)
		p.live = false
	}
}

// planTick lets the live line show the time that passes.
func (p *Progress) planTick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticker != nil {
		p.ticker.Stop()
		p.ticker = nil
	}
	if p.closed || p.last.stage == core.StageDone {
		return
	}
	p.ticker = p.clock.AfterFunc(tick, func() {
		p.enqueue(func() {
			p.redraw(p.clock.Now())
			p.planTick()
		})
	})
}

func (p *Progress) paint(color, text string) string {
	if !p.style.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// elapsed shows a duration in whole seconds.
func elapsed(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// cut shortens text to at most width characters, at least one.
func cut(text string, width int) string {
	runes := []rune(text)
	width = max(width, 1)
	if len(runes) <= width {
		return text
	}
	return strings.TrimRight(string(runes[:width-1]), " ") + "…"
}
