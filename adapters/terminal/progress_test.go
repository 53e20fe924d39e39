package terminal_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestStatusSinkContract(t *testing.T) {
	for _, style := range []terminal.Style{{}, {Live: true, Color: true, Size: size(20, 5)}, {Live: true, Several: true}} {
		porttest.StatusSink(t, func(t *testing.T) ports.StatusSink {
			progress := terminal.NewProgress(&bytes.Buffer{}, clock.New(start), style)
			t.Cleanup(progress.Close)
			return progress
		})
	}
}

func TestEvidenceSinkContract(t *testing.T) {
	porttest.EvidenceSink(t, func(*testing.T) ports.EvidenceSink { return terminal.NewEvidence(core.Mask{}, 40) })
}

// story is a test as its record goes through a failure. Each step is stored so long
// after the start.
var story = []struct {
	at     time.Duration
	change func(r *core.Record)
}{
	{0, waits(core.PhasePending, core.ReasonInitializing, "the test was accepted")},
	{2 * time.Second, func(r *core.Record) {
		waits(core.PhaseRunning, core.ReasonCreatingWorkspace, "asking")(r)
		r.Status.CreateAttemptID = uuid.New()
	}},
	{3 * time.Second, func(r *core.Record) {
		waits(core.PhaseRunning, core.ReasonWaitingForBuild, "the start build is running")(r)
		r.Status.WorkspaceID = uuid.New()
	}},
	{30 * time.Second, waits(core.PhaseRunning, core.ReasonWaitingForAgents, "an agent is \x1b[31mstarting")},
	{31 * time.Second, waits(core.PhaseRunning, core.ReasonWaitingForAgents, "an agent is \x1b[31mstarting")},
	{40 * time.Second, waits(core.PhaseRunning, core.ReasonCoderUnavailable, "no answer")},
	{50 * time.Second, func(r *core.Record) {
		waits(core.PhaseFailed, core.ReasonAgentStartError, "its script failed")(r)
		deleted(r, core.ConditionFalse, core.ReasonCleanupPending)
	}},
	{51 * time.Second, func(r *core.Record) { deleted(r, core.ConditionFalse, core.ReasonDeleting) }},
	{55 * time.Second, func(r *core.Record) { deleted(r, core.ConditionTrue, core.ReasonDeleted) }},
}

func waits(phase core.Phase, reason core.Reason, message string) func(*core.Record) {
	return func(r *core.Record) { r.Status.Phase, r.Status.Reason, r.Status.Message = phase, reason, message }
}

func deleted(r *core.Record, status core.ConditionStatus, reason core.Reason) {
	r.Status.SetCondition(start, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: status, Reason: reason})
}

// tell plays the story with the virtual clock and returns what was written.
func tell(style terminal.Style) string {
	var out bytes.Buffer
	virtual := clock.New(start)
	progress := terminal.NewProgress(&out, virtual, style)
	record := core.Record{ID: uuid.New()}
	for _, step := range story {
		virtual.AdvanceTo(start.Add(step.at))
		before := record
		step.change(&record)
		progress.Transition(core.StoredTransition{At: virtual.Now(), Before: before, After: record})
	}
	progress.Close()
	return out.String()
}

