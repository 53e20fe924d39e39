package webhook

import (
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Message is what a receiver gets as JSON. Fields are added, never renamed or removed.
type Message struct {
	// ID is the same when the message is sent again.
	ID    uuid.UUID `json:"id"`
	Event string    `json:"event"`
	// Time is when it happened.
	Time time.Time `json:"time"`
	Test Test      `json:"test"`
}

// Test is what a message tells of a test. No value of a parameter is among it.
type Test struct {
	ID           uuid.UUID `json:"id"`
	Name         string    `json:"name,omitempty"`
	ControlPlane string    `json:"controlPlane"`
	Template     string    `json:"template"`
	// Version is what was asked for; VersionName and VersionID are what was found.
	Version      string            `json:"version"`
	VersionName  string            `json:"versionName,omitempty"`
	VersionID    uuid.UUID         `json:"versionID,omitzero"`
	Phase        core.Phase        `json:"phase"`
	Reason       core.Reason       `json:"reason"`
	Message      string            `json:"message"`
	OutcomeClass core.OutcomeClass `json:"outcomeClass,omitempty"`
	ErrorCode    string            `json:"errorCode,omitempty"`
	// WorkspaceName and WorkspaceReason tell what became of the workspace.
	WorkspaceName   string      `json:"workspaceName"`
	WorkspaceReason core.Reason `json:"workspaceReason,omitempty"`
	LeakRisk        bool        `json:"leakRisk"`
	CreatedAt       time.Time   `json:"createdAt"`
	CompletedAt     time.Time   `json:"completedAt,omitzero"`
}

// Notices says what the receivers are to hear of a change of a record: before is nil for a
// new record, after for one that disappears. It is called within the transaction of the
// change.
func Notices(receivers []Receiver, now func() time.Time, random io.Reader) func(before, after *core.Record) []core.Notice {
	return func(before, after *core.Record) []core.Notice {
		var notices []core.Notice
		for _, event := range happened(before, after) {
			for i := range receivers {
				if !receivers[i].wants(event, after.Spec.ControlPlaneRef) {
					continue
				}
				id, err := uuid.NewRandomFromReader(random)
				if err != nil {
					// A receiver can tell repeated messages apart by anything that is unique.
					id = uuid.NewSHA1(after.ID, []byte(receivers[i].Name+event))
				}
				// A value of this type can always be encoded.
				body, _ := json.Marshal(Message{ID: id, Event: event, Time: now().UTC(), Test: newTest(after)})
				notices = append(notices, core.Notice{ID: id, Receiver: receivers[i].Name, Test: after.ID, Event: event, Body: body})
			}
		}
		return notices
	}
}

// happened are the events of a change.
func happened(before, after *core.Record) (events []string) {
	if after == nil {
		return nil
	}
	if after.Status.Phase.Final() && (before == nil || !before.Status.Phase.Final()) {
		events = append(events, EventFinished)
	}
	if after.AtEnd() && (before == nil || !before.AtEnd()) {
		events = append(events, EventCleanedUp)
	}
	return events
}

func newTest(record *core.Record) Test {
	st := &record.Status
	return Test{
		ID: record.ID, Name: record.Name, ControlPlane: record.Spec.ControlPlaneRef, Template: record.Spec.Template,
		Version: record.Spec.Version.String(), VersionName: st.TemplateVersionName, VersionID: st.TemplateVersionID,
		Phase: st.Phase, Reason: st.Reason, Message: st.Message, OutcomeClass: st.OutcomeClass, ErrorCode: st.ErrorCode,
		WorkspaceName: core.WorkspaceName(record.ID), WorkspaceReason: st.Condition(core.ConditionWorkspaceDeleted).Reason,
		LeakRisk: record.LeakRisk(), CreatedAt: record.CreatedAt, CompletedAt: st.CompletionTime,
	}
}
