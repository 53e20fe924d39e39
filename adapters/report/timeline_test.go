package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

func TestTimelineMeasuresStages(t *testing.T) {
	var line report.Timeline
	record := core.Record{ID: uuid.New()}
	hear := func(after time.Duration, coder string, change func(st *core.Status)) {
		change(&record.Status)
		line.Add(core.StoredTransition{At: began.Add(after), After: record, CoderVersion: coder})
	}
	hear(0, "", func(st *core.Status) { st.Phase = core.PhasePending })
	hear(2*time.Second, "v2.36.1", func(st *core.Status) { st.CreateAttemptID = uuid.New() })
	hear(3*time.Second, "v2.36.1", func(st *core.Status) {
		st.Phase, st.Reason, st.WorkspaceID = core.PhaseRunning, core.ReasonWaitingForBuild, uuid.New()
	})
	hear(10*time.Second, "v2.36.1", func(st *core.Status) { st.Reason = core.ReasonWaitingForAgents })
	// While Coder is away the record looks as if it were building.
	hear(12*time.Second, "", func(st *core.Status) { st.Reason = core.ReasonCoderUnavailable })
	hear(20*time.Second, "", func(st *core.Status) { st.Reason = core.ReasonWaitingForAgents })
	if got := line.Stages(began.Add(21 * time.Second)); len(got) != 4 || got[3].Seconds != 11 {
		t.Errorf("while it runs: %+v", got)
	}
	hear(25500*time.Millisecond, "", func(st *core.Status) {
		st.Phase, st.Reason = core.PhaseFailed, core.ReasonAgentStartError
		st.SetCondition(began, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionFalse, Reason: core.ReasonDeleting})
	})
	hear(30*time.Second, "", func(st *core.Status) {
		st.SetCondition(began, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionTrue, Reason: core.ReasonDeleted})
	})
	// What is stored after the end is no stage's.
	hear(90*time.Second, "", func(st *core.Status) { st.ObservedGeneration++ })

	want := []report.Stage{
		{Name: "inputs", StartedAt: began, Seconds: 2},
		{Name: "create", StartedAt: began.Add(2 * time.Second), Seconds: 1},
		{Name: "build", StartedAt: began.Add(3 * time.Second), Seconds: 7},
		{Name: "agents", StartedAt: began.Add(10 * time.Second), Seconds: 15.5},
		{Name: "cleanup", StartedAt: began.Add(25500 * time.Millisecond), Seconds: 4.5},
	}
	if diff := cmp.Diff(want, line.Stages(began.Add(time.Hour))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := line.CoderVersion(); got != "v2.36.1" {
		t.Errorf("Coder %q", got)
	}
	if empty := new(report.Timeline); empty.Stages(began) != nil || empty.CoderVersion() != "" {
		t.Error("something is known of a test that nobody told of")
	}
}
