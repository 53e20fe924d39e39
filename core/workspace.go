package core

import (
	"time"

	"github.com/google/uuid"
)

// PrebuildsUserID is Coder's system user that makes prebuilt workspaces.
var PrebuildsUserID = uuid.MustParse("c42fdf75-3097-471c-8c33-fb52454d81c0")

// Workspace is a Coder workspace with its latest build.
type Workspace struct {
	ID             uuid.UUID
	Name           string
	OwnerID        uuid.UUID
	OrganizationID uuid.UUID
	TemplateID     uuid.UUID
	// OrganizationName and TemplateName are what these two are called now: for people.
	OrganizationName string
	TemplateName     string
	// Deleted tells that Coder answered 410 for it, or that its latest build is a
	// delete that succeeded.
	Deleted   bool
	CreatedAt time.Time
	Latest    Build
}

// Build is one build of a workspace.
type Build struct {
	ID          uuid.UUID
	WorkspaceID uuid.UUID
	// Number counts the workspace's builds from 1.
	Number      int
	Transition  Transition
	InitiatorID uuid.UUID
	// Automatic tells that Coder started the build by itself, as it does when the time of
	// a workspace is over. Coder names its owner as the initiator then.
	Automatic bool
	VersionID uuid.UUID
	CreatedAt time.Time
	Job       Job
	// Agents are all agents of the build's resources, sub-agents included. They
	// are filled in for a workspace's latest build only.
	Agents []Agent
}

// Transition is what a build does to its workspace.
type Transition string

// The transitions.
const (
	TransitionStart  Transition = "start"
	TransitionStop   Transition = "stop"
	TransitionDelete Transition = "delete"
)

// JobStatus is the state of a provisioner job, in Coder's words.
type JobStatus string

// The job statuses. Any other value is one that this version of assay does not
// know: it is waited on, never acted on.
const (
	JobPending   JobStatus = "pending"
	JobRunning   JobStatus = "running"
	JobSucceeded JobStatus = "succeeded"
	JobCanceling JobStatus = "canceling"
	JobCanceled  JobStatus = "canceled"
	JobFailed    JobStatus = "failed"
)

// Active reports whether the job has not ended.
func (s JobStatus) Active() bool {
	return s == JobPending || s == JobRunning || s == JobCanceling
}

// Job is the provisioner job of a build.
type Job struct {
	Status JobStatus
	// ErrorCode is Coder's code, such as INSUFFICIENT_QUOTA; the error's text stays
	// with the adapter because it can hold what the template printed.
	ErrorCode string
	// Reaped tells that Coder ended the job because it hung or nobody took it.
	Reaped bool
	// StartedAt is zero until a provisioner took the job.
	StartedAt time.Time
	// CanceledAt is set once somebody asked to cancel, whatever the job ended as.
	CanceledAt time.Time
	// CompletedAt is zero until the job ended.
	CompletedAt time.Time
	// UpdatedAt is the build's last change; never zero.
	UpdatedAt time.Time
	// Provisioners is how many daemons could take the job; -1 when Coder does not
	// say.
	Provisioners int
	// Tags are the provisioner tags that the job wants, as "key=value", sorted.
	Tags []string
}

// Agent is a workspace agent.
type Agent struct {
	ID uuid.UUID
	// ParentID is set for a sub-agent such as a devcontainer's.
	ParentID uuid.UUID
	// Name can come from a parameter: it is for evidence, never for a message.
	Name      string
	Status    AgentStatus
	Lifecycle AgentLifecycle
}

// AgentStatus is whether an agent is connected, in Coder's words.
type AgentStatus string

// The agent statuses.
const (
	AgentConnecting   AgentStatus = "connecting"
	AgentConnected    AgentStatus = "connected"
	AgentDisconnected AgentStatus = "disconnected"
	AgentTimeout      AgentStatus = "timeout"
)

// AgentLifecycle is where an agent's scripts stand, in Coder's words.
type AgentLifecycle string

// The agent lifecycles.
const (
	AgentCreated         AgentLifecycle = "created"
	AgentStarting        AgentLifecycle = "starting"
	AgentStartTimeout    AgentLifecycle = "start_timeout"
	AgentStartError      AgentLifecycle = "start_error"
	AgentReady           AgentLifecycle = "ready"
	AgentShuttingDown    AgentLifecycle = "shutting_down"
	AgentShutdownTimeout AgentLifecycle = "shutdown_timeout"
	AgentShutdownError   AgentLifecycle = "shutdown_error"
	AgentOff             AgentLifecycle = "off"
)

// NameLookup is the answer to "which workspace of this owner has this name".
type NameLookup struct {
	// Workspace is nil when there is none, deleted ones included. A live one wins
	// over deleted ones.
	Workspace *Workspace
	// ServerTime is the Date of Coder's answer, in whole seconds; never zero.
	ServerTime time.Time
}

// CreateRequest asks Coder for the workspace of a test.
type CreateRequest struct {
	OwnerID        uuid.UUID
	OrganizationID uuid.UUID
	TemplateID     uuid.UUID
	Name           string
	VersionID      uuid.UUID
	Parameters     []Parameter
	// PresetID is uuid.Nil for none.
	PresetID uuid.UUID
	// TTL stops (never deletes) the workspace after this long, as the last net for
	// one that nobody can clean up.
	TTL time.Duration
}
