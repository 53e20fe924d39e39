package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Input is everything that a decision depends on.
type Input struct {
	// Now is the wall clock, read after the observations in Seen.
	Now time.Time
	// Began is Now as it was when the step began, before its first observation; zero
	// means Now.
	Began  time.Time
	Record core.Record
	// Options must have been completed by WithDefaults.
	Options Options
	Seen    Seen
	// RateLimit says how often in a row Coder answered 429, this step included.
	RateLimit RateLimit
}

// RateLimit is what a wait after a 429 depends on.
type RateLimit struct {
	// Count is the number of steps in a row that ended in a 429; at least 1 in a
	// step that saw one.
	Count int
	// Jitter is random, from -1 to 1.
	Jitter float64
}

// Seen holds what was observed in this step. A zero Seen is the start of a step.
type Seen struct {
	ControlPlane Result[core.ControlPlane]
	// DialFailure says why the connection cannot even be tried; empty otherwise.
	DialFailure string
	Deployment  Result[core.Deployment]
	// DeploymentAge is how long ago, by the monotonic clock, Deployment was read.
	DeploymentAge time.Duration
	Operator      Result[core.User]

	Owner        Result[core.User]
	Organization Result[core.Organization]
	Template     Result[core.Template]
	Version      Result[core.TemplateVersion]
	Parameters   Result[core.ParameterReport]
	ExternalAuth Result[[]core.ExternalAuth]
	// AttemptID is a fresh random ID for a create marker.
	AttemptID uuid.UUID

	// Name is what the owner has under the test's workspace name.
	Name Result[core.NameLookup]
	// Workspaces are reads by ID, Builds the builds of a workspace.
	Workspaces map[uuid.UUID]Result[core.Workspace]
	Builds     map[uuid.UUID]Result[[]core.Build]
	// MayRead tells whether the operator user may read all of the owner's
	// workspaces in the organization.
	MayRead Result[bool]
	// Owned are the owner's live workspaces, read after everything else that
	// speaks about workspaces.
	Owned Result[[]core.Workspace]
	// Claimed tells for a workspace whether some record here holds its ID.
	Claimed map[uuid.UUID]bool
	// DeploymentAfter and MayReadAfter are read once more after Owned: a list that
	// another deployment gave, or that shows a caller less than before, proves nothing.
	DeploymentAfter Result[core.Deployment]
	MayReadAfter    Result[bool]

	// OwnMarker is set when this very step stored the record's create marker. A
	// marker found on load is a crash.
	OwnMarker *OwnMarker
	// Answer is the answer to the request that this step sent.
	Answer *Answer
}

// OwnMarker tells that this step stored a create marker.
type OwnMarker struct {
	AttemptID uuid.UUID
	// Age is the time, by the monotonic clock, since the store returned.
	Age time.Duration
}

// Answer is what came back for a Request.
type Answer struct {
	Request Request
	// Failure is nil when Coder accepted the request.
	Failure *core.Failure
	// Workspace is set for an accepted create, Build for an accepted delete.
	Workspace core.Workspace
	Build     core.Build
}

// Result is the outcome of one read. The zero value means: not read yet.
type Result[T any] struct {
	Done    bool
	Value   T
	Failure *core.Failure
}

// ReadKind names one thing that a decision can ask for.
type ReadKind int

// The reads. Each is one call of a port, except where it says so.
const (
	ReadNothing ReadKind = iota
	ReadControlPlane
	// ReadDeployment may be answered from memory once the workspace is known.
	ReadDeployment
	ReadOperator
	ReadOwner
	ReadOrganization
	ReadTemplate
	ReadVersion
	ReadParameters
	ReadExternalAuth
	// ReadAttemptID draws a random ID.
	ReadAttemptID
	ReadName
	ReadWorkspace
	ReadBuilds
	ReadMayRead
	ReadOwned
	ReadClaimed
	ReadDeploymentAfter
	ReadMayReadAfter
)

// Read asks for one observation.
type Read struct {
	Kind ReadKind
	// ID is what is read: the owner, template version, workspace or organization.
	ID uuid.UUID
}

// forgetWorkspaces drops what a request may have changed.
func (seen *Seen) forgetWorkspaces() {
	seen.Name = Result[core.NameLookup]{}
	seen.Workspaces, seen.Builds, seen.Claimed = nil, nil, nil
	seen.Owned = Result[[]core.Workspace]{}
	seen.DeploymentAfter, seen.MayReadAfter = Result[core.Deployment]{}, Result[bool]{}
}
