package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// confirmCreate finds out by reads alone whether a create whose answer is missing
// took effect (5.4).
func confirmCreate(s *step) *Decision {
	if !s.Record.Status.HasMarker() || s.Record.Status.WorkspaceID != uuid.Nil {
		return nil
	}
	return s.runningFound(s.confirm())
}

// finding is what the confirming reads came to.
type finding struct {
	kind foundKind
	// need is set for foundNothingYet.
	need Read
	// failure is set for foundFailure.
	failure *core.Failure
	// workspace and start are set for foundOurs.
	workspace core.Workspace
	start     core.Build
	// message and after are set for foundUnsettled.
	message string
	after   time.Duration
}

type foundKind int

const (
	// foundNothingYet asks for one more read.
	foundNothingYet foundKind = iota
	// foundFailure: a read failed.
	foundFailure
	// foundOurs: a live workspace that the test made.
	foundOurs
	// foundOursDeleted: the test made it, and it is deleted.
	foundOursDeleted
	// foundForeign: a live workspace of our name that the test cannot prove to have
	// made.
	foundForeign
	// foundForeignRefused: the same, and Coder said that it refused our create.
	foundForeignRefused
	// foundRefused: nothing, and Coder said that it refused our create.
	foundRefused
	// foundUnsettled: nothing, but that is no proof yet.
	foundUnsettled
	// foundAbsent: nothing, and this is proof.
	foundAbsent
)

// runningFound turns a finding into what it means for a test without a verdict.
func (s *step) runningFound(found finding) *Decision {
	name := s.Record.Status.WorkspaceName
	switch found.kind {
	case foundNothingYet:
		return s.ask(found.need)
	case foundFailure:
		return s.waitFor(found.failure)
	case foundOurs:
		return s.adopt(found.workspace, found.start)
	case foundOursDeleted:
		return s.failWith(core.ReasonWorkspaceDeletedExternally, "somebody else deleted the workspace before its agents were ready",
			core.ConditionTrue, core.ReasonDeletedExternally)
	case foundForeign:
		return s.failWith(core.ReasonWorkspaceNameConflict,
			"look at the owner's workspace "+name+": this test cannot prove to have made it, so it stays",
			core.ConditionUnknown, core.ReasonOwnershipUnknown)
	case foundForeignRefused, foundRefused:
		return s.refused(found.kind == foundForeignRefused)
	case foundUnsettled:
		return s.wait(core.ReasonConfirmingCreate, found.message, found.after)
	default:
		return s.failWith(core.ReasonCreateOutcomeUnknown,
			"run the test again: the create got no answer, and no workspace came of it",
			core.ConditionTrue, core.ReasonNotCreated)
	}
}

// refused concludes from a refusal whose create is known to have had no effect.
func (s *step) refused(nameTaken bool) *Decision {
	answer := s.status().CreateAnswer
	f := refusedCreate(answer)
	switch answer.Status {
	case 401:
		s.clearMarker()
		return s.wait(core.ReasonOperatorAccessNotReady, "renew the operator's token; "+describe(f), s.Options.InputsPoll)
	case 406:
		s.clearMarker()
		return s.wait(core.ReasonVersionImporting, describe(f), s.Options.InputsPoll)
	case 429:
		s.clearMarker()
		if sent := s.createFailure(); sent != nil {
			f = sent
		}
		return s.wait(core.ReasonCreateRetrying, describe(f), rateLimitDelay(f, s.RateLimit))
	case 409:
		if nameTaken {
			return s.failWith(core.ReasonWorkspaceNameConflict,
				"remove or rename the owner's workspace "+s.Record.Status.WorkspaceName+", which this test did not make",
				core.ConditionTrue, core.ReasonNotCreated)
		}
	}
	return s.rejected(core.ConditionTrue, core.ReasonNotCreated)
}

// confirm looks for the workspace under our name, then, where that found nothing,
// for what would contradict that.
func (s *step) confirm() finding {
	found := s.lookUp()
	refused := s.next.Status.CreateAnswer != nil
	switch {
	case found.kind == foundRefused && s.next.Status.CreateAnswer.Status == 409:
		// Something had our name when Coder answered, and now nothing has.
		return s.absence()
	case found.kind == foundForeign && refused, found.kind == foundRefused:
		if like := s.lookAlike(); like != nil {
			return *like
		}
		if found.kind == foundForeign {
			return finding{kind: foundForeignRefused}
		}
		return found
	case found.kind == foundAbsent:
		return s.absence()
	default:
		return found
	}
}

