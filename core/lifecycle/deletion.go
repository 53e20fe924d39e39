package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Backoff between delete builds: from the failed one's completion (6.2).
const (
	deleteBackoffFirst = time.Minute
	deleteBackoffLimit = 30 * time.Minute
)

// deleteAfterPass deletes the workspace of a test whose agents were ready; only a
// delete build that succeeded makes it a pass (5.6).
func deleteAfterPass(s *step) *Decision {
	st := &s.Record.Status
	if st.AgentsReadyTime.IsZero() {
		return nil
	}
	workspace := s.Seen.Workspaces[st.WorkspaceID]
	if !workspace.Done {
		return s.read(ReadWorkspace, st.WorkspaceID)
	}
	if f := workspace.Failure; f != nil {
		return s.waitFor(f)
	}
	w := &workspace.Value
	switch latest := &w.Latest; {
	case latest.Transition != core.TransitionDelete:
		if w.Deleted {
			return s.failWith(core.ReasonWorkspaceDeletedExternally, "the workspace was deleted without a delete build that succeeded",
				core.ConditionTrue, core.ReasonDeletedExternally)
		}
		return s.removeBuild(latest, func(message string) { s.deleting(message) })
	case latest.Job.Status == core.JobSucceeded:
		return s.succeed()
	case latest.Job.Status == core.JobFailed, latest.Job.Status == core.JobCanceled:
		s.countFailedDelete(latest)
		return s.failWith(core.ReasonDeleteBuildFailed, "read the delete build's log: the agents were ready, but deleting the workspace failed",
			core.ConditionFalse, core.ReasonDeleteRetrying)
	case latest.Job.Status.Active():
		s.status().DeleteBuildID = latest.ID
		return s.deleting("the delete build is " + string(latest.Job.Status))
	default:
		return s.deleting("the delete build is in an unknown state")
	}
}

// deleting waits for the delete of a pass.
func (s *step) deleting(message string) *Decision {
	return s.heard(s.wait(core.ReasonDeletingWorkspace, message, s.poll()))
}

// deleteForCleanup is the delete step for a test that is final or being deleted
// (6.2).
func (s *step) deleteForCleanup(w *core.Workspace) *Decision {
	latest := &w.Latest
	isDelete := latest.Transition == core.TransitionDelete
	switch {
	case isDelete && latest.Job.Status.Active():
		s.status().DeleteBuildID = latest.ID
		return s.heard(s.cleaning(core.ReasonDeleting, "the delete build is "+string(latest.Job.Status), s.Options.RunningPoll))
	case isDelete && latest.Job.Status == core.JobSucceeded, w.Deleted:
		return s.gone(core.ReasonDeleted)
	case isDelete && (latest.Job.Status == core.JobFailed || latest.Job.Status == core.JobCanceled):
		return s.retryDelete(latest)
	case isDelete:
		return s.cleaning(core.ReasonDeleting, "the delete build is in an unknown state", s.Options.RunningPoll)
	default:
		return s.removeBuild(latest, func(message string) {
			s.cleaning(core.ReasonCleanupPending, message, s.Options.RunningPoll)
		})
	}
}

// removeBuild gets rid of a start or stop build: an active one is canceled, an
// ended one makes room for the delete build. wait decides what else to write down.
func (s *step) removeBuild(latest *core.Build, wait func(message string)) *Decision {
	what := "the " + string(latest.Transition) + " build"
	switch latest.Job.Status {
	case core.JobPending, core.JobRunning:
		wait("canceling " + what)
		return s.request(&Request{
			Kind: RequestCancel, Workspace: s.Record.Status.WorkspaceID, Build: latest.ID, Expected: latest.Job.Status,
		})
	case core.JobSucceeded, core.JobFailed, core.JobCanceled:
		wait("starting the delete build")
		return s.request(&Request{Kind: RequestDelete, Workspace: s.Record.Status.WorkspaceID})
	case core.JobCanceling:
		wait(what + " is being canceled")
	default:
		wait(what + " is in an unknown state")
	}
	return &s.decided
}

// request adds the request to the wait that was decided, unless that ended in a
// verdict (the deadline): then cleanup sends it.
func (s *step) request(r *Request) *Decision {
	if !s.next.Status.Phase.Final() || s.Record.Status.Phase.Final() {
		r.Evidence = s.Record.Status.Phase == core.PhaseFailed
		s.decided.Request, s.decided.Waits = r, false
	}
	return &s.decided
}

// retryDelete counts the test's own failed delete build once, waits, and then
// starts another one.
func (s *step) retryDelete(failed *core.Build) *Decision {
	if s.countFailedDelete(failed) {
		// The count is stored before any new build.
		return s.cleaning(core.ReasonDeleteRetrying, "", 0)
	}
	backoff := doubling(deleteBackoffFirst, deleteBackoffLimit, s.Record.Status.DeleteAttempts)
	ended := failed.Job.CompletedAt
	if ended.IsZero() {
		ended = failed.Job.UpdatedAt
	}
	// By Coder's clock, which set the times of the build.
	now := s.Seen.Deployment.Value.ServerTime.Add(s.Seen.DeploymentAge)
	if left := ended.Add(backoff).Sub(now); left > 0 {
		return s.cleaning(core.ReasonDeleteRetrying, "", min(left, backoff))
	}
	s.cleaning(core.ReasonDeleteRetrying, "", s.Options.RunningPoll)
	return s.request(&Request{Kind: RequestDelete, Workspace: s.Record.Status.WorkspaceID})
}

// countFailedDelete counts a delete build of this test and forgets it, so that it is
// counted once; it reports whether it was ours.
func (s *step) countFailedDelete(failed *core.Build) bool {
	st := s.status()
	if st.DeleteBuildID == uuid.Nil || st.DeleteBuildID != failed.ID {
		return false
	}
	st.DeleteAttempts++
	st.DeleteBuildID = uuid.Nil
	return true
}

// absorbDelete remembers the delete build. On a conflict that is dropped: the next
// read finds the build.
func (s *step) absorbDelete(answer *Answer) *Decision {
	f := answer.Failure
	switch {
	case f == nil && answer.Build.Transition == core.TransitionDelete && answer.Build.WorkspaceID == answer.Request.Workspace:
		s.status().DeleteBuildID = answer.Build.ID
		if s.settledRecord() {
			return s.cleaning(core.ReasonDeleting, "", s.Options.RunningPoll)
		}
		return s.deleting("the delete build is " + string(answer.Build.Job.Status))
	case f != nil && f.Class == core.FailureConflict:
		return s.lookAgain(s.Options.RunningPoll) // another build is active: read again
	case f == nil:
		f = &core.Failure{Class: core.FailureMismatch, Op: "delete workspace", Message: "Coder named another build"}
	}
	return s.changeFailed(f)
}

// absorbCancel waits for what the cancel comes to.
func (s *step) absorbCancel(answer *Answer) *Decision {
	f := answer.Failure
	switch {
	case f == nil, f.Class == core.FailureRejected, f.Class == core.FailureConflict:
		return s.lookAgain(s.Options.RunningPoll) // canceling, or moved on: read again
	case f.Class == core.FailureForbidden:
		const message = "the template forbids canceling: waiting for the build to end"
		if s.settledRecord() {
			return s.cleaning(core.ReasonCleanupPending, message, s.Options.CleanupPoll)
		}
		return s.deleting(message)
	default:
		return s.changeFailed(f)
	}
}

// changeFailed waits after a cancel or delete that Coder did not take.
func (s *step) changeFailed(f *core.Failure) *Decision {
	if s.settledRecord() {
		return s.unavailable(f)
	}
	return s.waitFor(f)
}
