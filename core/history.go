package core

import (
	"time"

	"github.com/google/uuid"
)

// TestQuery says which tests are wanted, and which part of them. The zero value wants the
// newest tests of all.
type TestQuery struct {
	// Phases, Classes and ControlPlanes hold values of which a test must have one; an empty
	// list asks for nothing. A test that was never looked at is Pending.
	Phases        []Phase
	Classes       []OutcomeClass
	ControlPlanes []string
	// Template is "<organization>.<template>", Version the name or the ID of a version; both
	// are compared as written, the version with what was asked for and with what was found.
	Template, Version string
	// CreatedFrom is the earliest time of creation, CreatedBefore the end of the range,
	// which is not in it. The zero time bounds nothing.
	CreatedFrom, CreatedBefore time.Time
	// Unfinished wants tests for which something is left to do: those that are not final,
	// that are held, or whose record is to go after a time.
	Unfinished bool
	// After is TestPage.Next of the page before, empty for the first page.
	After string
	// Limit is the length of a page: 1 to MaxTestPage, 0 means DefaultTestPage.
	Limit int
}

// The bounds of a page of tests.
const (
	DefaultTestPage = 50
	MaxTestPage     = 200
)

// TestPage is a part of the tests that a query finds, newest first. Tests that are made
// while somebody goes from page to page appear on none of the later pages.
type TestPage struct {
	Records []Record
	// Next is the start of the next page, empty on the last one. It is opaque.
	Next string
}

// TestTransition is what is kept of a change of a test: what people watch and ask for later.
type TestTransition struct {
	// Seq numbers the changes of all tests of a store; a later one is larger. Changes that
	// nobody would see (a counter, a label) have none, so numbers are left out.
	Seq  int64     `json:"seq"`
	Test uuid.UUID `json:"test"`
	At   time.Time `json:"at"`
	// ControlPlaneRef is the test's.
	ControlPlaneRef string `json:"controlPlane"`
	// Gone: the record disappeared with this change. The rest is as it was before.
	Gone bool `json:"gone,omitempty"`

	Phase        Phase        `json:"phase"`
	Reason       Reason       `json:"reason,omitempty"`
	Message      string       `json:"message,omitempty"`
	OutcomeClass OutcomeClass `json:"outcomeClass,omitempty"`
	// Stage is where the test stood then; see Stage.String.
	Stage string `json:"stage"`
	// WorkspaceDeleted is the status of that condition, and WorkspaceReason its reason.
	WorkspaceDeleted ConditionStatus `json:"workspaceDeleted,omitempty"`
	WorkspaceReason  Reason          `json:"workspaceReason,omitempty"`
	// DeletionRequested and DeletionPolicy are what people asked for.
	DeletionRequested bool   `json:"deletionRequested,omitempty"`
	DeletionPolicy    string `json:"deletionPolicy,omitempty"`
}

// NewTestTransition is what is kept of a change that leaves the record as it is here.
func NewTestTransition(seq int64, at time.Time, record *Record) TestTransition {
	deleted := record.Status.Condition(ConditionWorkspaceDeleted)
	phase := record.Status.Phase
	if phase == "" {
		phase = PhasePending
	}
	return TestTransition{
		Seq: seq, Test: record.ID, At: at.UTC(), ControlPlaneRef: record.Spec.ControlPlaneRef,
		Phase: phase, Reason: record.Status.Reason, Message: record.Status.Message, OutcomeClass: record.Status.OutcomeClass,
		Stage: record.Stage().String(), WorkspaceDeleted: deleted.Status, WorkspaceReason: deleted.Reason,
		DeletionRequested: record.DeletionRequested(), DeletionPolicy: record.DeletionPolicy,
	}
}

// Same reports whether two transitions of a test tell the same, whenever they were.
func (t TestTransition) Same(other TestTransition) bool {
	t.Seq, t.At, other.Seq, other.At = 0, time.Time{}, 0, time.Time{}
	return t == other
}

// StoredEvidence is evidence as it is kept: masked, bounded, for a set time.
type StoredEvidence struct {
	Test uuid.UUID `json:"test"`
	// At is when it was read.
	At           time.Time     `json:"at"`
	ExpiresAt    time.Time     `json:"expiresAt"`
	CoderVersion string        `json:"coderVersion,omitempty"`
	Logs         []EvidenceLog `json:"logs"`
	Agents       []AgentState  `json:"agents,omitempty"`
}

// EvidenceLog is a log of StoredEvidence.
type EvidenceLog struct {
	// Source says where the text is from: "build", or the display name of a script.
	Source  string    `json:"source"`
	AgentID uuid.UUID `json:"agentID,omitzero"`
	Text    string    `json:"text"`
	// Truncated tells that the beginning was cut to keep the bound.
	Truncated bool `json:"truncated,omitempty"`
}

// AgentState is how an agent was seen last.
type AgentState struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Status    string    `json:"status"`
	Lifecycle string    `json:"lifecycle"`
}

// Notice is a message that must reach a receiver, kept with the record that it tells of.
type Notice struct {
	// ID identifies the message: a receiver that gets it twice can tell.
	ID uuid.UUID
	// Receiver names who gets it.
	Receiver string
	Test     uuid.UUID
	// Event is what happened, such as "test.finished".
	Event string
	// Body is the message as it is sent, JSON.
	Body []byte
	// CreatedAt is when it was stored, in microseconds UTC.
	CreatedAt time.Time
	// Attempts counts how often it was tried in vain.
	Attempts int
	// LastError is what the last attempt ended with, for people: no secret is in it.
	LastError string
}
