package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// stopOnDeletionRequest turns a deletion request into cleanup (4.2).
func stopOnDeletionRequest(s *step) *Decision {
	if !s.Record.DeletionRequested() {
		return nil
	}
	return s.cleanup()
}

// finish cleans up after a verdict and then lets the record expire (4.5).
func finish(s *step) *Decision {
	if !s.Record.Status.Phase.Final() {
		return nil
	}
	return s.cleanup()
}

// cleanupDone reports whether no workspace can exist, or nobody can tell any more
// because the control plane is gone.
func cleanupDone(r *core.Record) bool {
	c := r.Status.Condition(core.ConditionWorkspaceDeleted)
	return c.Status == core.ConditionTrue || c.Reason == core.ReasonControlPlaneGone
}

// AtRest reports whether only a person or a changed policy can move the test on: it
// is final or being deleted, and its workspace is retained or of unknown owner.
func AtRest(r core.Record) bool {
	switch r.Status.Condition(core.ConditionWorkspaceDeleted).Reason {
	case core.ReasonRetained:
		return true
	case core.ReasonOwnershipUnknown:
		return r.Status.WorkspaceID == uuid.Nil
	default:
		return false
	}
}

// cleanup tries its rules in this order (6.1). They change only what is known about
// the workspace, never the phase.
func (s *step) cleanup() *Decision {
	switch {
	case applies(cleanupRelease(s)): // 0: a cleanup that is done releases the hold
	case applies(cleanupNothingSent(s)): // 1: nothing was ever sent
	case applies(cleanupRetain(s)): // 2: a workspace is retained where both sides want that
	case applies(cleanupPlaneGone(s)): // 3: a control plane that is gone ends the cleanup
	case applies(cleanupOwnershipUnknown(s)): // 4: a workspace of unknown owner stays
	case applies(cleanupConnect(s)): // 5: cleanup needs a connection
	case applies(cleanupUnknownCreate(s)): // 6: a create without an answer is confirmed first
	default: // 7: the workspace is deleted
		return s.cleanupDelete()
	}
	return &s.decided
}

func cleanupRelease(s *step) *Decision {
	if !cleanupDone(&s.Record) {
		return nil
	}
	if s.Record.Held {
		d := s.lookAgain(0)
		d.Hold = HoldRelease
		return d
	}
	return s.expire()
}

func cleanupNothingSent(s *step) *Decision {
	if s.Record.Status.MayHaveWorkspace() {
		return nil
	}
	return s.gone(core.ReasonNotCreated)
}

func cleanupRetain(s *step) *Decision {
	if policy, _ := core.ParseDeletionPolicy(s.Record.DeletionPolicy); policy != core.DeletionPolicyRetain {
		return nil
	}
	plane := &s.Seen.ControlPlane
	switch {
	case !plane.Done:
		return s.read(ReadControlPlane, uuid.Nil)
	case plane.Failure != nil && s.ownershipUnknown():
		return s.stay(nil)
	case plane.Failure != nil:
		return s.cleaning(core.ReasonControlPlaneUnavailable, plane.Failure.Message, s.Options.CleanupPoll)
	case plane.Value.State == core.ControlPlaneGone || !plane.Value.Policy.AllowRetain:
		return nil
	}
	retained := s.Record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonRetained
	if retained && s.Record.DeletionRequested() && s.Record.Held {
		d := s.lookAgain(0)
		d.Hold, d.Live = HoldRelease, true
		return d
	}
	s.workspaceDeleted(core.ConditionFalse, core.ReasonRetained, "")
	d := s.lookAgain(s.Options.CleanupPoll)
	if retained {
		d.Waits, d.Watch = true, uuid.Nil
		d.Done = s.Record.DeletionRequested() && !s.Record.Held
	} else {
		d.After = 0
	}
	return d
}

func cleanupPlaneGone(s *step) *Decision {
	if !s.Seen.ControlPlane.Done {
		return s.read(ReadControlPlane, uuid.Nil)
	}
	if !s.Seen.planeIs(core.ControlPlaneGone) {
		return nil
	}
	s.workspaceDeleted(core.ConditionUnknown, core.ReasonControlPlaneGone, "")
	d := s.lookAgain(0)
	d.Live = true
	return d
}

// cleanupOwnershipUnknown never touches the workspace: it looks again, and only
// proof moves it on.
func cleanupOwnershipUnknown(s *step) *Decision {
	if !s.ownershipUnknown() {
		return nil
	}
	needed, problem := s.connection()
	if needed.Kind != ReadNothing {
		return s.ask(needed)
	}
	if problem != nil {
		return s.stay(problem.failure)
	}
	found := s.confirm()
	if found.kind == foundFailure {
		return s.stay(found.failure)
	}
	return s.cleanupFound(found)
}

