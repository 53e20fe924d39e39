package core

import (
	"slices"

	"github.com/google/uuid"
)

// Stage is a part of a test that people wait for and measure.
type Stage int

// The stages, in their order. A test skips those that it does not need.
const (
	// StageInputs: what the spec names is looked for.
	StageInputs Stage = iota
	// StageCreate: the create request was or is about to be sent, and nobody knows of a
	// workspace yet.
	StageCreate
	StageBuild
	StageAgents
	// StageDelete: after a pass.
	StageDelete
	// StageCleanup: after a failure, or once the test is asked to go.
	StageCleanup
	// StageDone: nothing more happens by itself.
	StageDone
)

var stageNames = [...]string{"inputs", "create", "build", "agents", "delete", "cleanup", "done"}

// String is the stage's name.
func (s Stage) String() string { return stageNames[s] }

// ParseStage reads a stage's name; false for anything else.
func ParseStage(name string) (Stage, bool) {
	i := slices.Index(stageNames[:], name)
	return Stage(max(i, 0)), i >= 0
}

// Stage tells where the record stands. A wait that is common to several stages, such as
// Coder being unavailable, can tell of an earlier one than the test has reached.
func (r *Record) Stage() Stage {
	st := &r.Status
	switch {
	case r.AtEnd():
		return StageDone
	case st.Phase.Final() || r.DeletionRequested():
		return StageCleanup
	case !st.AgentsReadyTime.IsZero():
		return StageDelete
	case st.WorkspaceID != uuid.Nil && st.Reason == ReasonWaitingForAgents:
		return StageAgents
	case st.WorkspaceID != uuid.Nil:
		return StageBuild
	case st.HasMarker():
		return StageCreate
	default:
		return StageInputs
	}
}

// AtEnd reports whether nothing more happens by itself.
func (r *Record) AtEnd() bool {
	deleted := r.Status.Condition(ConditionWorkspaceDeleted)
	if !r.ended() {
		return false
	}
	return deleted.Status == ConditionTrue || deleted.Reason == ReasonRetained || deleted.Reason == ReasonControlPlaneGone
}

// ended reports whether the run is over.
func (r *Record) ended() bool { return r.Status.Phase.Final() || r.DeletionRequested() }

// MayLeak reports whether a workspace of the test can still exist without anybody having
// asked to retain it.
func (r *Record) MayLeak() bool {
	deleted := r.Status.Condition(ConditionWorkspaceDeleted)
	switch {
	case deleted.Status == ConditionTrue, deleted.Reason == ReasonRetained:
		return false
	case deleted.Reason == ReasonOwnershipUnknown, deleted.Reason == ReasonControlPlaneGone:
		return true
	default:
		return r.Status.MayHaveWorkspace()
	}
}

// LeakRisk reports whether the run ended and a workspace can still exist that nobody
// asked to retain (lifecycle section 8).
func (r *Record) LeakRisk() bool { return r.ended() && r.MayLeak() }