func TestPlainLines(t *testing.T) {
	const want = `2026-03-01T12:00:00Z inputs  Initializing: the test was accepted
2026-03-01T12:00:02Z create  CreatingWorkspace: asking
2026-03-01T12:00:03Z build   WaitingForBuild: the start build is running
2026-03-01T12:00:30Z agents  WaitingForAgents: an agent is starting
2026-03-01T12:00:40Z agents  CoderUnavailable: no answer
2026-03-01T12:00:50Z failed  AgentStartError: its script failed
2026-03-01T12:00:50Z cleanup CleanupPending
2026-03-01T12:00:51Z cleanup Deleting
2026-03-01T12:00:55Z done    Deleted
`
	if got := tell(terminal.Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestALogIsNeverSilentForLong shows that a log says that tests still run, and stops when
// they have ended.
func TestALogIsNeverSilentForLong(t *testing.T) {
	for _, row := range []struct {
		several bool
		want    string
		why     string
	}{
		{false, "2026-03-01T12:01:03Z build   still WaitingForBuild, for 1m0s\n2026-03-01T12:02:03Z build   still WaitingForBuild, for 2m0s\n", "one test"},
		{true, "2026-03-01T12:01:03Z still running: 1 inputs, 1 build\n2026-03-01T12:02:03Z still running: 1 inputs, 1 build\n", "a line for each test would bury the others"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			virtual := clock.New(start)
			progress := terminal.NewProgress(&out, virtual, terminal.Style{Several: row.several})
			record := core.Record{ID: uuid.New(), Name: "one"}
			step := func(i int) {
				virtual.AdvanceTo(start.Add(story[i].at))
				synctest.Wait()
				before := record
				story[i].change(&record)
				progress.Transition(core.StoredTransition{At: virtual.Now(), Before: before, After: record})
				synctest.Wait()
			}
			if row.several {
				other := core.Record{ID: uuid.New(), Name: "two"}
				progress.Transition(core.StoredTransition{At: start, After: other})
			}
			for i := range 3 {
				step(i)
			}
			begun := out.Len()
			for range 130 {
				virtual.Advance(time.Second)
				synctest.Wait()
			}
			if got := out.String()[begun:]; got != row.want {
				t.Errorf("after 130 s without a change:\n%s\nwant:\n%s%s", got, row.want, row.why)
			}
			if !row.several {
				for i := range story[3:] {
					step(3 + i)
				}
				ended := out.Len()
				virtual.Advance(time.Hour)
				synctest.Wait()
				if out.Len() != ended {
					t.Errorf("it goes on after the end: %s", out.String()[ended:])
				}
			}
			progress.Close()
		})
	}
}

// size is a terminal of that size.
func size(columns, rows int) func() (int, int) { return func() (int, int) { return columns, rows } }

func TestLiveLines(t *testing.T) {
	const want = `✓ inputs      2s
✓ create      1s
✓ build      27s
✗ agents     20s  AgentStartError: its script failed
✓ cleanup     5s
`
	if got := onScreen(tell(terminal.Style{Live: true, Size: size(60, 24)}), 60); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLiveLineFitsAndShowsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		virtual := clock.New(start)
		progress := terminal.NewProgress(&out, virtual, terminal.Style{Live: true, Size: size(40, 24)})
		record := core.Record{ID: uuid.New()}
		waits(core.PhasePending, core.ReasonTemplateNotFound, strings.Repeat("long ", 30))(&record)
		progress.Transition(core.StoredTransition{At: start, After: record})
		for _, shown := range []string{" 0s ", " 1s ", " 2s "} {
			synctest.Wait()
			if !strings.Contains(out.String(), shown) {
				t.Errorf("%q was not drawn: %q", shown, out.String())
			}
			virtual.Advance(time.Second)
		}
		progress.Close()
		for drawn := range strings.SplitSeq(out.String(), "\x1b[K") {
			if n := len([]rune(strings.Trim(drawn, "\r\n\x1b[J"))); n >= 40 {
				t.Errorf("a live line takes %d columns of 40: %q", n, drawn)
			}
		}
		if !strings.HasSuffix(out.String(), "\n") {
			t.Error("the last line has no end")
		}
	})
}

func TestOtherLinesKeepTheLiveLine(t *testing.T) {
	var out bytes.Buffer
	virtual := clock.New(start)
	progress := terminal.NewProgress(&out, virtual, terminal.Style{Live: true})
	record := core.Record{ID: uuid.New()}
	waits(core.PhasePending, core.ReasonInitializing, "accepted")(&record)
	progress.Transition(core.StoredTransition{At: start, After: record})
	if n, err := progress.Write([]byte("a warning\x1b[2J\n")); n != 14 || err != nil {
		t.Errorf("wrote %d, error %v", n, err)
	}
	progress.Close()
	const want = "a warning\n· inputs      0s  Initializing: accepted\n"
	if got := onScreen(out.String(), 80); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	written := out.String()
	progress.Transition(core.StoredTransition{At: start, After: core.Record{ID: uuid.New()}})
	if out.String() != written {
		t.Error("something was written after Close")
	}
}

// TestStoppedTerminalHoldsNothingBack has a writer that takes nothing.
func TestStoppedTerminalHoldsNothingBack(*testing.T) {
	release := make(chan struct{})
	progress := terminal.NewProgress(blocked{release}, clock.New(start), terminal.Style{})
	record := core.Record{ID: uuid.New()}
	for i := range 100 {
		record.Status.Message = strings.Repeat("x", i)
		progress.Transition(core.StoredTransition{At: start, After: record})
	}
	close(release)
	progress.Close()
}

type blocked struct{ release <-chan struct{} }

func (b blocked) Write(p []byte) (int, error) { <-b.release; return len(p), nil }
