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
	want := Next{After: 5 * time.Second, Watch: workspaceID, Owner: ownerID, ControlPlane: "main"}
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
		"holder", "builds", "holder", "deployment", "may read", "save CreateOutcomeUnknown")
	r.is("Failed CreateOutcomeUnknown Inconclusive True/NotCreated marker")
}

func TestAnOwnerThatIsNoMember(t *testing.T) {
	in := pending()
	in.Record.Spec.Template = "other.docker"
	r := newRig(t, in)
	r.step()
	r.did("load cached", "plane cached", "deployment", "operator", "owner", "organization", "save OwnerNotEligible")
}

// Time passes while Coder answers: what the answer says stands, even past the deadline.
func TestTheStepBeganBeforeItsReads(t *testing.T) {
	in := awaiting()
	now(899 * time.Second)(&in)
	r := newRig(t, in)
	r.coder.workspace.Latest = build(core.TransitionStart, core.JobFailed)
	r.coder.during = map[string]func(){"workspace": func() { r.clock.Advance(10 * time.Second) }}
	r.step()
	r.is("Failed BuildFailed TemplateFailed False/CleanupPending workspace")
}
