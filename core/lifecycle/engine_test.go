package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var errLost = errors.New("the connection to the store was lost")

// createIO is what a step that creates a workspace does, up to the request.
var createIO = []string{
	"load cached", "plane cached", "deployment", "operator", "owner", "template", "version by ID", "parameters", "external auth", "find",
	"load live", "plane live", "save CreatingWorkspace", "> create",
}

func TestNewNeedsItsDependencies(t *testing.T) {
	full := newRig(t, fresh()).engine.config
	for name, drop := range map[string]func(*Config){
		"Store": func(c *Config) { c.Store = nil }, "ControlPlanes": func(c *Config) { c.ControlPlanes = nil },
		"Dial": func(c *Config) { c.Dial = nil }, "Clock": func(c *Config) { c.Clock = nil }, "Random": func(c *Config) { c.Random = nil },
	} {
		config := full
		drop(&config)
		if _, err := New(config); !errors.Is(err, ErrAssertion) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	full.Sink, full.Evidence, full.Logger = nil, nil, nil
	if _, err := New(full); err != nil {
		t.Errorf("the rest is optional: %v", err)
	}
}

func TestStepsOfALife(t *testing.T) {
	r := newRig(t, fresh())
	r.step()
	r.did("load cached", "take hold")
	r.step()
	r.did("load cached", "save Initializing")
	next := r.step()
	r.did(append(createIO, "save WaitingForBuild")...)
	r.is("Running WaitingForBuild workspace")
	want := Next{After: 5 * time.Second, Watch: workspaceID, ControlPlane: "main"}
	if next != want {
		t.Errorf("next %+v, want %+v", next, want)
	}

	r.coder.workspace.Latest = build(core.TransitionStart, core.JobSucceeded)
	r.coder.workspace.Latest.Agents = []core.Agent{agent(1, core.AgentConnected, core.AgentReady)}
	r.step() // who answers is still known from the step before
	r.did("load cached", "plane cached", "workspace", "load live", "plane live",
		"save AgentsReady", "save DeletingWorkspace", "> delete", "save DeletingWorkspace")
	if got := r.record().Status.DeleteBuildID; got != deleteID {
		t.Errorf("delete build %s", got)
	}

	r.coder.workspace.Latest = build(core.TransitionDelete, core.JobSucceeded)
	r.step()
	r.is("Succeeded Succeeded Passed True/Deleted workspace")
	r.trail = nil
	r.step()
	r.did("load cached", "load live", "release hold")
	if next := r.step(); !next.Done || r.record().Held {
		t.Errorf("next %+v of a finished test", next)
	}
}

func TestTheSinkHearsOfWhatIsStored(t *testing.T) {
	r := newRig(t, pending())
	r.step()
	var reasons []core.Reason
	for _, transition := range r.sink.All() {
		reasons = append(reasons, transition.After.Status.Reason)
		if transition.Before.Status.Reason == transition.After.Status.Reason || !transition.At.Equal(r.clock.Now()) {
			t.Errorf("transition %s -> %s at %s", transition.Before.Status.Reason, transition.After.Status.Reason, transition.At)
		}
	}
	if diff := cmp.Diff([]core.Reason{core.ReasonCreatingWorkspace, core.ReasonWaitingForBuild}, reasons); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	before := len(r.sink.All())
	r.step()
	r.trail = nil
	r.step()
	r.did("load cached", "plane cached", "workspace")
	if len(r.sink.All()) != before {
		t.Error("a write that changes nothing is skipped")
	}
}

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
	t.Run("another control plane is asked again from the start", func(t *testing.T) {
		r := newRig(t, failed())
		r.coder.workspace.Latest = ended
		r.planes.Lag(true)
		r.planes.Edit("main", func(plane *core.ControlPlane) { plane.Connection.Token = core.NewSecret("renewed") })
		r.step()
		want := append(decided[:5:5], "load live", "plane live", "deployment", "operator", "workspace", "save BuildFailed", "> delete", "save BuildFailed")
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

func TestStepErrors(t *testing.T) {
	ctx := context.Background()
	t.Run("no such test is done", func(t *testing.T) {
		r := newRig(t, fresh())
		if next, err := r.engine.Step(ctx, otherID, nil); err != nil || !next.Done {
			t.Errorf("next %+v, %v", next, err)
		}
	})
	t.Run("the store is away", func(t *testing.T) {
		r := newRig(t, fresh())
		r.store.fail = errLost
		if _, err := r.engine.Step(ctx, testID, nil); !errors.Is(err, errLost) || !strings.Contains(err.Error(), testID.String()) {
			t.Errorf("error %v", err)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := r.engine.Step(canceled, testID, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the store returns another test", func(t *testing.T) {
		r := newRig(t, fresh())
		other := r.record()
		other.ID = otherID
		r.store.stale = &other
		if _, err := r.engine.Step(ctx, testID, nil); !errors.Is(err, ErrAssertion) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("who holds a workspace cannot be found out", func(t *testing.T) {
		in := marked()
		noted(400)(&in)
		r := newRig(t, in)
		r.coder.owned = []core.Workspace{renamed()}
		r.store.holder = errLost
		if _, err := r.engine.Step(ctx, testID, nil); !errors.Is(err, errLost) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no randomness, no create", func(t *testing.T) {
		r := newRig(t, pending(), func(c *Config) { c.Random = strings.NewReader("") })
		if _, err := r.engine.Step(ctx, testID, nil); err == nil {
			t.Error("no error")
		}
		r.is("Pending Initializing")
	})
	t.Run("a broken record", func(t *testing.T) {
		in := marked()
		in.Record.Status.DeploymentID = ""
		r := newRig(t, in)
		if _, err := r.engine.Step(ctx, testID, nil); !errors.Is(err, ErrAssertion) {
			t.Errorf("error %v", err)
		}
	})
}

func TestVersionsAreSelected(t *testing.T) {
	for _, row := range []struct {
		why      string
		selector core.VersionSelector
		pinned   uuid.UUID
		want     string
	}{
		{"the active one, by the ID that the template names", core.VersionSelector{Active: true}, uuid.Nil, "version by ID"},
		{"by its name", core.VersionSelector{Name: "v7"}, uuid.Nil, "version v7"},
		{"by its ID", core.VersionSelector{ID: versionID.String()}, uuid.Nil, "version by ID"},
		{"a pinned one is never selected again", core.VersionSelector{Name: "v7"}, versionID, "version by ID"},
	} {
		in := pending()
		in.Record.Spec.Version, in.Record.Status.TemplateVersionID = row.selector, row.pinned
		r := newRig(t, in)
		r.step()
		want := append([]string(nil), createIO...)
		want[6] = row.want
		if diff := cmp.Diff(append(want, "save WaitingForBuild"), r.trail); diff != "" {
			t.Errorf("%s: I/O (-want +got):\n%s", row.why, diff)
		}
	}
}

// The proof of absence, in its order and in one step.
func TestAbsenceIsReadInOrder(t *testing.T) {
	in := marked()
	longTest(&in)
	now(settledAt)(&in)
	r := newRig(t, in)
	theirs := foreign()
	theirs.Name = "theirs"
	r.coder.owned = []core.Workspace{theirs, renamed()}
	other := in.Record
	other.ID, other.Status.WorkspaceName, other.Status.WorkspaceID = otherID, core.WorkspaceName(otherID), workspaceID
	r.put(other)
	r.step()
	r.did("load cached", "plane cached", "deployment", "operator", "find", "owner", "may read", "owned",
		"holder", "builds", "holder", "deployment", "save CreateOutcomeUnknown")
	r.is("Failed CreateOutcomeUnknown Inconclusive True/NotCreated marker")
}

func TestAnOwnerThatIsNoMember(t *testing.T) {
	in := pending()
	in.Record.Spec.Template = "other.docker"
	r := newRig(t, in)
	r.step()
	r.did("load cached", "plane cached", "deployment", "operator", "owner", "organization", "save OwnerNotEligible")
}
