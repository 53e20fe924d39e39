// Package report tells how tests went, in the forms that people and machines read: the
// documents of this file as JSON and NDJSON, and what else is made of them.
//
// The JSON forms are part of the public contract: fields are added, never renamed or
// removed.
package report

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Run tells of tests that ran together.
type Run struct {
	// Name is the suite's; empty where nobody named one.
	Name      string    `json:"name,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
	// Tests are in the order in which they were asked for; further attempts follow the
	// attempt that they repeat.
	Tests []Test `json:"tests"`
	// Push and Promotion tell what was done to the template beside the test; nil where
	// nothing was to be.
	Push      *Push      `json:"push,omitempty"`
	Promotion *Promotion `json:"promotion,omitempty"`
	// ExitCode is the worst of the tests' and the promotion's.
	ExitCode int `json:"exitCode"`
}

// Test tells of one test.
type Test struct {
	// ID is absent for a test that was not started.
	ID uuid.UUID `json:"id,omitzero"`
	// Case is the name of the test in its suite; empty where nobody named it.
	Case string `json:"case,omitempty"`
	// Attempt counts from 1 where a test can be repeated; RetryOf is the test before it.
	Attempt  int       `json:"attempt,omitempty"`
	RetryOf  uuid.UUID `json:"retryOf,omitzero"`
	Template string    `json:"template"`
	Version  Version   `json:"version"`
	Preset   string    `json:"preset,omitempty"`
	// Verdict is the headline of a test that ran; empty where none ended.
	Verdict Verdict     `json:"verdict,omitempty"`
	Phase   core.Phase  `json:"phase"`
	Reason  core.Reason `json:"reason"`
	Message string      `json:"message"`

	OutcomeClass core.OutcomeClass `json:"outcomeClass,omitempty"`
	// Expected is the verdict that a suite asks for, nil for a pass; Met tells whether
	// it came.
	Expected *Expectation `json:"expected,omitempty"`
	Met      *bool        `json:"met,omitempty"`
	// ErrorCode is Coder's code for a failed build.
	ErrorCode      string      `json:"errorCode,omitempty"`
	LastWaitReason core.Reason `json:"lastWaitReason,omitempty"`
	Workspace      Workspace   `json:"workspace"`
	Timings        Timings     `json:"timings"`
	// Stages are the parts that the test went through here, in their order.
	Stages []Stage `json:"stages,omitempty"`
	// LeakRisk: a workspace can still exist without anybody having asked for it.
	LeakRisk bool `json:"leakRisk"`
	// CoderVersion is that of the Coder that the test ran on; empty where nobody knows.
	CoderVersion string `json:"coderVersion,omitempty"`
	// ExitCode is set where a run ended.
	ExitCode *int `json:"exitCode,omitempty"`
	// Logs are the ends of the logs that explain a failure, masked. They are evidence, so
	// only reports for people show them.
	Logs []core.Excerpt `json:"-"`
}

// Verdict is the headline of a test.
type Verdict string

// The verdicts.
const (
	Passed       Verdict = "PASSED"
	Failed       Verdict = "FAILED"
	Inconclusive Verdict = "INCONCLUSIVE"
	// Interrupted: a signal ended the run before the verdict.
	Interrupted Verdict = "INTERRUPTED"
	// Stopped: the test was asked to go before its verdict, or could not be followed.
	Stopped Verdict = "STOPPED"
	// NotStarted: the run ended before the test's turn came.
	NotStarted Verdict = "NOT STARTED"
)

// Expectation is what a suite expects of a test. An empty field expects nothing.
type Expectation struct {
	OutcomeClass core.OutcomeClass `json:"outcomeClass,omitempty"`
	Reason       core.Reason       `json:"reason,omitempty"`
}

// Version names a version of a template.
type Version struct {
	// Requested is what was asked for: a name, an ID, or "active".
	Requested string    `json:"requested"`
	Name      string    `json:"name,omitempty"`
	ID        uuid.UUID `json:"id,omitzero"`
}

// String is the version's name, or what was asked for where that is not known.
func (v Version) String() string {
	if v.Name != "" {
		return v.Name
	}
	return v.Requested
}

// Workspace tells what became of the test's workspace.
type Workspace struct {
	Name  string         `json:"name"`
	ID    uuid.UUID      `json:"id,omitzero"`
	State WorkspaceState `json:"state"`
	// Reason and Message are those of the condition WorkspaceDeleted.
	Reason  core.Reason `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
}

