package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// noted delete builds are those whose ID the record holds.
func deleteNoted(in *Input) { in.Record.Status.DeleteBuildID = deleteID }

func attempts(n int) edit { return func(in *Input) { in.Record.Status.DeleteAttempts = n } }

func TestDeleteAfterPass(t *testing.T) {
	sees := func(transition core.Transition, status core.JobStatus) edit {
		return seeWorkspace(latest(build(transition, status)))
	}
	const (
		deleting = "Running DeletingWorkspace workspace"
		failed   = "Failed DeleteBuildFailed Inconclusive False/DeleteRetrying workspace after 0s"
	)
	counted := func(want int) func(*testing.T, Decision) {
		return func(t *testing.T, d Decision) {
			st := &d.Record.Status
			if st.DeleteAttempts != want || st.DeleteBuildID != uuid.Nil {
				t.Errorf("%d attempts counted, noted build %s", st.DeleteAttempts, st.DeleteBuildID)
			}
		}
	}
	decide(t, ready, []row{
		{why: "the workspace is read", want: "read workspace"},
		{
			why: "404 is a wait, never proof", want: "Running CoderUnavailable workspace after 5s",
			given: []edit{func(in *Input) { in.Seen.Workspaces = with(nil, workspaceID, failing[core.Workspace](notFound)) }},
		},
		{why: "the start build has ended: one delete build", given: []edit{sees(core.TransitionStart, core.JobSucceeded)}, want: deleting + " > delete"},
		{
			why: "agents are not read again", given: []edit{seeWorkspace(latest(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentConnected, core.AgentStartError)))},
			want: deleting + " > delete",
		},
		{why: "somebody stops it meanwhile: that is canceled", given: []edit{sees(core.TransitionStop, core.JobRunning)}, want: deleting + " > cancel"},
		{why: "a cancel is waited for", given: []edit{sees(core.TransitionStop, core.JobCanceling)}, want: deleting + " after 5s", says: "the stop build is being canceled"},
		{why: "a delete build that runs is waited for, whoever started it", given: []edit{sees(core.TransitionDelete, core.JobRunning)}, want: deleting + " after 5s", check: func(t *testing.T, d Decision) {
			if d.Record.Status.DeleteBuildID != deleteID {
				t.Error("its ID is remembered")
			}
		}},
		{why: "one that is being canceled too", given: []edit{sees(core.TransitionDelete, core.JobCanceling)}, want: deleting + " after 5s"},
		{
			why: "one in an unknown state too", given: []edit{sees(core.TransitionDelete, "paused")}, want: deleting + " after 5s", says: "unknown state",
			check: func(t *testing.T, d Decision) {
				if d.Record.Status.DeleteBuildID != uuid.Nil {
					t.Error("it is remembered as one that runs")
				}
			},
		},
		{
			why: "a delete build that succeeded is the pass", given: []edit{sees(core.TransitionDelete, core.JobSucceeded)}, want: "Succeeded Succeeded Passed True/Deleted workspace after 0s",
			check: func(t *testing.T, d Decision) {
				if c := d.Record.Status.Condition(core.ConditionReady); c.Status != core.ConditionTrue || c.Reason != core.ReasonSucceeded {
					t.Errorf("condition %+v", c)
				}
			},
		},
		{why: "even one seen after the deadline? The deadline comes first", given: []edit{sees(core.TransitionDelete, core.JobSucceeded), now(time.Hour)}, want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s"},
		{why: "ours failed: the test fails, cleanup retries", given: []edit{sees(core.TransitionDelete, core.JobFailed), deleteNoted}, want: failed, check: counted(1)},
		{why: "one that nobody remembers failed: ours, lost in a crash, or somebody else's", given: []edit{sees(core.TransitionDelete, core.JobFailed)}, want: failed, check: counted(0)},
		{why: "a canceled one is no better", given: []edit{sees(core.TransitionDelete, core.JobCanceled), deleteNoted}, want: failed, check: counted(1)},
		{
			why: "410 without a delete build that succeeded is no pass", given: []edit{seeWorkspace(deleted, latest(build(core.TransitionStart, core.JobSucceeded)))},
			want: "Failed WorkspaceDeletedExternally Inconclusive True/DeletedExternally workspace after 0s", says: "without a delete build that succeeded",
		},
		{
			why: "a further delete build on a deleted workspace is waited for", given: []edit{seeWorkspace(deleted, latest(build(core.TransitionDelete, core.JobRunning)))},
			want: deleting + " after 5s",
		},
		{
			why: "then judged", given: []edit{seeWorkspace(deleted, latest(build(core.TransitionDelete, core.JobFailed)))}, want: failed,
		},
		{
			why: "the deadline ends the wait for a delete build, and never cancels it", want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s",
			given: []edit{sees(core.TransitionDelete, core.JobRunning), now(time.Hour)},
		},
	})
}

