package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

func TestStreamsOnlyWake(t *testing.T) {
	streamed := func(b core.Build, agents ...core.Agent) core.Workspace {
		w := ours()
		w.Latest, w.Latest.Agents = b, agents
		return w
	}
	identity := []string{"load cached", "plane cached", "deployment", "operator"}
	t.Run("to go on waiting it is enough", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.step(streamed(build(core.TransitionStart, core.JobRunning)))
		r.did(append(identity[:4:4], "save WaitingForBuild")...)
	})
	t.Run("a verdict is read first, and may be another one", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.coder.workspace = streamed(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentConnected, core.AgentStarting))
		r.step(streamed(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentConnected, core.AgentStartError)))
		r.did(append(identity[:4:4], "workspace", "save WaitingForAgents")...)
		r.is("Running WaitingForAgents workspace")
	})
	t.Run("so is readiness", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.coder.workspace = streamed(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentDisconnected, core.AgentReady))
		r.step(streamed(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentConnected, core.AgentReady)))
		r.is("Running WaitingForAgents workspace")
	})
	t.Run("so is the end of a cleanup", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace = streamed(build(core.TransitionDelete, core.JobRunning))
		r.step(streamed(build(core.TransitionDelete, core.JobSucceeded)))
		r.is("Failed BuildFailed Inconclusive False/Deleting workspace")
	})
	t.Run("so is a request", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace = streamed(build(core.TransitionDelete, core.JobRunning))
		r.step(streamed(build(core.TransitionStart, core.JobFailed)))
		r.did(append(identity[:4:4], "workspace", "save BuildFailed")...)
	})
	t.Run("an event that comes again counts no delete build twice", func(t *testing.T) {
		in := failed()
		in.Record.Status.DeleteAttempts = 1
		workspaceIs(core.ConditionFalse, core.ReasonDeleteRetrying)(&in)
		r := newRig(t, in)
		r.coder.workspace = streamed(build(core.TransitionDelete, core.JobFailed))
		r.step(streamed(build(core.TransitionDelete, core.JobRunning)))
		if st := r.record().Status; st.DeleteBuildID != uuid.Nil || st.DeleteAttempts != 1 {
			t.Errorf("noted %s, counted %d", st.DeleteBuildID, st.DeleteAttempts)
		}
	})
	t.Run("another workspace's stream says nothing", func(t *testing.T) {
		r := newRig(t, awaiting())
		w := streamed(build(core.TransitionStart, core.JobRunning))
		w.ID = otherID
		r.step(w)
		r.did(append(identity[:4:4], "workspace", "save WaitingForBuild")...)
	})
}

func TestLiveReads(t *testing.T) {
	ended := build(core.TransitionStart, core.JobFailed)
	decided := []string{"load cached", "plane cached", "deployment", "operator", "workspace"}
	t.Run("before a request", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		r.step()
		r.did(append(decided[:5:5], "load live", "plane live", "save BuildFailed", "> delete", "save BuildFailed")...)
	})
	t.Run("retain that a cache has not seen yet saves the workspace", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		stale := r.record()
		r.store.stale = &stale
		r.planes.Lag(true)
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Policy.AllowRetain = true })
		if err := r.store.SetDeletionPolicy(context.Background(), testID, "retain"); err != nil {
			t.Fatal(err)
		}
		r.step()
		r.is("Failed BuildFailed Inconclusive False/Retained workspace")
		for _, io := range r.trail {
			if strings.HasPrefix(io, ">") {
				t.Errorf("sent %s", io)
			}
		}
	})
	t.Run("so does one that only the record says", func(t *testing.T) {
		in := failed()
		allowRetain(&in)
		r := newRig(t, in)
		r.coder.workspace.Latest = ended
		stale := r.record()
		r.store.stale = &stale
		if err := r.store.SetDeletionPolicy(context.Background(), testID, "retain"); err != nil {
			t.Fatal(err)
		}
		r.step()
		r.did(append(decided[:5:5], "load live", "plane live", "save BuildFailed")...)
		r.is("Failed BuildFailed Inconclusive False/Retained workspace")
	})
	t.Run("another control plane is asked again from the start", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		r.planes.Lag(true)
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Connection.Token = core.NewSecret("renewed") })
		r.step()
		want := slices.Concat(decided[:5], []string{"load live", "plane live", "deployment", "operator", "workspace", "save BuildFailed", "> delete", "save BuildFailed"})
		r.did(want...)
	})
	t.Run("a cache cannot call a control plane gone", func(t *testing.T) {
		r := newRig(t, awaiting())
		usable := connected().Seen.ControlPlane.Value
		r.planes.Remove("main")
		r.planes.Lag(true)
		r.planes.Put(usable)
		r.step()
		r.is("Running WaitingForBuild workspace")
	})
	t.Run("a live read can", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.planes.Remove("main")
		r.step()
		r.did("load cached", "plane cached", "load live", "plane live", "save ControlPlaneGone")
		r.is("Failed ControlPlaneGone Inconclusive Unknown/ControlPlaneGone workspace")
	})
	t.Run("a control plane that cannot be read is not gone", func(t *testing.T) {
		r := newRig(t, awaiting())
		r.planes.Fail(errLost)
		r.step()
		r.is("Running ControlPlaneNotReady workspace")
	})
	t.Run("before the hold is released: retain can have been switched back", func(t *testing.T) {
		in := failed()
		workspaceIs(core.ConditionFalse, core.ReasonRetained)(&in)
		policy("retain")(&in)
		deletionRequested(&in)
		allowRetain(&in)
		r := newRig(t, in)
		stale := r.record()
		r.store.stale = &stale
		r.coder.workspace.Latest = build(core.TransitionDelete, core.JobRunning)
		if err := r.store.SetDeletionPolicy(context.Background(), testID, "delete"); err != nil {
			t.Fatal(err)
		}
		r.step()
		if !r.record().Held {
			t.Error("the hold was released")
		}
	})
	t.Run("before the record expires: it can be another test's by now", func(t *testing.T) {
		in := failed()
		workspaceIs(core.ConditionTrue, core.ReasonDeleted)(&in)
		in.Record.Held = false
		ttl := 0
		in.Record.Spec.TTLSecondsAfterFinished = &ttl
		in.Now = after(time.Hour)
		r := newRig(t, in)
		if next := r.step(); !next.Done {
			t.Errorf("next %+v", next)
		}
		r.did("load cached", "load live", "expire")
		if _, err := r.store.Store.Load(context.Background(), testID, ports.Live); !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("the record is still there: %v", err)
		}
	})
	t.Run("a record that is gone by then", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		stale := r.record()
		r.store.stale = &stale
		if err := r.store.RequestDeletion(context.Background(), testID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Store.ReleaseHold(context.Background(), r.record()); err != nil {
			t.Fatal(err)
		}
		if next := r.step(); !next.Done {
			t.Errorf("next %+v", next)
		}
		r.did(append(decided[:5:5], "load live")...)
	})
}
