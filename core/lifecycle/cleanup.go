package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// stopOnDeletionRequest turns a deletion request into cleanup (4.2).
func stopOnDeletionRequest(s *step) (Decision, bool) {
	if !s.Record.DeletionRequested() {
		return Decision{}, false
	}
	return s.cleanup(), true
}

// finish cleans up after a verdict and then lets the record expire (4.5).
func finish(s *step) (Decision, bool) {
	if !s.Record.Status.Phase.Final() {
		return Decision{}, false
	}
	return s.cleanup(), true
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

// cleanupRules are tried in this order (6.1). They change only what is known about
// the workspace, never the phase.
var cleanupRules = []rule{
	{"a cleanup that is done releases the hold", cleanupRelease},            // 0
	{"nothing was ever sent", cleanupNothingSent},                           // 1
	{"a workspace is retained where both sides want that", cleanupRetain},   // 2
	{"a control plane that is gone ends the cleanup", cleanupPlaneGone},     // 3
	{"a workspace of unknown owner stays", cleanupOwnershipUnknown},         // 4
	{"cleanup needs a connection", cleanupConnect},                          // 5
	{"a create without an answer is confirmed first", cleanupUnknownCreate}, // 6
	{"the workspace is deleted", cleanupDelete},                             // 7
}

func (s *step) cleanup() Decision {
	for _, rule := range cleanupRules {
		if d, applies := rule.apply(s); applies {
			return d
		}
	}
	return Decision{Err: assertionFailed("no cleanup rule applies")}
}

func cleanupRelease(s *step) (Decision, bool) {
	if !cleanupDone(&s.Record) {
		return Decision{}, false
	}
	if s.Record.Held {
		d := s.lookAgain(0)
		d.Hold = HoldRelease
		return d, true
	}
	return s.expire(), true
}

func cleanupNothingSent(s *step) (Decision, bool) {
	if s.Record.Status.MayHaveWorkspace() {
		return Decision{}, false
	}
	return s.gone(core.ReasonNotCreated), true
}

func cleanupRetain(s *step) (Decision, bool) {
	if policy, _ := core.ParseDeletionPolicy(s.Record.DeletionPolicy); policy != core.DeletionPolicyRetain {
		return Decision{}, false
	}
	plane := &s.Seen.ControlPlane
	switch {
	case !plane.Done:
		return read(ReadControlPlane, uuid.Nil), true
	case plane.Failure != nil && s.ownershipUnknown():
		return s.stay(nil), true
	case plane.Failure != nil:
		return s.cleaning(core.ReasonControlPlaneUnavailable, plane.Failure.Message, s.Options.CleanupPoll), true
	case plane.Value.State == core.ControlPlaneGone || !plane.Value.Policy.AllowRetain:
		return Decision{}, false
	}
	retained := s.Record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonRetained
	if retained && s.Record.DeletionRequested() && s.Record.Held {
		d := s.lookAgain(0)
		d.Hold, d.Live = HoldRelease, true
		return d, true
	}
	s.workspaceDeleted(core.ConditionFalse, core.ReasonRetained, "")
	d := s.lookAgain(s.Options.CleanupPoll)
	if retained {
		d.Waits, d.Watch = true, uuid.Nil
		d.Done = s.Record.DeletionRequested() && !s.Record.Held
	} else {
		d.After = 0
	}
	return d, true
}

func cleanupPlaneGone(s *step) (Decision, bool) {
	if !s.Seen.ControlPlane.Done {
		return read(ReadControlPlane, uuid.Nil), true
	}
	if !s.Seen.planeGone() {
		return Decision{}, false
	}
	s.workspaceDeleted(core.ConditionUnknown, core.ReasonControlPlaneGone, "")
	d := s.lookAgain(0)
	d.Live = true
	return d, true
}

// cleanupOwnershipUnknown never touches the workspace: it looks again, and only
// proof moves it on.
func cleanupOwnershipUnknown(s *step) (Decision, bool) {
	if !s.ownershipUnknown() {
		return Decision{}, false
	}
	needed, problem := s.connection()
	if needed.Kind != ReadNothing {
		return Decision{Read: needed}, true
	}
	if problem != nil {
		return s.stay(problem.failure), true
	}
	found := s.confirm()
	if found.kind == foundFailure {
		return s.stay(found.failure), true
	}
	return s.cleanupFound(found), true
}

// ownershipUnknown reports whether a workspace has our name that the test cannot
// prove to have made.
func (s *step) ownershipUnknown() bool {
	st := &s.Record.Status
	return st.WorkspaceID == uuid.Nil && st.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonOwnershipUnknown
}

// stay leaves everything as it is: nothing new is known, for the failure's reason.
func (s *step) stay(f *core.Failure) Decision {
	d := s.lookAgain(s.slowed(f, s.Options.CleanupPoll))
	d.Waits = true
	return d
}

func cleanupConnect(s *step) (Decision, bool) {
	needed, problem := s.connection()
	switch {
	case needed.Kind != ReadNothing:
		return Decision{Read: needed}, true
	case problem == nil:
		return Decision{}, false
	case problem.failure != nil:
		return s.unavailable(problem.failure), true
	default:
		return s.cleaning(core.ReasonControlPlaneUnavailable, problem.message, s.Options.CleanupPoll), true
	}
}

func cleanupUnknownCreate(s *step) (Decision, bool) {
	if s.Record.Status.WorkspaceID != uuid.Nil {
		return Decision{}, false
	}
	return s.cleanupFound(s.confirm()), true
}

// cleanupFound turns a finding into what it means for a test that has its verdict
// or is being deleted.
func (s *step) cleanupFound(found finding) Decision {
	switch found.kind {
	case foundNothingYet:
		return Decision{Read: found.need}
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

func cleanupDelete(s *step) (Decision, bool) {
	id := s.Record.Status.WorkspaceID
	workspace := s.Seen.Workspaces[id]
	if !workspace.Done {
		return read(ReadWorkspace, id), true
	}
	if f := workspace.Failure; f != nil {
		return s.unavailable(f), true
	}
	return s.deleteForCleanup(&workspace.Value), true
}

// gone records that no workspace of this test can exist.
func (s *step) gone(reason core.Reason) Decision {
	s.workspaceDeleted(core.ConditionTrue, reason, "")
	return s.lookAgain(0)
}

// cleaning records why the workspace is still there. The message says first where
// the deletion policy is not followed.
func (s *step) cleaning(reason core.Reason, message string, after time.Duration) Decision {
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
func (s *step) unavailable(f *core.Failure) Decision {
	switch f.Class {
	case core.FailureMismatch:
		return s.cleaning(core.ReasonCoderAnswerMismatch, describe(f), s.Options.CleanupPoll)
	case core.FailureRateLimited:
		return s.cleaning(core.ReasonControlPlaneUnavailable, describe(f), rateLimitDelay(f, s.RateLimit))
	default:
		return s.cleaning(core.ReasonControlPlaneUnavailable, describe(f), s.Options.CleanupPoll)
	}
}
