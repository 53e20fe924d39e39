package core

import (
	"encoding/hex"
	"regexp"
	"time"

	"github.com/google/uuid"
)

// Record is all that is durable about a test. Values are copied, never shared
// for writing: whoever changes a record changes a copy and stores it.
type Record struct {
	// ID identifies the test; in Kubernetes it is the object's UID.
	ID uuid.UUID `json:"id"`
	// Name is what people call the test; empty where nobody named it.
	Name string `json:"name,omitempty"`
	// Generation counts changes of the spec; it is 1 where specs never change.
	Generation int64     `json:"generation"`
	CreatedAt  time.Time `json:"createdAt"`
	Spec       Spec      `json:"spec"`
	// DeletionRequestedAt is set once somebody wishes the test stopped and
	// cleaned up; it is never unset.
	DeletionRequestedAt time.Time `json:"deletionRequestedAt,omitzero"`
	// DeletionPolicy is what is asked for the workspace of a finished test, as
	// written; see ParseDeletionPolicy.
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// Held keeps the record from disappearing while a workspace can exist. Only
	// WorkspaceStore.TakeHold and ReleaseHold change it.
	Held bool `json:"held"`
	// Revision is the store's version of this copy, opaque to everyone else.
	Revision string `json:"-"`
	Status   Status `json:"status"`
}

// Status is the part of a record that the lifecycle writes.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is empty until the test is initialized.
	Phase  Phase  `json:"phase,omitempty"`
	Reason Reason `json:"reason,omitempty"`
	// Message is for people: at most MaxMessageBytes, what to do comes first.
	Message string `json:"message,omitempty"`
	// StartTime and CompletionTime are whole seconds, UTC.
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`

	Pins

	// CreateAttemptTime and CreateAttemptID are the create marker: stored before a
	// create request is sent. The time is Coder's, in whole seconds. While they
	// are set and WorkspaceID is empty, a create request can be in flight.
	CreateAttemptTime time.Time `json:"createAttemptTime,omitzero"`
	CreateAttemptID   uuid.UUID `json:"createAttemptID,omitzero"`
	// CreateAnswer is Coder's refusal of the create request, noted while only
	// reads can tell whether another copy of the request took effect.
	CreateAnswer *CreateAnswer `json:"createAnswer,omitempty"`

	WorkspaceID   uuid.UUID `json:"workspaceID,omitzero"`
	StartBuildID  uuid.UUID `json:"startBuildID,omitzero"`
	DeleteBuildID uuid.UUID `json:"deleteBuildID,omitzero"`
	// StartBuildRan tells that the start build was seen past the queue.
	StartBuildRan bool `json:"startBuildRan,omitempty"`
	// AgentsReadyTime is when every agent was seen connected and ready.
	AgentsReadyTime time.Time `json:"agentsReadyTime,omitzero"`
	// DeleteAttempts counts the test's own delete builds that failed.
	DeleteAttempts int `json:"deleteAttempts,omitempty"`

	// OutcomeClass, LastWaitReason and ErrorCode are stored with the verdict.
	OutcomeClass   OutcomeClass `json:"outcomeClass,omitempty"`
	LastWaitReason Reason       `json:"lastWaitReason,omitempty"`
	// ErrorCode is Coder's code for a failed build, such as INSUFFICIENT_QUOTA, or
	// REAPED for one that Coder ended because it hung or nobody took it.
	ErrorCode string `json:"errorCode,omitempty"`

	Conditions []Condition `json:"conditions,omitempty"`
}

// Pins are the identities a test fixed: from then on only these count, whatever
// is renamed.
type Pins struct {
	OrganizationID      uuid.UUID `json:"organizationID,omitzero"`
	TemplateID          uuid.UUID `json:"templateID,omitzero"`
	TemplateVersionID   uuid.UUID `json:"templateVersionID,omitzero"`
	TemplateVersionName string    `json:"templateVersionName,omitempty"`
	OwnerID             uuid.UUID `json:"ownerID,omitzero"`
	WorkspaceName       string    `json:"workspaceName,omitempty"`
	// DeploymentID is Coder's own ID of the deployment; set with the marker.
	DeploymentID string `json:"deploymentID,omitempty"`
	// OperatorUserID is the user whose token sent the create request.
	OperatorUserID uuid.UUID `json:"operatorUserID,omitzero"`
}

// CreateAnswer is a refusal of a create request by Coder itself.
type CreateAnswer struct {
	// Status is the HTTP status code, 400 to 499.
	Status int `json:"status"`
	// Message is Coder's short message.
	Message string `json:"message,omitempty"`
}

// MaxMessageBytes bounds every message in a record.
const MaxMessageBytes = 256

// HasMarker reports whether a create request can be in flight or committed
// without its workspace being known.
func (s *Status) HasMarker() bool { return s.CreateAttemptID != uuid.Nil }

// MayHaveWorkspace reports whether a create request may have been sent or the
// workspace is known: the opposite of "nothing was ever sent".
func (s *Status) MayHaveWorkspace() bool { return s.HasMarker() || s.WorkspaceID != uuid.Nil }

// DeletionRequested reports whether somebody wishes the test stopped.
func (r *Record) DeletionRequested() bool { return !r.DeletionRequestedAt.IsZero() }

// Claims reports whether the test is, or can still become, the one that looks after a
// workspace: its record holds the workspace's ID, or the workspace has the test's name and
// the record does not say that no workspace of the test can exist.
func (r *Record) Claims(workspace uuid.UUID, name string) bool {
	if workspace != uuid.Nil && r.Status.WorkspaceID == workspace {
		return true
	}
	return name == WorkspaceName(r.ID) && r.Status.Condition(ConditionWorkspaceDeleted).Status != ConditionTrue
}

// Deadline is when the run ends at the latest, recorded result included.
func (r *Record) Deadline() time.Time { return r.Status.StartTime.Add(r.Spec.Timeout()) }

// WorkspaceName returns the name of the workspace of the test: "ktt-" and the
// first 28 hexadecimal digits of the ID, 32 characters in all (the most that
// Coder takes).
func WorkspaceName(test uuid.UUID) string {
	return "ktt-" + hex.EncodeToString(test[:14])
}

var testWorkspaceName = regexp.MustCompile(`^ktt-[0-9a-f]{28}$`)

// IsTestWorkspaceName reports whether the whole name is one that WorkspaceName
// makes for some test.
func IsTestWorkspaceName(name string) bool { return testWorkspaceName.MatchString(name) }

// DeletionPolicy says what becomes of the workspace of a finished test.
type DeletionPolicy string

// The deletion policies.
const (
	DeletionPolicyDelete DeletionPolicy = "delete"
	DeletionPolicyRetain DeletionPolicy = "retain"
)

// ParseDeletionPolicy reads a policy exactly as written. Anything but "retain"
// and "delete" counts as delete and is reported as not known; the empty string is
// the default, delete.
func ParseDeletionPolicy(written string) (policy DeletionPolicy, known bool) {
	switch DeletionPolicy(written) {
	case DeletionPolicyRetain:
		return DeletionPolicyRetain, true
	case DeletionPolicyDelete, "":
		return DeletionPolicyDelete, true
	default:
		return DeletionPolicyDelete, false
	}
}
