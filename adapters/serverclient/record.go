package serverclient

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// newTest is the request for the test that a record describes.
func newTest(record core.Record) NewTest {
	spec := record.Spec
	body := NewTest{Template: spec.Template}
	if record.Name != "" {
		body.Name = &record.Name
	}
	if spec.ControlPlaneRef != "" {
		body.ControlPlaneRef = &spec.ControlPlaneRef
	}
	if spec.Preset != "" {
		body.Preset = &spec.Preset
	}
	switch {
	case spec.Version.Active:
		body.Version.Active = new(true)
	case spec.Version.ID != "":
		body.Version.ID = &spec.Version.ID
	default:
		body.Version.Name = &spec.Version.Name
	}
	if len(spec.Parameters) > 0 {
		values := make([]ParameterValue, 0, len(spec.Parameters))
		for _, parameter := range spec.Parameters {
			values = append(values, ParameterValue(parameter))
		}
		body.Parameters = &values
	}
	if spec.TimeoutSeconds != 0 {
		body.TimeoutSeconds = new(int64(spec.TimeoutSeconds))
	}
	if spec.InputsTimeoutSeconds != 0 {
		body.InputsTimeoutSeconds = new(int64(spec.InputsTimeoutSeconds))
	}
	if spec.TTLSecondsAfterFinished != nil {
		body.TTLSecondsAfterFinished = new(int64(*spec.TTLSecondsAfterFinished))
	}
	if record.DeletionPolicy == string(core.DeletionPolicyRetain) {
		body.Retain = new(true)
	}
	return body
}

// recordOf is as much of a test's record as the server tells: all that a report of it
// shows. Where the server knows of a create request and of no workspace, the request's ID
// is the test's.
func recordOf(test *Test) (core.Record, error) {
	ids := idReader{}
	record := core.Record{
		ID: ids.read("id", test.ID), Name: valueOf(test.Case), Generation: 1, CreatedAt: test.Timings.CreatedAt,
		DeletionRequestedAt: valueOf(test.DeletionRequestedAt), DeletionPolicy: string(test.DeletionPolicy),
		Spec: core.Spec{
			Template: test.Template, Version: core.ParseVersion(test.Version.Requested), Preset: valueOf(test.Preset),
			TimeoutSeconds: int(test.TimeoutSeconds), InputsTimeoutSeconds: int(valueOf(test.InputsTimeoutSeconds)), ControlPlaneRef: test.ControlPlane,
		},
		Status: core.Status{
			Phase: core.Phase(test.Phase), Reason: core.Reason(test.Reason), Message: test.Message,
			StartTime: valueOf(test.Timings.StartedAt), CompletionTime: valueOf(test.Timings.CompletedAt), AgentsReadyTime: valueOf(test.Timings.AgentsReadyAt),
			WorkspaceID:  ids.read("workspace.id", test.Workspace.ID),
			OutcomeClass: core.OutcomeClass(valueOf(test.OutcomeClass)), LastWaitReason: core.Reason(valueOf(test.LastWaitReason)), ErrorCode: valueOf(test.ErrorCode),
			Pins: core.Pins{
				TemplateVersionID: ids.read("version.id", test.Version.ID), TemplateVersionName: valueOf(test.Version.Name),
				WorkspaceName: test.Workspace.Name,
			},
		},
	}
	if test.TTLSecondsAfterFinished != nil {
		record.Spec.TTLSecondsAfterFinished = new(int(*test.TTLSecondsAfterFinished))
	}
	for _, parameter := range valueOf(test.Parameters) {
		record.Spec.Parameters = append(record.Spec.Parameters, core.Parameter(parameter))
	}
	for _, condition := range valueOf(test.Conditions) {
		record.Status.Conditions = append(record.Status.Conditions, core.Condition{
			Type: core.ConditionType(condition.Type), Status: core.ConditionStatus(condition.Status), Reason: core.Reason(condition.Reason),
			Message: condition.Message, LastTransitionTime: condition.LastTransitionTime, ObservedGeneration: valueOf(condition.ObservedGeneration),
		})
	}
	if record.Status.WorkspaceID == uuid.Nil && test.Workspace.State == "unknown" {
		record.Status.CreateAttemptID, record.Status.CreateAttemptTime = record.ID, record.Status.StartTime
	}
	if ids.err == nil && record.ID == uuid.Nil {
		ids.err = fmt.Errorf("the server's test has no ID")
	}
	return record, ids.err
}

// idReader reads IDs until one is none.
type idReader struct{ err error }

func (r *idReader) read(field string, text *string) uuid.UUID {
	if text == nil || *text == "" || r.err != nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(*text)
	if err != nil {
		r.err = fmt.Errorf("the server's %s is no ID: %w", field, err)
	}
	return id
}

// After is the record after a transition, as far as the transition tells: for a record
// that the server has no more.
func After(record core.Record, transition core.TestTransition) core.Record {
	st := &record.Status
	st.Phase, st.Reason, st.Message, st.OutcomeClass = transition.Phase, transition.Reason, transition.Message, transition.OutcomeClass
	if transition.DeletionRequested && record.DeletionRequestedAt.IsZero() {
		record.DeletionRequestedAt = transition.At
	}
	if transition.WorkspaceDeleted == "" {
		return record
	}
	conditions := []core.Condition{{
		Type: core.ConditionWorkspaceDeleted, Status: transition.WorkspaceDeleted, Reason: transition.WorkspaceReason,
		LastTransitionTime: transition.At.Truncate(time.Second), ObservedGeneration: record.Generation,
	}}
	for _, condition := range st.Conditions {
		if condition.Type != core.ConditionWorkspaceDeleted {
			conditions = append(conditions, condition)
		}
	}
	st.Conditions = conditions
	return record
}

// evidenceOf is stored evidence in the form in which sinks take it.
func evidenceOf(stored *StoredEvidence, record core.Record) core.Evidence {
	evidence := core.Evidence{TestID: record.ID, Record: record, CoderVersion: valueOf(stored.CoderVersion)}
	for _, agent := range valueOf(stored.Agents) {
		id, _ := uuid.Parse(agent.ID)
		evidence.Workspace.Latest.Agents = append(evidence.Workspace.Latest.Agents, core.Agent{
			ID: id, Name: agent.Name, Status: core.AgentStatus(agent.Status), Lifecycle: core.AgentLifecycle(agent.Lifecycle),
		})
	}
	for _, log := range valueOf(stored.Logs) {
		id, _ := uuid.Parse(valueOf(log.AgentID))
		evidence.Logs = append(evidence.Logs, core.Log{Source: log.Source, AgentID: id, Text: log.Text, Truncated: valueOf(log.Truncated)})
	}
	return evidence
}
