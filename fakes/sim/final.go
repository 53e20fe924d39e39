package sim

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// finalIsFinal (I4): a verdict never changes, and neither does the phase of a test that
// was asked to go. It compares each stored record with the one before: after a verdict
// only what is known about the workspace may differ. A condition that said that no
// workspace can exist is taken back only by a workspace that turned up.
func finalIsFinal(h *History) []Violation {
	var f findings
	for i := range h.Stored {
		s := &h.Stored[i]
		if s.Before == nil || s.After == nil {
			continue
		}
		before, after := &s.Before.Status, &s.After.Status
		switch {
		case before.Phase.Final() && verdict(before) != verdict(after):
			f.add(s.Test, "at %s the verdict changed from %v to %v", clockTime(s.At), verdict(before), verdict(after))
		case s.Before.DeletionRequested() && before.Phase != after.Phase:
			f.add(s.Test, "at %s the phase of a test that was asked to go changed to %s", clockTime(s.At), after.Phase)
		}
		was, is := before.Condition(core.ConditionWorkspaceDeleted), after.Condition(core.ConditionWorkspaceDeleted)
		if was.Status == core.ConditionTrue && is.Status != core.ConditionTrue && (after.WorkspaceID == before.WorkspaceID || after.WorkspaceID == uuid.Nil) {
			f.add(s.Test, "at %s WorkspaceDeleted went from True/%s to %s/%s without a workspace", clockTime(s.At), was.Reason, is.Status, is.Reason)
		}
	}
	return f
}

// result is what of a record is the verdict.
type result struct {
	phase            core.Phase
	reason           core.Reason
	message          string
	completed        int64
	class            core.OutcomeClass
	lastWait         core.Reason
	errorCode        string
	ready            core.ConditionStatus
	reconciling      core.ConditionStatus
	stalled          core.ConditionStatus
	agentsReady, ran bool
}

func verdict(st *core.Status) result {
	return result{
		phase: st.Phase, reason: st.Reason, message: st.Message, completed: st.CompletionTime.Unix(), class: st.OutcomeClass,
		lastWait: st.LastWaitReason, errorCode: st.ErrorCode, ready: st.Condition(core.ConditionReady).Status,
		reconciling: st.Condition(core.ConditionReconciling).Status, stalled: st.Condition(core.ConditionStalled).Status,
		agentsReady: !st.AgentsReadyTime.IsZero(), ran: st.StartBuildRan,
	}
}

// successIsDeleted (I5): Succeeded implies a succeeded delete build. It looks at the
// deployment at the moment when the verdict is stored.
func successIsDeleted(h *History) []Violation {
	var f findings
	for i := range h.Stored {
		s := &h.Stored[i]
		if s.After == nil || s.After.Status.Phase != core.PhaseSucceeded || s.Before != nil && s.Before.Status.Phase == core.PhaseSucceeded {
			continue
		}
		if !s.Passed {
			f.add(s.Test, "at %s the test passed, and no delete build of its workspace has succeeded", clockTime(s.At))
		}
	}
	return f
}
