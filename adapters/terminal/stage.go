package terminal

import "github.com/assay-dev/assay/core"

// current says what the test waits for or does now.
func current(r *core.Record, s core.Stage) (core.Reason, string) {
	if s == core.StageCleanup || s == core.StageDone && r.Status.Phase != core.PhaseSucceeded {
		deleted := r.Status.Condition(core.ConditionWorkspaceDeleted)
		return deleted.Reason, deleted.Message
	}
	return r.Status.Reason, r.Status.Message
}