// WorkspaceState says in a word what became of a workspace.
type WorkspaceState string

// The states.
const (
	// WorkspaceNone: none was ever made.
	WorkspaceNone     WorkspaceState = "none"
	WorkspaceDeleted  WorkspaceState = "deleted"
	WorkspaceRetained WorkspaceState = "retained"
	WorkspaceExists   WorkspaceState = "exists"
	// WorkspaceUnknown: nothing proves that it is gone.
	WorkspaceUnknown WorkspaceState = "unknown"
)

// Timings are whole seconds, as the record has them.
type Timings struct {
	CreatedAt     time.Time `json:"createdAt"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	AgentsReadyAt time.Time `json:"agentsReadyAt,omitzero"`
	CompletedAt   time.Time `json:"completedAt,omitzero"`
	// SecondsToReady and SecondsToResult count from StartedAt; absent until then.
	SecondsToReady  *int `json:"secondsToReady,omitempty"`
	SecondsToResult *int `json:"secondsToResult,omitempty"`
}

// Stage is a part of a test that took time; see core.Stage for the names.
type Stage struct {
	Name      string    `json:"name"`
	StartedAt time.Time `json:"startedAt"`
	// Seconds is how long it took, with milliseconds.
	Seconds float64 `json:"seconds"`
}

// NewTest tells of a test what its record says.
func NewTest(record *core.Record) Test {
	st := &record.Status
	phase := st.Phase
	if phase == "" {
		phase = core.PhasePending
	}
	return Test{
		ID: record.ID, Case: record.Name, Template: record.Spec.Template, Preset: record.Spec.Preset,
		Version: Version{Requested: record.Spec.Version.String(), Name: st.TemplateVersionName, ID: st.TemplateVersionID},
		Phase:   phase, Reason: st.Reason, Message: st.Message,
		OutcomeClass: st.OutcomeClass, ErrorCode: st.ErrorCode, LastWaitReason: st.LastWaitReason,
		Workspace: newWorkspace(record),
		Timings: Timings{
			CreatedAt: record.CreatedAt, StartedAt: st.StartTime, AgentsReadyAt: st.AgentsReadyTime, CompletedAt: st.CompletionTime,
			SecondsToReady:  secondsBetween(st.StartTime, st.AgentsReadyTime),
			SecondsToResult: secondsBetween(st.StartTime, st.CompletionTime),
		},
		LeakRisk: record.LeakRisk(),
	}
}

func newWorkspace(record *core.Record) Workspace {
	deleted := record.Status.Condition(core.ConditionWorkspaceDeleted)
	w := Workspace{
		Name: core.WorkspaceName(record.ID), ID: record.Status.WorkspaceID,
		Reason: deleted.Reason, Message: deleted.Message,
	}
	switch {
	case deleted.Reason == core.ReasonNotCreated:
		w.State = WorkspaceNone
	case deleted.Status == core.ConditionTrue:
		w.State = WorkspaceDeleted
	case deleted.Reason == core.ReasonRetained:
		w.State = WorkspaceRetained
	case record.Status.WorkspaceID != uuid.Nil:
		w.State = WorkspaceExists
	case record.Status.MayHaveWorkspace() || deleted.Status == core.ConditionUnknown && deleted.Reason != "":
		w.State = WorkspaceUnknown
	default:
		w.State = WorkspaceNone
	}
	return w
}

func secondsBetween(from, to time.Time) *int {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	seconds := int(to.Sub(from) / time.Second)
	return &seconds
}

// VerdictOf is the headline of a test that ended. interrupted: a signal came.
func VerdictOf(record *core.Record, interrupted bool) Verdict {
	switch {
	case record.Status.OutcomeClass == core.OutcomePassed:
		return Passed
	case record.Status.OutcomeClass == core.OutcomeTemplateFailed:
		return Failed
	case record.Status.Phase.Final():
		return Inconclusive
	case interrupted:
		return Interrupted
	default:
		return Stopped
	}
}