// lookUp reads what the owner has under our name: foundRefused or foundAbsent when
// there is nothing.
func (s *step) lookUp() finding {
	st := &s.next.Status
	if !s.Seen.Name.Done {
		return need(ReadName, st.OwnerID)
	}
	if f := s.Seen.Name.Failure; f != nil {
		return finding{kind: foundFailure, failure: f}
	}
	nothing := finding{kind: foundAbsent}
	if st.CreateAnswer != nil {
		nothing.kind = foundRefused
	}
	if s.Seen.Name.Value.Workspace == nil {
		return nothing
	}
	id := s.Seen.Name.Value.Workspace.ID
	// Only the answer by ID tells whether it lives.
	workspace := s.Seen.Workspaces[id]
	if !workspace.Done {
		return need(ReadWorkspace, id)
	}
	if f := workspace.Failure; f != nil {
		return finding{kind: foundFailure, failure: f}
	}
	builds := s.Seen.Builds[id]
	if !builds.Done {
		return need(ReadBuilds, id)
	}
	if f := builds.Failure; f != nil {
		return finding{kind: foundFailure, failure: f}
	}
	start, proven := provenance(workspace.Value, builds.Value, st.Pins, st.CreateAttemptTime)
	switch {
	case proven && workspace.Value.Deleted:
		return finding{kind: foundOursDeleted}
	case proven:
		return finding{kind: foundOurs, workspace: workspace.Value, start: start}
	case workspace.Value.Deleted:
		return nothing
	default:
		return finding{kind: foundForeign}
	}
}

// absence says whether finding nothing is proof: the settle window is over, and
// this caller would see the workspace if there were one.
func (s *step) absence() finding {
	st := &s.next.Status
	age := s.Seen.Deployment.Value.ServerTime.Sub(st.CreateAttemptTime)
	if age <= s.Options.SettleWindow {
		return unsettled(s.Options.RunningPoll, "no workspace yet; an unanswered create can take effect for "+
			s.Options.SettleWindow.String())
	}
	slow := s.Options.CleanupPoll
	switch owner := &s.Seen.Owner; {
	case !owner.Done:
		return need(ReadOwner, st.OwnerID)
	case owner.Failure != nil && owner.Failure.Class == core.FailureNotFound:
		return unsettled(slow, "let the operator user read the owner "+st.OwnerID.String()+": until then finding no workspace proves nothing")
	case owner.Failure != nil:
		return finding{kind: foundFailure, failure: owner.Failure}
	}
	if blind := s.blind(&s.Seen.MayRead, ReadMayRead); blind != nil {
		return *blind
	}
	if like := s.lookAlike(); like != nil {
		return *like
	}
	switch after := &s.Seen.DeploymentAfter; {
	case !after.Done:
		return need(ReadDeploymentAfter, uuid.Nil)
	case after.Failure != nil:
		return finding{kind: foundFailure, failure: after.Failure}
	case after.Value.ID != st.DeploymentID:
		return unsettled(slow, "another Coder deployment answered meanwhile: finding no workspace proves nothing")
	}
	if blind := s.blind(&s.Seen.MayReadAfter, ReadMayReadAfter); blind != nil {
		return *blind
	}
	return finding{kind: foundAbsent}
}

// blind reports what keeps this caller from being sure to see every workspace of the
// owner; nil when it may read them all.
func (s *step) blind(mayRead *Result[bool], ask ReadKind) *finding {
	var found finding
	switch {
	case !mayRead.Done:
		found = need(ask, s.next.Status.OrganizationID)
	case mayRead.Failure != nil:
		found = finding{kind: foundFailure, failure: mayRead.Failure}
	case !mayRead.Value:
		found = unsettled(s.Options.CleanupPoll,
			"let the operator user read all workspaces of the owner: until then finding no workspace proves nothing")
	default:
		return nil
	}
	return &found
}

// lookAlike looks through every live workspace of the owner for one that the test
// may have made, whatever its name; nil when there is none.
func (s *step) lookAlike() *finding {
	st := &s.next.Status
	ask := func(kind ReadKind, id uuid.UUID) *finding {
		f := need(kind, id)
		return &f
	}
	switch owner := &s.Seen.Owner; {
	case !owner.Done:
		return ask(ReadOwner, st.OwnerID)
	case owner.Failure != nil:
		return &finding{kind: foundFailure, failure: owner.Failure}
	}
	switch owned := &s.Seen.Owned; {
	case !owned.Done:
		return ask(ReadOwned, st.OwnerID)
	case owned.Failure != nil:
		return &finding{kind: foundFailure, failure: owned.Failure}
	}
	for _, w := range s.Seen.Owned.Value {
		if core.IsTestWorkspaceName(w.Name) && w.Name != st.WorkspaceName ||
			w.OrganizationID != st.OrganizationID || w.TemplateID != st.TemplateID {
			continue
		}
		claimed, known := s.Seen.Claimed[w.ID]
		if !known {
			return ask(ReadClaimed, w.ID)
		}
		if claimed {
			continue
		}
		builds := s.Seen.Builds[w.ID]
		if !builds.Done {
			return ask(ReadBuilds, w.ID)
		}
		if builds.Failure != nil {
			return &finding{kind: foundFailure, failure: builds.Failure}
		}
		if _, proven := provenance(w, builds.Value, st.Pins, st.CreateAttemptTime); proven {
			like := unsettled(s.Options.CleanupPoll, "look at workspace "+w.ID.String()+
				" of the owner: this test may have made it, under whatever name it has now")
			return &like
		}
	}
	return nil
}

func need(kind ReadKind, id uuid.UUID) finding {
	return finding{kind: foundNothingYet, need: Read{Kind: kind, ID: id}}
}

func unsettled(after time.Duration, message string) finding {
	return finding{kind: foundUnsettled, message: message, after: after}
}