func TestDeleteStepInCleanup(t *testing.T) {
	sees := func(transition core.Transition, status core.JobStatus) edit {
		return seeWorkspace(latest(build(transition, status)))
	}
	// The delete build ended 20 s after noon.
	const final = "Failed BuildFailed Inconclusive "
	for _, base := range []struct {
		who   string
		given func() Input
		is    string
	}{
		{"a final test", failed, final},
		{"a test being deleted", func() Input {
			in := awaiting()
			deletionRequested(&in)
			workspaceIs(core.ConditionFalse, core.ReasonCleanupPending)(&in)
			return in
		}, "Running WaitingForBuild "},
	} {
		t.Run(base.who, func(t *testing.T) {
			decide(t, base.given, []row{
				{why: "the workspace is read", want: "read workspace"},
				{
					why: "404 is a wait, never proof", want: base.is + "False/ControlPlaneUnavailable workspace after 1m0s",
					given: []edit{func(in *Input) { in.Seen.Workspaces = with(nil, workspaceID, failing[core.Workspace](notFound)) }},
				},
				{why: "deleted", given: []edit{sees(core.TransitionDelete, core.JobSucceeded)}, want: base.is + "True/Deleted workspace after 0s"},
				{why: "410 by ID", given: []edit{seeWorkspace(deleted)}, want: base.is + "True/Deleted workspace after 0s"},
				{why: "410 with a further delete build that runs: waited for", given: []edit{seeWorkspace(deleted, latest(build(core.TransitionDelete, core.JobRunning)))}, want: base.is + "False/Deleting workspace after 5s"},
				{why: "410 with one that failed: it is gone all the same", given: []edit{seeWorkspace(deleted, latest(build(core.TransitionDelete, core.JobFailed)))}, want: base.is + "True/Deleted workspace after 0s"},
				{why: "a delete that is pending is waited for, whoever started it", given: []edit{sees(core.TransitionDelete, core.JobPending)}, want: base.is + "False/Deleting workspace after 5s", check: func(t *testing.T, d Decision) {
					if d.Record.Status.DeleteBuildID != deleteID {
						t.Error("its ID is remembered")
					}
				}},
				{why: "one that runs too", given: []edit{sees(core.TransitionDelete, core.JobRunning)}, want: base.is + "False/Deleting workspace after 5s"},
				{why: "one that is being canceled is not canceled again", given: []edit{sees(core.TransitionDelete, core.JobCanceling)}, want: base.is + "False/Deleting workspace after 5s"},
				{why: "an unknown status is waited on", given: []edit{sees(core.TransitionDelete, "paused")}, want: base.is + "False/Deleting workspace after 5s"},
				{why: "of any build", given: []edit{sees(core.TransitionStart, "paused")}, want: base.is + "False/CleanupPending workspace after 5s"},
				{why: "ours failed: counted once, before any new build", given: []edit{sees(core.TransitionDelete, core.JobFailed), deleteNoted, attempts(1)}, want: base.is + "False/DeleteRetrying workspace after 0s", check: func(t *testing.T, d Decision) {
					if st := &d.Record.Status; st.DeleteAttempts != 2 || st.DeleteBuildID != uuid.Nil {
						t.Errorf("%d attempts, noted %s", st.DeleteAttempts, st.DeleteBuildID)
					}
				}},
				{why: "then a minute of backoff from its completion", given: []edit{sees(core.TransitionDelete, core.JobFailed), attempts(1), now(79 * time.Second)}, want: base.is + "False/DeleteRetrying workspace after 1s", check: func(t *testing.T, d Decision) {
					if d.Record.Status.DeleteAttempts != 1 {
						t.Error("counted twice")
					}
				}},
				{why: "then another delete build", given: []edit{sees(core.TransitionDelete, core.JobFailed), attempts(1), now(80 * time.Second)}, want: base.is + "False/DeleteRetrying workspace > delete"},
				{why: "the backoff doubles", given: []edit{sees(core.TransitionDelete, core.JobFailed), attempts(3), now(80 * time.Second)}, want: base.is + "False/DeleteRetrying workspace after 3m0s"},
				{why: "up to half an hour", given: []edit{sees(core.TransitionDelete, core.JobFailed), attempts(100), now(20 * time.Second)}, want: base.is + "False/DeleteRetrying workspace after 30m0s"},
				{why: "a canceled one is as good as failed", given: []edit{sees(core.TransitionDelete, core.JobCanceled), now(79 * time.Second)}, want: base.is + "False/DeleteRetrying workspace after 1s"},
				{why: "somebody else's that failed: the same wait, not counted", given: []edit{sees(core.TransitionDelete, core.JobFailed), func(in *Input) { in.Record.Status.DeleteBuildID = otherID }, now(79 * time.Second)}, want: base.is + "False/DeleteRetrying workspace after 1s", check: func(t *testing.T, d Decision) {
					if d.Record.Status.DeleteAttempts != 0 {
						t.Error("counted")
					}
				}},
				{
					why: "without a completion its last change counts", want: base.is + "False/DeleteRetrying workspace after 10s",
					given: []edit{now(80 * time.Second), seeWorkspace(latest(build(core.TransitionDelete, core.JobFailed)), func(w *core.Workspace) {
						w.Latest.Job.CompletedAt, w.Latest.Job.UpdatedAt = time.Time{}, after(30*time.Second)
					})},
				},
				{
					why: "with one that does not", want: base.is + "False/DeleteRetrying workspace after 1s",
					given: []edit{now(79 * time.Second), seeWorkspace(latest(build(core.TransitionDelete, core.JobFailed)), func(w *core.Workspace) {
						w.Latest.Job.UpdatedAt = after(30 * time.Second)
					})},
				},
				{
					why: "a build without an ID is nobody's, and not counted", want: base.is + "False/DeleteRetrying workspace after 1s",
					given: []edit{now(79 * time.Second), seeWorkspace(latest(build(core.TransitionDelete, core.JobFailed)), func(w *core.Workspace) { w.Latest.ID = uuid.Nil })},
				},
				{
					why: "the backoff is by Coder's clock, not by ours", want: base.is + "False/DeleteRetrying workspace after 1s",
					given: []edit{sees(core.TransitionDelete, core.JobFailed), now(79 * time.Second), func(in *Input) { in.Now = after(time.Hour) }},
				},
				{
					why: "a remembered answer of Coder's has aged", want: base.is + "False/DeleteRetrying workspace > delete",
					given: []edit{sees(core.TransitionDelete, core.JobFailed), now(50 * time.Second), func(in *Input) { in.Seen.DeploymentAge = 30 * time.Second }},
				},
				{why: "a start build that is pending is canceled, as what it is", given: []edit{sees(core.TransitionStart, core.JobPending)}, want: base.is + "False/CleanupPending workspace > cancel", check: func(t *testing.T, d Decision) {
					if d.Request.Expected != core.JobPending || d.Request.Build != startBuildID {
						t.Errorf("%+v", d.Request)
					}
				}},
				{why: "one that runs too", given: []edit{sees(core.TransitionStart, core.JobRunning)}, want: base.is + "False/CleanupPending workspace > cancel", check: func(t *testing.T, d Decision) {
					if d.Request.Expected != core.JobRunning {
						t.Errorf("%+v", d.Request)
					}
				}},
				{why: "and somebody's stop build", given: []edit{sees(core.TransitionStop, core.JobRunning)}, want: base.is + "False/CleanupPending workspace > cancel"},
				{why: "canceling is waited for", given: []edit{sees(core.TransitionStart, core.JobCanceling)}, want: base.is + "False/CleanupPending workspace after 5s"},
				{why: "a start build that succeeded", given: []edit{sees(core.TransitionStart, core.JobSucceeded)}, want: base.is + "False/CleanupPending workspace > delete"},
				{why: "one that failed", given: []edit{sees(core.TransitionStart, core.JobFailed)}, want: base.is + "False/CleanupPending workspace > delete"},
				{why: "one that was canceled", given: []edit{sees(core.TransitionStart, core.JobCanceled)}, want: base.is + "False/CleanupPending workspace > delete"},
				{why: "a stop build that ended", given: []edit{sees(core.TransitionStop, core.JobSucceeded)}, want: base.is + "False/CleanupPending workspace > delete"},
				{
					why: "a build that claims to be another workspace's does not lead there", given: []edit{seeWorkspace(latest(build(core.TransitionStart, core.JobSucceeded)), func(w *core.Workspace) { w.Latest.WorkspaceID = otherID })},
					want: base.is + "False/CleanupPending workspace > delete",
				},
			})
		})
	}
}

