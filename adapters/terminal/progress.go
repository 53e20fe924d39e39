package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Style says what the writer can show.
type Style struct {
	// Live redraws the lines of what runs in place; otherwise every change is a line of
	// its own that begins with the time.
	Live bool
	// Color allows colors.
	Color bool
	// Size tells how many columns and rows the terminal has now; nil, and 0, mean 80 and
	// 24. It is asked before each drawing: people resize their windows.
	Size func() (columns, rows int)
	// Several tests run side by side: each has one line, which names it.
	Several bool
}

// tick is how often a live line shows the time that passes.
const tick = time.Second

// quiet is how long a log may be silent while tests run: pipelines end jobs that say
// nothing, and people wonder.
const quiet = time.Minute

// Progress is a StatusSink that shows tests as they go through their stages. It writes
// from a goroutine of its own that lives only while there is something to write, so a
// terminal that is stopped holds no test back.
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
	screen screen
	shown  map[uuid.UUID]*view
	// order is the order in which the tests were seen first.
	order []*view
	// stale tells that the live lines are not what they should be. They are drawn once
	// nothing else is to be written, so many changes at once are one drawing.
	stale bool
}

var _ ports.StatusSink = (*Progress)(nil)

// view is what is shown of a test.
type view struct {
	name    string
	began   time.Time
	stage   core.Stage
	since   time.Time
	reason  core.Reason
	message string
	// note is the last line of the log of what is under way.
	note   string
	failed bool
}

// NewProgress makes a Progress that writes to out in the style. The clock must be the
// one that gives the transitions their times. It must be closed.
func NewProgress(out io.Writer, clock ports.Clock, style Style) *Progress {
	p := &Progress{clock: clock, style: style, shown: map[uuid.UUID]*view{}}
	p.screen = screen{out: out, size: style.Size}
	p.idle = sync.NewCond(&p.mu)
	return p
}

// Transition shows what changed. It never waits for the writer.
func (p *Progress) Transition(transition core.StoredTransition) {
	p.enqueue(func() { p.show(transition) })
}

// Note shows a line of the log of what is under way for a test that is shown, until its
// next stage. Without live lines it shows nothing. It never waits for the writer.
func (p *Progress) Note(test uuid.UUID, line string) {
	if !p.style.Live {
		return
	}
	p.enqueue(func() {
		if v := p.shown[test]; v != nil {
			v.note, p.stale = core.PrintableLine(line), true
		}
	})
}

// Write shows lines of text between those of the progress, above the live ones. It
// never waits for the writer and never fails.
func (p *Progress) Write(text []byte) (int, error) {
	lines := core.Printable(string(text))
	p.enqueue(func() { p.line(strings.TrimRight(lines, "\n")) })
	return len(text), nil
}

// Close writes what is left and ends the live lines. Later transitions are ignored.
func (p *Progress) Close() {
	p.mu.Lock()
	if p.ticker != nil {
		p.ticker.Stop()
	}
	p.mu.Unlock()
	p.enqueue(func() { p.draw(); p.screen.leave() })
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
		last := len(p.queue) == 0
		p.mu.Unlock()
		call()
		if last {
			p.draw()
		}
		p.mu.Lock()
	}
	p.writing = false
	p.idle.Broadcast()
}

// line writes a line that stays.
func (p *Progress) line(text string) {
	p.screen.print(text)
	p.stale = true
}

func (p *Progress) show(transition core.StoredTransition) {
	record := &transition.After
	v := p.shown[record.ID]
	if v == nil {
		v = &view{name: record.Name, began: transition.At, since: transition.At}
		if v.name == "" && p.style.Several {
			v.name = record.Spec.Template + " " + record.ID.String()[:8]
		}
		p.shown[record.ID] = v
		p.order = append(p.order, v)
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
		v.stage, v.since, v.note = now, transition.At, ""
	}
	v.reason, v.message, v.failed = reason, message, v.failed || failing
	if p.style.Live {
		p.stale = true
		p.planTick()
		return
	}
	if failing {
		p.plainLine(v, transition.At, "failed", record.Status.Reason, record.Status.Message)
		if now == core.StageDone {
			p.planTick()
			return
		}
	}
	p.plainLine(v, transition.At, v.stage.String(), reason, message)
	p.planTick()
}

// plainLine writes a line for a log.
func (p *Progress) plainLine(v *view, at time.Time, what string, reason core.Reason, message string) {
	line := at.UTC().Format(time.RFC3339) + " "
	if p.style.Several {
		line += core.PrintableLine(v.name) + ": "
	}
	line += fmt.Sprintf("%-7s %s", what, reason)
	if message != "" {
		line += ": " + core.PrintableLine(message)
	}
	p.screen.print(line)
}