// ownershipUnknown reports whether a workspace has our name that the test cannot
// prove to have made.
func (s *step) ownershipUnknown() bool {
	st := &s.Record.Status
	return st.WorkspaceID == uuid.Nil && st.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonOwnershipUnknown
}

// stay leaves everything as it is: nothing new is known, for the failure's reason.
func (s *step) stay(f *core.Failure) *Decision {
	d := s.lookAgain(s.slowed(f, s.Options.CleanupPoll))
	d.Waits = true
	return d
}

func cleanupConnect(s *step) *Decision {
	needed, problem := s.connection()
	switch {
	case needed.Kind != ReadNothing:
		return s.ask(needed)
	case problem == nil:
		return nil
	case problem.failure != nil:
		return s.unavailable(problem.failure)
	default:
		return s.cleaning(core.ReasonControlPlaneUnavailable, problem.message, s.Options.CleanupPoll)
	}
}

func cleanupUnknownCreate(s *step) *Decision {
	if s.Record.Status.WorkspaceID != uuid.Nil {
		return nil
	}
	return s.cleanupFound(s.confirm())
}

// cleanupFound turns a finding into what it means for a test that has its verdict
// or is being deleted.
func (s *step) cleanupFound(found finding) *Decision {
	switch found.kind {
	case foundNothingYet:
		return s.ask(found.need)
	case foundFailure:
		return s.unavailable(found.failure)
	case foundOurs:
		return s.adopt(found.workspace, found.start)
	case foundOursDeleted:
		return s.gone(core.ReasonDeletedExternally)
	case foundForeign:
		s.workspaceDeleted(core.ConditionUnknown, core.ReasonOwnershipUnknown, "")
		d := s.lookAgain(s.Options.CleanupPoll)
		d.Waits = true
		return d
	case foundUnsettled:
		s.workspaceDeleted(core.ConditionUnknown, core.ReasonCreateOutcomeUnknown, s.withPolicyNote(found.message))
		d := s.lookAgain(found.after)
		d.Waits = true
		return d
	default: // refused, or proven absent
		return s.gone(core.ReasonNotCreated)
	}
}

func (s *step) cleanupDelete() *Decision {
	id := s.Record.Status.WorkspaceID
	workspace := s.Seen.Workspaces[id]
	if !workspace.Done {
		return s.read(ReadWorkspace, id)
	}
	if f := workspace.Failure; f != nil {
		return s.unavailable(f)
	}
	return s.deleteForCleanup(&workspace.Value)
}

// gone records that no workspace of this test can exist.
func (s *step) gone(reason core.Reason) *Decision {
	s.workspaceDeleted(core.ConditionTrue, reason, "")
	return s.lookAgain(0)
}

// cleaning records why the workspace is still there. The message says first where
// the deletion policy is not followed.
func (s *step) cleaning(reason core.Reason, message string, after time.Duration) *Decision {
	if message == "" {
		message = deletedMessages[reason]
	}
	s.workspaceDeleted(core.ConditionFalse, reason, s.withPolicyNote(message))
	d := s.lookAgain(after)
	d.Waits = true
	return d
}

// withPolicyNote puts the policy note, if there is one, before the message.
func (s *step) withPolicyNote(message string) string {
	if note := s.policyNote(); note != "" {
		return note + "; " + message
	}
	return message
}

// policyNote says why a deletion policy other than delete is not followed.
func (s *step) policyNote() string {
	policy, known := core.ParseDeletionPolicy(s.Record.DeletionPolicy)
	switch {
	case !known:
		return `write the deletion policy as "retain" or "delete": anything else deletes`
	case policy == core.DeletionPolicyRetain && s.Seen.ControlPlane.Done && s.Seen.ControlPlane.Failure == nil:
		return "the control plane does not allow retain, so the workspace is deleted"
	default:
		return ""
	}
}

// unavailable records that cleanup cannot go on now.
func (s *step) unavailable(f *core.Failure) *Decision {
	switch f.Class {
	case core.FailureMismatch:
		return s.cleaning(core.ReasonCoderAnswerMismatch, describe(f), s.Options.CleanupPoll)
	case core.FailureRateLimited:
		return s.cleaning(core.ReasonControlPlaneUnavailable, describe(f), rateLimitDelay(f, s.RateLimit))
	default:
		return s.cleaning(core.ReasonControlPlaneUnavailable, describe(f), s.Options.CleanupPoll)
	}
}
