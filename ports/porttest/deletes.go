package porttest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// running waits for the latest build to run.
func (s stage) running(t *testing.T, id uuid.UUID) core.Workspace {
	t.Helper()
	return s.until(t, id, "the build to run", func(w core.Workspace) bool {
		return w.Latest.Job.Status != core.JobPending
	})
}

func cancelRunning(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, SlowBuild)
	running := s.running(t, made.ID)
	equal(t, "job status", running.Latest.Job.Status, core.JobRunning)
	fine(t, "cancel", s.admin.Runner.CancelBuild(t.Context(), made.Latest.ID, core.JobRunning))
	read, err := s.admin.Runner.Workspace(t.Context(), made.ID)
	fine(t, "read", err)
	if read.Latest.Job.CanceledAt.IsZero() {
		t.Error("the job does not tell that it was canceled")
	}
	job := s.ended(t, made.ID).Latest.Job
	if job.Status != core.JobCanceled && job.Status != core.JobFailed {
		t.Errorf("job ended %s, want canceled or failed", job.Status)
	}
	if job.CanceledAt.IsZero() {
		t.Error("the ended job does not tell that it was canceled")
	}
	equal(t, "reaped", job.Reaped, false)
}

func cancelUnexpectedState(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, SlowBuild)
	s.running(t, made.ID)
	err := s.admin.Runner.CancelBuild(t.Context(), made.Latest.ID, core.JobPending)
	refused(t, "cancel a running build as a pending one", err, core.FailureRejected)
	read, err := s.admin.Runner.Workspace(t.Context(), made.ID)
	fine(t, "read", err)
	equal(t, "job status", read.Latest.Job.Status, core.JobRunning)
	if !read.Latest.Job.CanceledAt.IsZero() {
		t.Error("the job was canceled")
	}
	fine(t, "cancel", s.admin.Runner.CancelBuild(t.Context(), made.Latest.ID, core.JobRunning))
	err = s.admin.Runner.CancelBuild(t.Context(), made.Latest.ID, core.JobRunning)
	refused(t, "cancel what is canceled already", err, core.FailureRejected)
}

func cancelFinished(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	for _, expected := range []core.JobStatus{core.JobRunning, core.JobPending} {
		err := s.admin.Runner.CancelBuild(t.Context(), made.Latest.ID, expected)
		refused(t, "cancel a finished build as "+string(expected), err, core.FailureRejected)
	}
	err := s.admin.Runner.CancelBuild(t.Context(), uuid.New(), core.JobRunning)
	refused(t, "cancel a missing build", err, core.FailureNotFound)
}

func cancelForbidden(t *testing.T, s stage) {
	member := s.member(t)
	made := s.create(t, member.Runner, request(member.User, s.Template(t, UncancelableBuild)))
	equal(t, "job status", s.running(t, made.ID).Latest.Job.Status, core.JobRunning)
	err := member.Runner.CancelBuild(t.Context(), made.Latest.ID, core.JobRunning)
	refused(t, "cancel", err, core.FailureForbidden)
	s.succeeded(t, made.ID)
}

func deleteWorkspace(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	build, err := s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	fine(t, "delete", err)
	equal(t, "transition", build.Transition, core.TransitionDelete)
	equal(t, "workspace", build.WorkspaceID, made.ID)
	equal(t, "number", build.Number, 2)
	equal(t, "initiator", build.InitiatorID, s.admin.User.ID)
	gone := s.succeeded(t, made.ID)
	equal(t, "latest build", gone.Latest.ID, build.ID)
	equal(t, "deleted", gone.Deleted, true)
	equal(t, "name", gone.Name, made.Name)
}

func deleteWhileActive(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, SlowBuild)
	_, err := s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	refused(t, "delete while the start build is active", err, core.FailureConflict)
	latest := s.running(t, made.ID).Latest
	equal(t, "latest build", latest.ID, made.Latest.ID)
	fine(t, "cancel", s.admin.Runner.CancelBuild(t.Context(), latest.ID, latest.Job.Status))
	s.ended(t, made.ID)
	build, err := s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	fine(t, "delete", err)
	_, err = s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	refused(t, "delete while the delete build is active", err, core.FailureConflict)
	equal(t, "latest build", s.succeeded(t, made.ID).Latest.ID, build.ID)
}

func deleteDeleted(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	first := s.deleted(t, made.ID).Latest
	further, err := s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	fine(t, "delete again", err)
	equal(t, "number", further.Number, first.Number+1)
	equal(t, "transition", further.Transition, core.TransitionDelete)
	again := s.succeeded(t, made.ID)
	equal(t, "latest build", again.Latest.ID, further.ID)
	equal(t, "deleted", again.Deleted, true)
}

func deleteByAnotherMember(t *testing.T, s stage) {
	made, other := s.made(t, s.member(t).User, NoAgents), s.member(t)
	s.succeeded(t, made.ID)
	_, err := other.Runner.DeleteWorkspace(t.Context(), made.ID)
	refused(t, "delete", err, core.FailureNotFound)
	_, err = s.admin.Runner.DeleteWorkspace(t.Context(), uuid.New())
	refused(t, "delete a missing workspace", err, core.FailureNotFound)
}

func logsAfterDelete(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NeverConnects)
	agent := onlyAgent(t, s.succeeded(t, made.ID))
	_, err := s.admin.Runner.AgentLogs(t.Context(), agent.ID, logLimit)
	fine(t, "read agent logs before the delete", err)
	s.deleted(t, made.ID)
	_, err = s.admin.Runner.AgentLogs(t.Context(), agent.ID, logLimit)
	refused(t, "read agent logs", err, core.FailureNotFound)
	log, err := s.admin.Runner.BuildLog(t.Context(), made.Latest.ID, logLimit)
	fine(t, "read build log", err)
	if log.Text == "" {
		t.Error("the build log is empty")
	}
}
