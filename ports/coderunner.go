package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// CodeRunner is the door to one Coder deployment, with the rights of one operator
// user.
//
// For every method:
//   - Errors are *core.Failure, classified as its classes say.
//   - A call returns within its request timeout (30 s) whatever the peer does, as
//     FailureUnavailable for a read and FailureUncertain for a change. Canceling ctx
//     ends it sooner, with the same classes.
//   - Reads may be repeated at will and may be retried inside. Changes are sent at
//     most once for each call.
//   - An answer that does not name what was asked for is FailureMismatch.
//   - A CodeRunner is safe for concurrent use.
type CodeRunner interface {
	DeploymentReader
	InputReader
	WorkspaceReader
	WorkspaceChanger
	WorkspaceWatcher
	LogReader
}

// DeploymentReader tells which deployment answers, and as whom it is asked.
type DeploymentReader interface {
	// Deployment reads the deployment's identity. It needs no valid token.
	Deployment(ctx context.Context) (core.Deployment, error)
	// Operator reads the user whose token sends the requests, without its
	// memberships.
	Operator(ctx context.Context) (core.User, error)
}

// InputReader reads what a test's spec names. A missing object, or one that the
// operator user may not read, is FailureNotFound.
type InputReader interface {
	// Owner reads a user with its site roles, memberships and their roles.
	Owner(ctx context.Context, id uuid.UUID) (core.User, error)
	// Organization finds an organization by name, without regard to case.
	Organization(ctx context.Context, name string) (core.Organization, error)
	// Template finds a template of the organization by name, without regard to case.
	Template(ctx context.Context, organization uuid.UUID, name string) (core.Template, error)
	// VersionByName finds a version of the template by its exact name.
	VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error)
	// Version reads a version by ID, of whatever template it is.
	Version(ctx context.Context, id uuid.UUID) (core.TemplateVersion, error)
	InputChecker
}

// InputChecker asks Coder whether a version can be built for an owner.
type InputChecker interface {
	// CheckParameters has Coder's own rules judge the values for the owner: the
	// version's static parameters under the classic flow, its evaluation otherwise.
	CheckParameters(ctx context.Context, query core.ParameterQuery) (core.ParameterReport, error)
	// ExternalAuth lists the external authentications that the version asks for, and
	// whether the owner has linked them. Coder tells that the user itself and whoever
	// may make workspaces for it; anybody else is FailureForbidden.
	ExternalAuth(ctx context.Context, version, owner uuid.UUID) ([]core.ExternalAuth, error)
}

// WorkspaceReader finds and reads workspaces and their builds.
type WorkspaceReader interface {
	// FindWorkspace looks for the owner's workspace of the name, without regard to
	// case and deleted ones included; a live one wins. Finding none is no error:
	// Coder says the same about one that the operator user may not read.
	FindWorkspace(ctx context.Context, owner uuid.UUID, name string) (core.NameLookup, error)
	// Workspace reads a workspace with its latest build, deleted ones included
	// (Deleted is set). FailureNotFound proves nothing.
	Workspace(ctx context.Context, id uuid.UUID) (core.Workspace, error)
	// Builds lists the workspace's builds in the order of their numbers, from the
	// first one on: all of them, however many pages that takes, deleted workspaces
	// included. Agents are not filled in.
	Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error)
	// OwnedWorkspaces lists every live workspace of the owner, all pages, with
	// latest builds. A workspace of another owner in the answer is FailureMismatch.
	OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error)
	// MayReadWorkspaces asks Coder whether the operator user may read both live and
	// dormant workspaces of the owner in the organization.
	MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error)
}

// WorkspaceChanger sends the three requests that change something in Coder. None
// of them is ever retried inside.
type WorkspaceChanger interface {
	// CreateWorkspace asks for one workspace with automatic updates "never". The
	// classes of its failure decide what the lifecycle does next: FailureNoEffect
	// and Coder's own 4xx are safe to act on, FailureUncertain and FailureMismatch
	// are not.
	CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error)
	// CancelBuild asks to cancel a build that is in the state expected.
	// FailureRejected (400, 412): it moved on; read again. FailureForbidden: the
	// template forbids canceling.
	CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error
	// DeleteWorkspace starts one delete build, never an orphan one.
	// FailureConflict: another build is active. On a workspace that is deleted
	// already Coder starts a further build: look before.
	DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error)
}

// WorkspaceWatcher streams what happens to a workspace.
type WorkspaceWatcher interface {
	// WatchWorkspace calls on with the whole workspace soon after opening and after
	// each change of its build or agents, one call at a time, until the stream ends
	// or ctx is done. A stream can miss, repeat and delay events, and stays silent for
	// a deleted workspace: it wakes, it proves nothing. It blocks; the error says why
	// the stream ended, nil when ctx was done.
	WatchWorkspace(ctx context.Context, workspace uuid.UUID, on func(core.Workspace)) error
}

// LogReader reads logs as evidence for a person.
type LogReader interface {
	// BuildLog reads the last limit bytes of a build's log.
	BuildLog(ctx context.Context, build uuid.UUID, limit int) (core.Log, error)
	// AgentLogs reads the last limit bytes of each of an agent's script logs.
	// FailureNotFound once the workspace is deleted.
	AgentLogs(ctx context.Context, agent uuid.UUID, limit int) ([]core.Log, error)
}

// Dialer makes a CodeRunner for a connection. It does no request: an unusable
// connection (URL, certificates) is an error, an unreachable deployment is not.
type Dialer func(connection core.Connection) (CodeRunner, error)
