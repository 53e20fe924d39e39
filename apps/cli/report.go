package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/core"
)

// report is what is told about a test. Its JSON form is part of the public contract:
// fields are added, never renamed or removed.
type report struct {
	ID           uuid.UUID         `json:"id"`
	Template     string            `json:"template"`
	Version      reportedVersion   `json:"version"`
	Phase        core.Phase        `json:"phase"`
	Reason       core.Reason       `json:"reason"`
	Message      string            `json:"message"`
	OutcomeClass core.OutcomeClass `json:"outcomeClass,omitempty"`
	// ErrorCode is Coder's code for a failed build.
	ErrorCode      string            `json:"errorCode,omitempty"`
	LastWaitReason core.Reason       `json:"lastWaitReason,omitempty"`
	Workspace      reportedWorkspace `json:"workspace"`
	Timings        reportedTimings   `json:"timings"`
	// LeakRisk: a workspace can still exist without anybody having asked for it.
	LeakRisk bool `json:"leakRisk"`
	// ExitCode is set where a run ended.
	ExitCode *int `json:"exitCode,omitempty"`
}

type reportedVersion struct {
	// Requested is what was asked for: a name, an ID, or "active".
	Requested string    `json:"requested"`
	Name      string    `json:"name,omitempty"`
	ID        uuid.UUID `json:"id,omitzero"`
}

type reportedWorkspace struct {
	Name string    `json:"name"`
	ID   uuid.UUID `json:"id,omitzero"`
	// State is "none", "deleted", "retained", "exists" or "unknown".
	State   string      `json:"state"`
	Reason  core.Reason `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
}

// reportedTimings are whole seconds, as the record has them.
type reportedTimings struct {
	CreatedAt     time.Time `json:"createdAt"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	AgentsReadyAt time.Time `json:"agentsReadyAt,omitzero"`
	CompletedAt   time.Time `json:"completedAt,omitzero"`
	// SecondsToReady and SecondsToResult count from StartedAt; absent until then.
	SecondsToReady  *int `json:"secondsToReady,omitempty"`
	SecondsToResult *int `json:"secondsToResult,omitempty"`
}

func newReport(record *core.Record) report {
	st := &record.Status
	return report{
		ID: record.ID, Template: record.Spec.Template,
		Version: reportedVersion{
			Requested: record.Spec.Version.String(), Name: st.TemplateVersionName, ID: st.TemplateVersionID,
		},
		Phase: orElse(st.Phase, core.PhasePending), Reason: st.Reason, Message: st.Message,
		OutcomeClass: st.OutcomeClass, ErrorCode: st.ErrorCode, LastWaitReason: st.LastWaitReason,
		Workspace: reportWorkspace(record),
		Timings: reportedTimings{
			CreatedAt: record.CreatedAt, StartedAt: st.StartTime, AgentsReadyAt: st.AgentsReadyTime, CompletedAt: st.CompletionTime,
			SecondsToReady:  secondsBetween(st.StartTime, st.AgentsReadyTime),
			SecondsToResult: secondsBetween(st.StartTime, st.CompletionTime),
		},
		LeakRisk: record.LeakRisk(),
	}
}

func reportWorkspace(record *core.Record) reportedWorkspace {
	deleted := record.Status.Condition(core.ConditionWorkspaceDeleted)
	w := reportedWorkspace{
		Name: core.WorkspaceName(record.ID), ID: record.Status.WorkspaceID,
		Reason: deleted.Reason, Message: deleted.Message,
	}
	switch {
	case deleted.Reason == core.ReasonNotCreated:
		w.State = "none"
	case deleted.Status == core.ConditionTrue:
		w.State = "deleted"
	case deleted.Reason == core.ReasonRetained:
		w.State = "retained"
	case record.Status.WorkspaceID != uuid.Nil:
		w.State = "exists"
	case record.Status.MayHaveWorkspace() || deleted.Status == core.ConditionUnknown && deleted.Reason != "":
		w.State = "unknown"
	default:
		w.State = "none"
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

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// verdict is the headline of a run.
func verdict(record *core.Record, signal os.Signal) string {
	switch {
	case record.Status.OutcomeClass == core.OutcomePassed:
		return "PASSED"
	case record.Status.OutcomeClass == core.OutcomeTemplateFailed:
		return "FAILED"
	case record.Status.Phase.Final():
		return "INCONCLUSIVE"
	case signal != nil:
		return "INTERRUPTED"
	default:
		return "STOPPED"
	}
}

// writeVerdict tells a person how a run ended.
func writeVerdict(out io.Writer, record *core.Record, signal os.Signal, code int) error {
	r := newReport(record)
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s version %s", verdict(record, signal), r.Template, firstOf(r.Version.Name, r.Version.Requested))
	if r.Timings.SecondsToResult != nil {
		fmt.Fprintf(&text, " in %v", time.Duration(*r.Timings.SecondsToResult)*time.Second)
	}
	fmt.Fprintln(&text)
	if record.Status.Phase == core.PhaseFailed {
		fmt.Fprintf(&text, "  %s: %s\n", r.Reason, r.Message)
	}
	fmt.Fprintf(&text, "  workspace %s: %s", r.Workspace.Name, r.Workspace.State)
	if r.Workspace.State == "exists" || r.Workspace.State == "unknown" {
		fmt.Fprintf(&text, " (%s: %s)", r.Workspace.Reason, r.Workspace.Message)
	}
	fmt.Fprintf(&text, "\n  test %s, exit code %d\n", r.ID, code)
	_, err := io.WriteString(out, text.String())
	return err
}

// writeJSON writes one JSON document.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// outputFormat is the value of --output.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

var _ pflag.Value = (*outputFormat)(nil)

// String implements pflag.Value.
func (o *outputFormat) String() string { return string(*o) }

// Type implements pflag.Value.
func (*outputFormat) Type() string { return "text|json" }

// Set implements pflag.Value.
func (o *outputFormat) Set(value string) error {
	switch outputFormat(value) {
	case outputText, outputJSON:
		*o = outputFormat(value)
		return nil
	default:
		return fmt.Errorf("must be text or json")
	}
}
