package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Reader is what a sweep needs of a ports.CodeRunner.
type Reader interface {
	ports.DeploymentReader
	ports.InputReader
	ports.WorkspaceReader
}

// Sweep looks at the workspaces of one owner.
type Sweep struct {
	Coder Reader
	// Records lists the tests of the state file.
	Records func(ctx context.Context) ([]core.Record, error)
	// Owner is whose workspaces are looked at; uuid.Nil stands for the token's own user.
	Owner uuid.UUID
	// Policy waives rules about the owner; its OwnerUserID is not read.
	Policy core.Policy
	// OlderThan is the age, by Coder's times, from which on a workspace can be proven.
	OlderThan time.Duration
	// Progress, if not nil, hears how many of the workspaces were looked at.
	Progress func(done, of int)
}

// View is what a sweep found.
type View struct {
	Deployment core.Deployment
	// Operator is the token's user.
	Operator core.User
	Owner    core.User
	// Findings are the live workspaces of the owner that have a test's name.
	Findings []Finding
}

// ErrMayNotRead tells that the list of the owner's workspaces could lack some.
var ErrMayNotRead = errors.New("the token's user may not read all workspaces of the owner")

// Look reads and judges. An error other than ErrMayNotRead is one of a CodeRunner or of
// the records; a workspace that is deleted meanwhile is left out.
func (s *Sweep) Look(ctx context.Context) (View, error) {
	view, err := s.people(ctx)
	if err != nil {
		return View{}, err
	}
	if err := s.mayRead(ctx, &view); err != nil {
		return View{}, err
	}
	// Tests come and go meanwhile: one that was there before or after the list counts.
	before, err := s.Records(ctx)
	if err != nil {
		return View{}, err
	}
	owned, err := s.Coder.OwnedWorkspaces(ctx, view.Owner)
	if err != nil {
		return View{}, err
	}
	after, err := s.Records(ctx)
	if err != nil {
		return View{}, err
	}
	records := slices.Concat(after, before)
	named := make([]core.Workspace, 0, len(owned))
	for i := range owned {
		if core.IsTestWorkspaceName(owned[i].Name) && !owned[i].Deleted {
			named = append(named, owned[i])
		}
	}
	for i := range named {
		if s.Progress != nil {
			s.Progress(i, len(named))
		}
		found, gone, err := s.judge(ctx, &view, named[i], records)
		if err != nil {
			return View{}, err
		}
		if !gone {
			view.Findings = append(view.Findings, found)
		}
	}
	return view, nil
}

// LookAgain reads and judges one workspace of a view once more, with everything that the
// verdict rests on. gone: it is deleted, or not the owner's any more.
func (s *Sweep) LookAgain(ctx context.Context, view View, workspace uuid.UUID) (found Finding, gone bool, err error) {
	now, err := s.people(ctx)
	if err != nil {
		return Finding{}, false, err
	}
	if now.Deployment.ID != view.Deployment.ID || now.Operator.ID != view.Operator.ID || now.Owner.ID != view.Owner.ID {
		return Finding{}, false, errors.New("another deployment or another user answers than before")
	}
	latest, err := s.Coder.Workspace(ctx, workspace)
	if hasClass(err, core.FailureGone) {
		return Finding{}, true, nil
	}
	if err != nil {
		return Finding{}, false, err
	}
	if latest.Deleted || latest.OwnerID != view.Owner.ID {
		return Finding{}, true, nil
	}
	records, err := s.Records(ctx)
	if err != nil {
		return Finding{}, false, err
	}
	return s.judge(ctx, &now, latest, records)
}

// people reads which deployment answers, as whom it is asked, and the owner.
func (s *Sweep) people(ctx context.Context) (view View, err error) {
	if view.Deployment, err = s.Coder.Deployment(ctx); err != nil {
		return View{}, err
	}
	if view.Operator, err = s.Coder.Operator(ctx); err != nil {
		return View{}, err
	}
	owner := s.Owner
	if owner == uuid.Nil {
		owner = view.Operator.ID
	}
	view.Owner, err = s.Coder.Owner(ctx, owner)
	return view, err
}

// mayRead makes sure that a workspace which is not listed does not exist.
func (s *Sweep) mayRead(ctx context.Context, view *View) error {
	if view.Owner.ID == view.Operator.ID {
		return nil
	}
	if len(view.Owner.Memberships) == 0 {
		return fmt.Errorf("%w: none of its organizations is visible", ErrMayNotRead)
	}
	for _, membership := range view.Owner.Memberships {
		may, err := s.Coder.MayReadWorkspaces(ctx, view.Owner.ID, membership.OrganizationID)
		if err != nil {
			return err
		}
		if !may {
			return fmt.Errorf("%w: not those in organization %s", ErrMayNotRead, membership.OrganizationName)
		}
	}
	return nil
}

func (s *Sweep) judge(ctx context.Context, view *View, workspace core.Workspace, records []core.Record) (Finding, bool, error) {
	facts := Facts{
		Workspace: workspace, Records: records, Operator: view.Operator.ID, Owner: view.Owner, Policy: s.Policy,
		Now: view.Deployment.ServerTime, OlderThan: s.OlderThan,
	}
	builds, err := s.Coder.Builds(ctx, workspace.ID)
	switch {
	case err == nil:
		facts.Builds = builds
	case hasClass(err, core.FailureGone):
		return Finding{}, true, nil
	case hasClass(err, core.FailureNotFound), hasClass(err, core.FailureForbidden), hasClass(err, core.FailureMismatch):
		facts.BuildsProblem = core.AsFailure(err).Message
	default:
		return Finding{}, false, err
	}
	return Judge(facts), false, nil
}

func hasClass(err error, class core.FailureClass) bool {
	var failure *core.Failure
	return errors.As(err, &failure) && failure.Class == class
}
