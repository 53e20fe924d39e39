package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestConflicts(t *testing.T) {
	// labeled is any change by somebody else that has nothing to do with the step.
	labeled := func(r *rig) func() {
		return func() {
			if err := r.store.SetDeletionPolicy(context.Background(), testID, "delete"); err != nil {
				r.Fatal(err)
			}
		}
	}
	requested := func(r *rig) func() {
		return func() {
			if err := r.store.RequestDeletion(context.Background(), testID); err != nil {
				r.Fatal(err)
			}
		}
	}
	conflict409 := &core.Failure{Class: core.FailureConflict, Op: "create workspace", Status: 409}

	t.Run("a conflict on the marker ends the step with nothing sent", func(t *testing.T) {
		r := newRig(t, pending())
		r.store.before = labeled(r)
		next := r.step()
		r.did(createIO[:len(createIO)-1]...)
		r.is("Pending Initializing")
		if next.After != 0 || next.Done {
			t.Errorf("next %+v: at once", next)
		}
		r.trail = nil
		r.step()
		if r.trail[0] != "load live" {
			t.Errorf("the next step begins with %q: a cache that lags would have it conflict again", r.trail[0])
		}
	})
	t.Run("a decision on a stale record is dropped and acts on nothing", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = build(core.TransitionDelete, core.JobSucceeded)
		r.store.before = labeled(r)
		r.step()
		r.is("Failed BuildFailed Inconclusive False/CleanupPending workspace")
	})
	t.Run("a conflict on the hold", func(t *testing.T) {
		r := newRig(t, fresh())
		r.store.before = labeled(r)
		r.step()
		if r.record().Held {
			t.Error("the hold was taken on a record that moved")
		}
	})
	t.Run("a 201 survives a label", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.during = map[string]func(){"> create": labeled(r)}
		r.step()
		r.did(append(createIO, "save WaitingForBuild", "load live", "save WaitingForBuild")...)
		r.is("Running WaitingForBuild workspace")
	})
	t.Run("a 201 survives a deletion request, and changes no phase then", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.during = map[string]func(){"> create": requested(r)}
		r.step()
		r.is("Running CreatingWorkspace False/CleanupPending workspace")
		if record := r.record(); !record.DeletionRequested() {
			t.Error("the deletion request was lost")
		}
	})
	t.Run("so does a 409", func(t *testing.T) {
		r := newRig(t, pending())
		theirs := foreign()
		r.coder.during = map[string]func(){"> create": func() { r.coder.named = &theirs; requested(r)() }}
		r.coder.fail = map[string]error{"> create": conflict409}
		r.coder.workspace, r.coder.owned = theirs, nil
		r.step()
		if got := r.record().Status; got.CreateAnswer == nil || got.CreateAnswer.Status != 409 {
			t.Errorf("the answer %+v was lost", got.CreateAnswer)
		}
	})
	t.Run("a 201 on a record that got its verdict meanwhile", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.during = map[string]func(){"> create": func() {
			record := r.record()
			in := Input{Record: record}
			conclude(core.ReasonDeadlineExceeded, core.ConditionTrue, core.ReasonNotCreated)(&in)
			if _, err := r.store.Store.Save(context.Background(), in.Record); err != nil {
				r.Fatal(err)
			}
		}}
		r.step()
		r.is("Failed DeadlineExceeded Inconclusive False/CleanupPending workspace")
	})
	t.Run("another attempt's marker keeps its own outcome", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.during = map[string]func(){"> create": func() {
			record := r.record()
			record.Status.CreateAttemptID = otherID
			if _, err := r.store.Store.Save(context.Background(), record); err != nil {
				r.Fatal(err)
			}
		}}
		r.step()
		r.is("Running CreatingWorkspace marker")
	})
	t.Run("a record that disappeared leaves a line in the log", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.during = map[string]func(){"> create": func() {
			requested(r)()
			if _, err := r.store.Store.ReleaseHold(context.Background(), r.record()); err != nil {
				r.Fatal(err)
			}
		}}
		if next := r.step(); !next.Done {
			t.Errorf("next %+v", next)
		}
		if !strings.Contains(r.log.String(), workspaceID.String()) {
			t.Errorf("log: %s", r.log.String())
		}
	})
	t.Run("a delete build's ID is dropped: the next read finds it", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
		r.coder.during = map[string]func(){"> delete": labeled(r)}
		r.step()
		if got := r.record().Status.DeleteBuildID; got != uuid.Nil {
			t.Errorf("delete build %s was stored on a record that moved", got)
		}
	})
}

func TestTheSendWindowIsMonotonic(t *testing.T) {
	// The sink runs after the marker was stored, before the request: time passes there.
	after := func(r *rig, pass func()) {
		r.clock.Advance(time.Minute) // the process did not begin with this step
		r.engine.config.Sink = sinkFunc(func(transition core.StoredTransition) {
			if transition.After.Status.Reason == core.ReasonCreatingWorkspace {
				pass()
			}
		})
	}
	t.Run("30 s after the store returned it is sent", func(t *testing.T) {
		r := newRig(t, pending())
		after(r, func() { r.clock.Advance(30 * time.Second) })
		r.step()
		r.did(append(createIO, "save WaitingForBuild")...)
	})
	t.Run("31 s after it the marker is cleared and nothing is sent", func(t *testing.T) {
		r := newRig(t, pending())
		after(r, func() { r.clock.Advance(31 * time.Second) })
		r.step()
		r.did(append(createIO[:len(createIO)-1:len(createIO)-1], "save CreateRetrying")...)
		r.is("Pending CreateRetrying")
	})
	t.Run("a wall clock that jumps is not time that passes", func(t *testing.T) {
		r := newRig(t, pending())
		after(r, func() { r.clock.Jump(5 * time.Minute) })
		r.step()
		r.did(append(createIO, "save WaitingForBuild")...)
	})
}

type sinkFunc func(core.StoredTransition)

func (f sinkFunc) Transition(transition core.StoredTransition) { f(transition) }

func TestACrashAfterTheMarker(t *testing.T) {
	t.Run("a store that fails after a create was sent leaves the marker", func(t *testing.T) {
		r := newRig(t, pending())
		r.store.fail, r.store.skip = errLost, 1
		if _, err := r.engine.Step(context.Background(), testID, nil); !errors.Is(err, errLost) {
			t.Fatalf("error %v", err)
		}
		r.is("Running CreatingWorkspace marker")
		r.trail = nil
		named := ours()
		r.coder.named = &named
		r.step()
		r.did("load cached", "plane cached", "deployment", "operator", "find", "workspace", "builds", "save WaitingForBuild")
		r.is("Running WaitingForBuild workspace")
	})
	t.Run("a marker whose confirmation was lost is a marker found on load", func(t *testing.T) {
		r := newRig(t, pending())
		r.store.fail = errLost
		if _, err := r.engine.Step(context.Background(), testID, nil); !errors.Is(err, errLost) {
			t.Fatalf("error %v", err)
		}
		r.did(createIO[:len(createIO)-1]...)
	})
	t.Run("a caller that gives up after the create was sent does not lose its outcome", func(t *testing.T) {
		r := newRig(t, pending())
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r.coder.during = map[string]func(){"> create": cancel}
		if _, err := r.engine.Step(ctx, testID, nil); err != nil {
			t.Fatal(err)
		}
		r.is("Running WaitingForBuild workspace")
	})
	t.Run("an error without a class may have taken effect", func(t *testing.T) {
		r := newRig(t, pending())
		r.coder.fail = map[string]error{"> create": errors.New("boom")}
		r.step()
		r.is("Running ConfirmingCreate marker")
	})
}