func TestAnswersToCancelAndDelete(t *testing.T) {
	answer := func(kind RequestKind, f *core.Failure, change ...func(*Answer)) edit {
		return func(in *Input) {
			a := &Answer{Request: Request{Kind: kind, Workspace: workspaceID, Build: startBuildID}, Failure: f}
			if f == nil && kind == RequestDelete {
				a.Build = build(core.TransitionDelete, core.JobPending)
			}
			for _, c := range change {
				c(a)
			}
			in.Seen.Answer = a
		}
	}
	remembers := func(want uuid.UUID) func(*testing.T, Decision) {
		return func(t *testing.T, d Decision) {
			if got := d.Record.Status.DeleteBuildID; got != want {
				t.Errorf("delete build %s is remembered, want %s", got, want)
			}
			if d.Fact {
				t.Error("a delete build's ID that meets a conflict is dropped: the next read finds it")
			}
		}
	}
	anotherBuild := func(a *Answer) { a.Build.WorkspaceID = otherID }
	noDelete := func(a *Answer) { a.Build.Transition = core.TransitionStop }
	const final = "Failed BuildFailed Inconclusive "
	decide(t, failed, []row{
		{why: "a delete build begins", given: []edit{answer(RequestDelete, nil)}, want: final + "False/Deleting workspace after 5s", check: remembers(deleteID)},
		{why: "of another workspace? Believed nothing", given: []edit{answer(RequestDelete, nil, anotherBuild)}, want: final + "False/CoderAnswerMismatch workspace after 1m0s", check: remembers(uuid.Nil)},
		{why: "another transition? The same", given: []edit{answer(RequestDelete, nil, noDelete)}, want: final + "False/CoderAnswerMismatch workspace after 1m0s", check: remembers(uuid.Nil)},
		{why: "409: another build is active, read again", given: []edit{answer(RequestDelete, conflict)}, want: final + "False/CleanupPending workspace after 5s"},
		{why: "no answer", given: []edit{answer(RequestDelete, uncertain)}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
		{why: "too many requests", given: []edit{answer(RequestDelete, limited)}, want: final + "False/ControlPlaneUnavailable workspace after 1m30s"},
		{
			why: "a failure is one, whatever came with it", want: final + "False/ControlPlaneUnavailable workspace after 1m0s",
			given: []edit{answer(RequestDelete, uncertain, func(a *Answer) { a.Build = build(core.TransitionDelete, core.JobPending) })}, check: remembers(uuid.Nil),
		},
		{why: "the cancel is under way", given: []edit{answer(RequestCancel, nil)}, want: final + "False/CleanupPending workspace after 5s"},
		{why: "412 or 400: it moved on, read again", given: []edit{answer(RequestCancel, rejected)}, want: final + "False/CleanupPending workspace after 5s"},
		{why: "so does 409", given: []edit{answer(RequestCancel, conflict)}, want: final + "False/CleanupPending workspace after 5s"},
		{why: "403: the template forbids canceling, the build is waited for", given: []edit{answer(RequestCancel, forbidden)}, want: final + "False/CleanupPending workspace after 1m0s", says: "the template forbids canceling"},
		{why: "no answer", given: []edit{answer(RequestCancel, uncertain)}, want: final + "False/ControlPlaneUnavailable workspace after 1m0s"},
	})
	const deleting = "Running DeletingWorkspace workspace after 5s"
	decide(t, ready, []row{
		{why: "after a pass: a delete build begins", given: []edit{answer(RequestDelete, nil)}, want: deleting, check: remembers(deleteID)},
		{why: "after a pass: 409", given: []edit{answer(RequestDelete, conflict)}, want: "Running AgentsReady workspace after 5s"},
		{why: "after a pass: no answer", given: []edit{answer(RequestDelete, uncertain)}, want: "Running CoderUnavailable workspace after 5s"},
		{why: "after a pass: a mismatch", given: []edit{answer(RequestDelete, nil, anotherBuild)}, want: "Running CoderAnswerMismatch workspace after 5s"},
		{why: "after a pass: 403 on a cancel", given: []edit{answer(RequestCancel, forbidden)}, want: deleting, says: "the template forbids canceling"},
		{why: "after a pass: it moved on", given: []edit{answer(RequestCancel, rejected)}, want: "Running AgentsReady workspace after 5s"},
	})
}
