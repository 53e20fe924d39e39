package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// running writes the phase, reason and conditions of a test that has no verdict
// yet. The phase follows from whether a create request may have been sent.
func (s *step) running(reason core.Reason, message string) {
	st := s.status()
	st.Phase = core.PhasePending
	if st.MayHaveWorkspace() {
		st.Phase = core.PhaseRunning
	}
	s.explain(reason, message)
	s.condition(core.ConditionReady, core.ConditionFalse, reason)
	s.condition(core.ConditionReconciling, core.ConditionTrue, reason)
	s.condition(core.ConditionStalled, core.ConditionFalse, reason)
}

// wait keeps the test running for a reason, unless its deadline has passed by now
// (4.10).
func (s *step) wait(reason core.Reason, message string, after time.Duration) *Decision {
	s.running(reason, message)
	if !s.Now.Before(s.deadline()) {
		return s.deadlineExceeded(reason, message)
	}
	d := s.lookAgain(after)
	d.Waits = true
	return d
}

// fail records a verdict. What it means for the workspace follows from what was
// sent, unless the rule says more with failWith.
func (s *step) fail(reason core.Reason, message string) *Decision {
	switch st := s.status(); {
	case st.WorkspaceID != uuid.Nil:
		return s.failWith(reason, message, core.ConditionFalse, core.ReasonCleanupPending)
	case st.HasMarker():
		return s.failWith(reason, message, core.ConditionUnknown, core.ReasonCreateOutcomeUnknown)
	default:
		return s.failWith(reason, message, core.ConditionTrue, core.ReasonNotCreated)
	}
}

// failWith records a verdict and what is known about the workspace.
func (s *step) failWith(reason core.Reason, message string, deleted core.ConditionStatus, why core.Reason) *Decision {
	s.finish(core.PhaseFailed, reason, message)
	s.condition(core.ConditionReady, core.ConditionFalse, reason)
	s.condition(core.ConditionReconciling, core.ConditionFalse, reason)
	s.condition(core.ConditionStalled, core.ConditionTrue, reason)
	s.workspaceDeleted(deleted, why, "")
	return s.lookAgain(0)
}

// succeed records the pass: a delete build succeeded.
func (s *step) succeed() *Decision {
	const message = "every agent was connected and ready, and the workspace is deleted"
	s.finish(core.PhaseSucceeded, core.ReasonSucceeded, message)
	s.condition(core.ConditionReady, core.ConditionTrue, core.ReasonSucceeded)
	s.condition(core.ConditionReconciling, core.ConditionFalse, core.ReasonSucceeded)
	s.condition(core.ConditionStalled, core.ConditionFalse, core.ReasonSucceeded)
	s.workspaceDeleted(core.ConditionTrue, core.ReasonDeleted, "")
	return s.lookAgain(0)
}

func (s *step) finish(phase core.Phase, reason core.Reason, message string) {
	st := s.status()
	if st.LastWaitReason == "" {
		st.LastWaitReason = s.Record.Status.Reason
	}
	st.Phase = phase
	st.CompletionTime = s.Now.UTC().Truncate(time.Second)
	s.explain(reason, message)
	st.OutcomeClass = outcomeClass(st)
}

func (s *step) explain(reason core.Reason, message string) {
	st := s.status()
	st.Reason, st.Message = reason, clip(message)
}

// condition writes one condition with the message of the status.
func (s *step) condition(t core.ConditionType, status core.ConditionStatus, reason core.Reason) {
	s.setCondition(core.Condition{
		Type: t, Status: status, Reason: reason, Message: s.status().Message, ObservedGeneration: s.next.Generation,
	})
}

// workspaceDeleted writes that condition; an empty message is replaced by what the
// reason means.
func (s *step) workspaceDeleted(status core.ConditionStatus, reason core.Reason, message string) {
	if message == "" {
		message = deletedMessages[reason]
	}
	s.setCondition(core.Condition{
		Type: core.ConditionWorkspaceDeleted, Status: status, Reason: reason,
		Message: clip(message), ObservedGeneration: s.next.Generation,
	})
}

// setCondition leaves a condition alone that says c already, as it mostly does while a
// test waits.
func (s *step) setCondition(c core.Condition) {
	c.LastTransitionTime = s.status().Condition(c.Type).LastTransitionTime
	if c != s.status().Condition(c.Type) {
		s.status().SetCondition(s.Now, c)
	}
}
