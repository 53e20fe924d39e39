package lifecycle

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// absorbAnswer takes in what Coder answered to the request that this step sent.
func absorbAnswer(s *step) *Decision {
	answer := s.Seen.Answer
	if answer == nil {
		return nil
	}
	switch answer.Request.Kind {
	case RequestCreate:
		return s.absorbCreate(answer)
	case RequestCancel:
		return s.absorbCancel(answer)
	default:
		return s.absorbDelete(answer)
	}
}

// absorbCreate stores the outcome of the create request: a fact, whatever became
// of the record meanwhile (lifecycle section 3 and the table in 5.3).
func (s *step) absorbCreate(answer *Answer) *Decision {
	st := s.status()
	if s.Seen.OwnMarker == nil {
		return s.broken(assertionFailed("a create was answered that this step did not announce"))
	}
	if st.CreateAttemptID != s.Seen.OwnMarker.AttemptID || st.WorkspaceID != uuid.Nil {
		// Somebody else settled this attempt already.
		return s.lookAgain(0)
	}
	d := s.createOutcome(answer)
	if d.Read.Kind != ReadNothing {
		return d
	}
	if cleanupDone(&s.Record) && st.WorkspaceID == uuid.Nil {
		// Only a workspace that turns up after all outranks a cleanup that is done.
		st.Conditions = s.Record.Status.Conditions
		d = s.lookAgain(0)
	}
	d.Fact = true
	return d
}

func (s *step) createOutcome(answer *Answer) *Decision {
	f := answer.Failure
	switch {
	case f == nil && s.created(&answer.Workspace):
		return s.adopt(answer.Workspace, answer.Workspace.Latest)
	case f == nil:
		return s.unconfirmed("Coder accepted the create but named another workspace; looking for ours", nil)
	case f.Class == core.FailureNoEffect:
		s.clearMarker()
		return s.notSent(core.ReasonCreateRetrying, describe(f), s.Options.RunningPoll)
	case refusal(f):
		s.status().CreateAnswer = &core.CreateAnswer{Status: f.Status, Message: clip(f.Message)}
		return s.settleRefusal()
	default:
		return s.unconfirmed("whether the create took effect is being read: "+describe(f), f)
	}
}

// created reports whether the accepted create names what was asked for.
func (s *step) created(w *core.Workspace) bool {
	st := s.status()
	return w.ID != uuid.Nil && w.Latest.ID != uuid.Nil &&
		strings.EqualFold(w.Name, st.WorkspaceName) && w.OwnerID == st.OwnerID &&
		w.Latest.VersionID == st.TemplateVersionID && w.Latest.Transition == core.TransitionStart
}

// refusal reports whether Coder itself answered the create with a 4xx.
func refusal(f *core.Failure) bool {
	switch f.Class {
	case core.FailureUnauthorized, core.FailureNotFound, core.FailureGone, core.FailureConflict, core.FailureImporting,
		core.FailureForbidden, core.FailureRejected, core.FailureRateLimited:
		return true
	default:
		return false
	}
}

// settleRefusal reads what a refused create may have left: the answer speaks for
// one copy of the request, and a proxy can have sent another.
func (s *step) settleRefusal() *Decision {
	found := s.confirm()
	if found.kind == foundNothingYet {
		return s.ask(found.need)
	}
	if found.kind == foundFailure || found.kind == foundUnsettled {
		message, failure := found.message, s.createFailure()
		if found.failure != nil {
			message, failure = describe(found.failure), found.failure
		}
		if s.settledRecord() || !finalRefusal(s.status().CreateAnswer.Status) {
			return s.unconfirmed("Coder refused the create, but it may have taken effect: "+message, failure)
		}
		return s.rejected(core.ConditionUnknown, core.ReasonCreateOutcomeUnknown)
	}
	if s.settledRecord() {
		return s.cleanupFound(found)
	}
	return s.runningFound(found)
}

// createFailure is what this step's own create was answered with; nil when the step
// sent none.
func (s *step) createFailure() *core.Failure {
	if s.Seen.Answer == nil {
		return nil
	}
	return s.Seen.Answer.Failure
}

// finalRefusal reports whether the status code means that another try would be
// refused again.
func finalRefusal(status int) bool {
	switch status {
	case 401, 406, 409, 429:
		return false
	default:
		return true
	}
}

// rejected records that Coder does not take the create.
func (s *step) rejected(deleted core.ConditionStatus, why core.Reason) *Decision {
	answer := s.status().CreateAnswer
	return s.failWith(core.ReasonCreateRejected, "correct what Coder objects to; "+
		describe(refusedCreate(answer)), deleted, why)
}

// refusedCreate is the noted answer as a failure.
func refusedCreate(answer *core.CreateAnswer) *core.Failure {
	return &core.Failure{Class: core.FailureRejected, Op: "create workspace", Status: answer.Status, Message: answer.Message}
}

// settledRecord reports whether the record takes facts about its workspace only:
// it has its verdict, or is being deleted.
func (s *step) settledRecord() bool {
	return s.Record.Status.Phase.Final() || s.Record.DeletionRequested()
}

// unconfirmed keeps the marker: only reads can tell whether the create took effect.
// What a settled record already says about its workspace stays, because nothing new
// is known.
func (s *step) unconfirmed(message string, failure *core.Failure) *Decision {
	after := s.slowed(failure, s.Options.RunningPoll)
	if !s.settledRecord() {
		return s.wait(core.ReasonConfirmingCreate, message, after)
	}
	switch s.status().Condition(core.ConditionWorkspaceDeleted).Reason {
	case "", core.ReasonCreateOutcomeUnknown:
		s.workspaceDeleted(core.ConditionUnknown, core.ReasonCreateOutcomeUnknown, message)
	}
	return s.lookAgain(after)
}

// notSent is for a create that had no effect and whose marker is cleared.
func (s *step) notSent(reason core.Reason, message string, after time.Duration) *Decision {
	if s.settledRecord() {
		s.workspaceDeleted(core.ConditionTrue, core.ReasonNotCreated, "")
		return s.lookAgain(0)
	}
	return s.wait(reason, message, after)
}

// adopt stores the workspace and its start build. A workspace outranks every
// earlier conclusion that there is none.
func (s *step) adopt(w core.Workspace, start core.Build) *Decision {
	st := s.status()
	st.WorkspaceID, st.StartBuildID, st.CreateAnswer = w.ID, start.ID, nil
	if s.settledRecord() {
		if st.Condition(core.ConditionWorkspaceDeleted).Reason != core.ReasonRetained {
			s.workspaceDeleted(core.ConditionFalse, core.ReasonCleanupPending, "")
		}
		return s.lookAgain(0)
	}
	s.running(core.ReasonWaitingForBuild, startBuildIs(start.Job.Status))
	return s.lookAgain(s.Options.RunningPoll)
}
