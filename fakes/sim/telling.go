package sim

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/ports"
)

// telling is one run of a story, with a recorder.
type telling struct {
	disturbance disturbance
	mutant      *Mutant
	history     History
	recorder    *recorder
	logs        logs
	story       *scenario.Story
	calls       []crashPoint
	struck      bool
}

func (t *telling) options() scenario.Options {
	return scenario.Options{
		Begin: t.begin, Fault: t.fault, Lenient: true, Settle: settleTime, Evidence: sink.NewEvidence(nil),
		Store: func(inner ports.WorkspaceStore) ports.WorkspaceStore {
			inner = t.recorder.store(inner)
			if t.mutant != nil {
				inner = t.mutant.Store(inner)
			}
			return inner
		},
		Beneath: func(inner ports.CodeRunner) ports.CodeRunner { return t.recorder.beneath(inner) },
		Above:   func(inner ports.CodeRunner) ports.CodeRunner { return t.recorder.above(inner) },
		Step: func(step func() (lifecycle.Next, error)) (lifecycle.Next, error) {
			struck := t.struck
			next, err := t.recorder.step(t.story.Test(), step)
			if t.disturbance.woken && t.struck && !struck {
				next.After = 0
			}
			return next, err
		},
		Logger: slog.New(&t.logs),
	}
}

// begin starts to record.
func (t *telling) begin(story *scenario.Story) {
	t.story = story
	t.recorder = newRecorder(&t.history, story.Clock(), story.World(), story.Plane)
	t.logs.recorder = t.recorder
	t.history.Secrets = append(t.history.Secrets, story.Token().Reveal())
	load := func(id uuid.UUID) {
		record, err := story.Store().Load(context.Background(), id, ports.Live)
		if err != nil {
			t.recorder.changed(id, nil)
			return
		}
		t.recorder.changed(id, &record)
	}
	load(story.Test())
	story.Store().Listen(load)
}

// fault has the disturbance happen at its call.
func (t *telling) fault(call faults.Call, planned faults.Fault) faults.Fault {
	if t.disturbance.call == 0 {
		t.calls = append(t.calls, crashPoint{number: call.Total, op: call.Op, step: len(t.history.Steps)})
	}
	if t.recorder.plane().State == core.ControlPlaneGone {
		t.recorder.planeGone = true
	}
	if call.Total == t.disturbance.call && !t.struck {
		t.struck = true
		t.strike(call, &planned)
	}
	return t.recorder.called(call, planned)
}

// strike puts the disturbance beside what the script plans for the call.
func (t *telling) strike(call faults.Call, planned *faults.Fault) {
	switch t.disturbance.way {
	case CrashBefore:
		planned.Kind = faults.CrashBefore
	case CrashAfter:
		after := planned.Afterwards
		planned.Afterwards = func() {
			if after != nil {
				after()
			}
			panic(faults.Crash{Call: call})
		}
	case LoseAnswer:
		if planned.Kind == faults.None {
			planned.Kind = faults.Lose
		}
	case LoseRequest:
		if planned.Kind == faults.None {
			planned.Kind = faults.Fail
		}
	case SecondSteps:
		planned.Meanwhile = t.second(planned.Meanwhile, 1)
	case SecondFinishes:
		planned.Meanwhile = t.second(planned.Meanwhile, 20)
	}
}

// second has another engine do steps, as long as it wants the next one at once.
func (t *telling) second(before func(), steps int) func() {
	return func() {
		if before != nil {
			before()
		}
		step, err := t.story.AnotherEngine()
		if err != nil {
			panic(err)
		}
		t.story.Note("a second engine works on the test")
		for range steps {
			if next, err := step(); err != nil || next.Done || next.After > 0 {
				break
			}
		}
		t.story.Note("the first engine goes on")
	}
}

// points are the calls of the run, with those marked that only repeat.
func (t *telling) points() []crashPoint {
	byStep := map[int]string{}
	for _, call := range t.calls {
		byStep[call.step] += call.op + "\n"
	}
	for i := range t.calls {
		now, before, earlier := byStep[t.calls[i].step], byStep[t.calls[i].step-1], byStep[t.calls[i].step-2]
		t.calls[i].repeats = now == before && before == earlier
	}
	return t.calls
}

// end notes what became of the test.
func (t *telling) end(result *scenario.Result) {
	w := t.recorder.tests[t.story.Test()]
	end := End{Test: w.id, Record: w.last, Gone: w.gone, Policy: t.recorder.plane().Policy, PlaneGone: t.recorder.planeGone}
	st := &w.last.Status
	end.Stubborn = st.DeleteAttempts >= stubbornAttempts
	if st.HasMarker() && result.World.Deployment().ID != st.DeploymentID {
		end.Unreachable = "another deployment answers"
	}
	t.recorder.look(&end)
	t.history.Ends = append(t.history.Ends, end)
	if t.story.HoldRemoved() {
		t.history.Excuse(w.id, "somebody removed the hold")
	}
}
