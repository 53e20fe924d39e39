package porttest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// stage is what a row works with.
type stage struct {
	Deployment
	admin Account
}

func newStage(t *testing.T, d Deployment) stage {
	return stage{Deployment: d, admin: d.Admin(t)}
}

// member is a new active user without any special role.
func (s stage) member(t *testing.T) Account {
	t.Helper()
	return s.NewUser(t, UserSpec{Status: "active"})
}

// workspaceName is a new name of the form that the lifecycle uses.
func workspaceName() string {
	return "ktt-" + strings.ReplaceAll(uuid.NewString(), "-", "")[:28]
}

func request(owner core.User, subject Subject, parameters ...core.Parameter) core.CreateRequest {
	return core.CreateRequest{
		OwnerID: owner.ID, OrganizationID: subject.OrganizationID, TemplateID: subject.TemplateID,
		Name: workspaceName(), VersionID: subject.VersionID, Parameters: parameters, TTL: 2 * time.Hour,
	}
}

// create sends the request, which must succeed, and has the workspace deleted when
// the row ends.
func (s stage) create(t *testing.T, by ports.CodeRunner, request core.CreateRequest) core.Workspace {
	t.Helper()
	workspace, err := by.CreateWorkspace(t.Context(), request)
	if err != nil {
		t.Fatalf("create workspace: %v", err)
	}
	t.Cleanup(func() { s.clean(t, workspace.ID) })
	return workspace
}

// made creates a workspace for the owner by the admin.
func (s stage) made(t *testing.T, owner core.User, kind TemplateKind) core.Workspace {
	t.Helper()
	return s.create(t, s.admin.Runner, request(owner, s.Template(t, kind)))
}

// clean deletes the workspace whatever it is doing, so that a shared deployment is
// left as it was found. One of which no build ever began has nothing to delete.
func (s stage) clean(t *testing.T, id uuid.UUID) {
	ctx := context.Background()
	s.Settle(t, "the workspace of the row to be deleted", func() bool {
		workspace, err := s.admin.Runner.Workspace(ctx, id)
		if err != nil {
			return false
		}
		latest := workspace.Latest
		switch {
		case workspace.Deleted && !latest.Job.Status.Active():
			return true
		case latest.Number == 1 && latest.Job.Status == core.JobCanceled && latest.Job.StartedAt.IsZero():
			return true
		case latest.Job.Status == core.JobPending || latest.Job.Status == core.JobRunning:
			if latest.Transition != core.TransitionDelete {
				_ = s.admin.Runner.CancelBuild(ctx, latest.ID, latest.Job.Status)
			}
		case !latest.Job.Status.Active():
			_, _ = s.admin.Runner.DeleteWorkspace(ctx, id)
		}
		return false
	})
}

// until reads the workspace until ok holds, and returns it then.
func (s stage) until(t *testing.T, id uuid.UUID, what string, ok func(core.Workspace) bool) core.Workspace {
	t.Helper()
	var workspace core.Workspace
	s.Settle(t, what, func() bool {
		var err error
		if workspace, err = s.admin.Runner.Workspace(t.Context(), id); err != nil {
			t.Fatalf("read workspace while waiting for %s: %v", what, err)
		}
		return ok(workspace)
	})
	return workspace
}

// ended waits for the latest build to end.
func (s stage) ended(t *testing.T, id uuid.UUID) core.Workspace {
	t.Helper()
	return s.until(t, id, "the latest build to end", func(w core.Workspace) bool {
		return !w.Latest.Job.Status.Active()
	})
}

// succeeded waits for the latest build to end, which must have succeeded.
func (s stage) succeeded(t *testing.T, id uuid.UUID) core.Workspace {
	t.Helper()
	workspace := s.ended(t, id)
	if workspace.Latest.Job.Status != core.JobSucceeded {
		t.Fatalf("latest build is %s %s, want it succeeded", workspace.Latest.Transition, workspace.Latest.Job.Status)
	}
	return workspace
}

// deleted deletes a workspace whose latest build ended, and waits for it.
func (s stage) deleted(t *testing.T, id uuid.UUID) core.Workspace {
	t.Helper()
	if _, err := s.admin.Runner.DeleteWorkspace(t.Context(), id); err != nil {
		t.Fatalf("delete workspace: %v", err)
	}
	workspace := s.succeeded(t, id)
	if !workspace.Deleted {
		t.Fatalf("workspace is not deleted after delete build %d succeeded", workspace.Latest.Number)
	}
	return workspace
}

// onlyAgent is the one agent of the workspace's latest build.
func onlyAgent(t *testing.T, workspace core.Workspace) core.Agent {
	t.Helper()
	if n := len(workspace.Latest.Agents); n != 1 {
		t.Fatalf("latest build has %d agents, want 1", n)
	}
	return workspace.Latest.Agents[0]
}

// refused checks that err is a failure of the class.
func refused(t *testing.T, what string, err error, want core.FailureClass) {
	t.Helper()
	var failure *core.Failure
	switch {
	case err == nil:
		t.Errorf("%s succeeded, want failure %q", what, want)
	case !errors.As(err, &failure):
		t.Errorf("%s: error %v is a %T, want a *core.Failure", what, err, err)
	case failure.Class != want:
		t.Errorf("%s: %v, want failure %q", what, err, want)
	case failure.Op == "":
		t.Errorf("%s: failure does not say what was asked", what)
	}
}

// fine stops the row when err is not nil.
func fine(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// equal reports a difference.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