// showLive writes the lines of what is over.
func (p *Progress) showLive(v *view, now core.Stage, transition core.StoredTransition, failing bool) {
	at := transition.At
	switch {
	case failing:
		p.endLine(v, at, false, transition.After.Status.Reason, transition.After.Status.Message)
	case now <= v.stage || v.stage == core.StageDone:
	case !p.style.Several && (v.stage == core.StageCleanup && v.failed || !v.failed),
		p.style.Several && now == core.StageDone && !v.failed:
		p.endLine(v, at, true, "", "")
	}
}

// endLine writes the line of a stage that is over; where there are several tests, of a
// test.
func (p *Progress) endLine(v *view, at time.Time, well bool, reason core.Reason, message string) {
	mark := p.paint("32", "✓")
	if !well {
		mark = p.paint("31", "✗")
	}
	line := fmt.Sprintf("%s %-7s %6s", mark, v.stage, elapsed(at.Sub(v.since)))
	if p.style.Several {
		line = fmt.Sprintf("%s %s  %s", mark, core.PrintableLine(v.name), elapsed(at.Sub(v.began)))
	}
	if reason != "" {
		line += "  " + string(reason)
	}
	if message != "" {
		line += ": " + core.PrintableLine(message)
	}
	p.line(line)
}

// draw draws the live lines anew if they are stale.
func (p *Progress) draw() {
	if !p.stale || !p.style.Live {
		return
	}
	p.stale = false
	columns, rows := p.screen.dimensions()
	now := p.clock.Now()
	var lines []string
	hidden := 0
	names := 0
	for _, v := range p.order {
		if v.stage != core.StageDone {
			names = max(names, columnsOf(v.name))
		}
	}
	names = min(names, columns/3)
	for _, v := range p.order {
		switch {
		case v.stage == core.StageDone:
		case len(lines) >= rows-2:
			// The last rows stay free for the count and for what is written below.
			hidden++
		default:
			// The mark and the space before the text take two columns; the last column stays
			// free, because terminals wrap when it is written.
			lines = append(lines, p.paint("33", "·")+" "+cut(p.liveText(v, now, names), columns-3))
		}
	}
	if hidden > 0 {
		lines = append(lines, cut(fmt.Sprintf("  and %d more", hidden), columns-1))
	}
	p.screen.draw(lines)
}

func (p *Progress) liveText(v *view, now time.Time, names int) string {
	text := fmt.Sprintf("%-7s %6s  ", v.stage, elapsed(now.Sub(v.since)))
	if p.style.Several {
		name := cut(core.PrintableLine(v.name), names)
		text = name + strings.Repeat(" ", max(names-columnsOf(name), 0)+2) + text
	}
	switch {
	case v.note != "":
		return text + v.note
	case v.message != "":
		return text + string(v.reason) + ": " + core.PrintableLine(v.message)
	default:
		return text + string(v.reason)
	}
}

// beat writes that tests still run, and where they are.
func (p *Progress) beat() {
	now := p.clock.Now()
	var running []*view
	in := map[core.Stage]int{}
	for _, v := range p.order {
		if v.stage != core.StageDone {
			running = append(running, v)
			in[v.stage]++
		}
	}
	line := now.UTC().Format(time.RFC3339) + " "
	switch {
	case len(running) == 0:
		return
	case !p.style.Several:
		line += fmt.Sprintf("%-7s still %s, for %s", running[0].stage, running[0].reason, elapsed(now.Sub(running[0].since)))
	default:
		var parts []string
		for stage := core.StageInputs; stage < core.StageDone; stage++ {
			if n := in[stage]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, stage))
			}
		}
		line += fmt.Sprintf("still running: %s", strings.Join(parts, ", "))
	}
	p.screen.print(line)
}

// planTick lets live lines show the time that passes, and a log that tests still run.
func (p *Progress) planTick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticker != nil {
		p.ticker.Stop()
		p.ticker = nil
	}
	running := slices.ContainsFunc(p.order, func(v *view) bool { return v.stage != core.StageDone })
	if p.closed || !running {
		return
	}
	if !p.style.Live {
		p.ticker = p.clock.AfterFunc(quiet, func() {
			p.enqueue(func() {
				p.beat()
				p.planTick()
			})
		})
		return
	}
	p.ticker = p.clock.AfterFunc(tick, func() {
		p.enqueue(func() {
			p.stale = true
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
