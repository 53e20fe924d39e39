package terminal

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// stage is a part of a test that a person waits for.
type stage int

// The stages, in their order. A test skips those that it does not need.
const (
	stageInputs stage = iota
	stageCreate
	stageBuild
	stageAgents
	stageDelete
	stageCleanup
	stageDone
)

var stageNames = [...]string{"inputs", "create", "build", "agents", "delete", "cleanup", "done"}

func (s stage) String() string { return stageNames[s] }

// stageOf tells where the record stands.
func stageOf(r *core.Record) stage {
	st := &r.Status
	switch {
	case finished(r):
		return stageDone
	case st.Phase.Final() || r.DeletionRequested():
		return stageCleanup
	case !st.AgentsReadyTime.IsZero():
		return stageDelete
	case st.WorkspaceID != uuid.Nil && st.Reason == core.ReasonWaitingForAgents:
		return stageAgents
	case st.WorkspaceID != uuid.Nil:
		return stageBuild
	case st.HasMarker():
		return stageCreate
	default:
		return stageInputs
	}
}

// finished reports whether nothing more happens by itself.
func finished(r *core.Record) bool {
	deleted := r.Status.Condition(core.ConditionWorkspaceDeleted)
	if !r.Status.Phase.Final() && !r.DeletionRequested() {
		return false
	}
	return deleted.Status == core.ConditionTrue || deleted.Reason == core.ReasonRetained ||
		deleted.Reason == core.ReasonControlPlaneGone
}

// current says what the test waits for or does now.
func current(r *core.Record, s stage) (core.Reason, string) {
	if s == stageCleanup || s == stageDone && r.Status.Phase != core.PhaseSucceeded {
		deleted := r.Status.Condition(core.ConditionWorkspaceDeleted)
		return deleted.Reason, deleted.Message
	}
	return r.Status.Reason, r.Status.Message
}
