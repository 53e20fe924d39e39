package report

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// Timeline collects the stages of one test from its transitions. The zero value is
// empty. It is not safe for concurrent use.
type Timeline struct {
	stages []Stage
	last   core.Stage
	coder  string
}

// Add takes the next transition of the test, in the order in which they were stored.
func (t *Timeline) Add(transition core.StoredTransition) {
	if transition.CoderVersion != "" {
		t.coder = transition.CoderVersion
	}
	t.AddStage(transition.At, transition.After.Stage())
}

// AddStage notes the stage that the test was in after its next transition.
func (t *Timeline) AddStage(at time.Time, now core.Stage) {
	if len(t.stages) > 0 {
		// A wait that looks like an earlier stage's, such as Coder being unavailable while
		// agents start, is still the later stage's.
		if now <= t.last {
			return
		}
		t.end(at)
	}
	t.last = now
	if now != core.StageDone {
		t.stages = append(t.stages, Stage{Name: now.String(), StartedAt: at.UTC()})
	}
}

// end closes the stage that is open. A test that was done has none.
func (t *Timeline) end(at time.Time) {
	if t.last == core.StageDone {
		return
	}
	open := &t.stages[len(t.stages)-1]
	open.Seconds = at.Sub(open.StartedAt).Round(time.Millisecond).Seconds()
}

// Stages are the stages so far; one that is not over ends now.
func (t *Timeline) Stages(now time.Time) []Stage {
	if len(t.stages) == 0 {
		return nil
	}
	ended := Timeline{stages: append([]Stage{}, t.stages...), last: t.last}
	ended.end(now)
	return ended.stages
}

// CoderVersion is the version of the Coder that answered last, empty where none did.
func (t *Timeline) CoderVersion() string { return t.coder }
