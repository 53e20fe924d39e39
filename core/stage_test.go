package core_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestStageAndLeakRisk(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	deleted := func(status core.ConditionStatus, reason core.Reason) func(*core.Record) {
		return func(r *core.Record) {
			r.Status.SetCondition(now, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: status, Reason: reason})
		}
	}
	phase := func(phase core.Phase, reason core.Reason) func(*core.Record) {
		return func(r *core.Record) { r.Status.Phase, r.Status.Reason = phase, reason }
	}
	marked := func(r *core.Record) { r.Status.CreateAttemptID = uuid.New() }
	made := func(r *core.Record) { marked(r); r.Status.WorkspaceID = uuid.New() }
	ready := func(r *core.Record) { made(r); r.Status.AgentsReadyTime = now }
	asked := func(r *core.Record) { r.DeletionRequestedAt = now }
	for _, row := range []struct {
		why   string
		is    []func(*core.Record)
		stage core.Stage
		leak  bool
	}{
		{"a new test", nil, core.StageInputs, false},
		{"waiting", []func(*core.Record){phase(core.PhasePending, core.ReasonTemplateNotFound)}, core.StageInputs, false},
		{"the marker is set", []func(*core.Record){phase(core.PhaseRunning, core.ReasonCreatingWorkspace), marked}, core.StageCreate, false},
		{"the build runs", []func(*core.Record){phase(core.PhaseRunning, core.ReasonWaitingForBuild), made}, core.StageBuild, false},
		{"agents start", []func(*core.Record){phase(core.PhaseRunning, core.ReasonWaitingForAgents), made}, core.StageAgents, false},
		{"agents are ready", []func(*core.Record){phase(core.PhaseRunning, core.ReasonDeletingWorkspace), ready}, core.StageDelete, false},
		{"passed", []func(*core.Record){phase(core.PhaseSucceeded, core.ReasonSucceeded), ready, deleted(core.ConditionTrue, core.ReasonDeleted)}, core.StageDone, false},
		{"failed, and cleaning up", []func(*core.Record){phase(core.PhaseFailed, core.ReasonBuildFailed), made, deleted(core.ConditionFalse, core.ReasonDeleting)}, core.StageCleanup, true},
		{"failed before anything was sent", []func(*core.Record){phase(core.PhaseFailed, core.ReasonParametersInvalid)}, core.StageCleanup, false},
		{"asked to go while it builds", []func(*core.Record){phase(core.PhaseRunning, core.ReasonWaitingForBuild), made, asked}, core.StageCleanup, true},
		{"retained", []func(*core.Record){phase(core.PhaseFailed, core.ReasonBuildFailed), made, deleted(core.ConditionFalse, core.ReasonRetained)}, core.StageDone, false},
		{"its control plane is gone", []func(*core.Record){phase(core.PhaseFailed, core.ReasonControlPlaneGone), made, deleted(core.ConditionUnknown, core.ReasonControlPlaneGone)}, core.StageDone, true},
		{"nobody knows whose the workspace is", []func(*core.Record){phase(core.PhaseFailed, core.ReasonWorkspaceNameConflict), deleted(core.ConditionUnknown, core.ReasonOwnershipUnknown)}, core.StageCleanup, true},
	} {
		var record core.Record
		for _, change := range row.is {
			change(&record)
		}
		if record.Stage() != row.stage || record.LeakRisk() != row.leak {
			t.Errorf("%s: stage %s, leak risk %v; want %s, %v", row.why, record.Stage(), record.LeakRisk(), row.stage, row.leak)
		}
	}
}
