package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

func TestRateLimitDelay(t *testing.T) {
	for _, row := range []struct {
		why    string
		asked  time.Duration
		count  int
		jitter float64
		want   time.Duration
	}{
		{why: "what Coder asked for", asked: 7 * time.Second, count: 1, jitter: 1, want: 7 * time.Second},
		{why: "even if that is less", asked: time.Second, count: 1, want: time.Second},
		{why: "but no more than two minutes", asked: time.Hour, count: 1, want: 2 * time.Minute},
		{why: "else two seconds", count: 1, want: 2 * time.Second},
		{why: "then four", count: 2, want: 4 * time.Second},
		{why: "then eight", count: 3, want: 8 * time.Second},
		{why: "up to two minutes", count: 50, want: 2 * time.Minute},
		{why: "a fifth more", count: 1, jitter: 1, want: 2400 * time.Millisecond},
		{why: "or less", count: 1, jitter: -1, want: 1600 * time.Millisecond},
		{why: "the cap is a cap, jitter or not", count: 50, jitter: 1, want: 2 * time.Minute},
		{why: "below it there may be jitter", count: 50, jitter: -1, want: 96 * time.Second},
		{why: "the first one is the first, counted or not", count: 0, want: 2 * time.Second},
	} {
		f := &core.Failure{Class: core.FailureRateLimited, RetryAfter: row.asked}
		if got := rateLimitDelay(f, RateLimit{Count: row.count, Jitter: row.jitter}); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

func TestWaitFor(t *testing.T) {
	name := func(f *core.Failure) []edit {
		return []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](f) }}
	}
	counted := func(in *Input) { in.RateLimit = RateLimit{Count: 3} }
	bare := &core.Failure{Class: core.FailureRateLimited, Op: "read", Status: 429}
	decide(t, marked, []row{
		{why: "no answer", given: name(unavailable), want: "Running CoderUnavailable marker after 5s", says: "HTTP 502"},
		{why: "the token", given: name(unauthorized), want: "Running OperatorAccessNotReady marker after 5s", says: "renew the operator's token"},
		{why: "something else was named", given: name(mismatch), want: "Running CoderAnswerMismatch marker after 5s"},
		{why: "too many, and Coder says for how long", given: name(limited), want: "Running CoderUnavailable marker after 1m30s"},
		{why: "too many in a row", given: append(name(bare), counted), want: "Running CoderUnavailable marker after 8s"},
		{why: "rights", given: name(forbidden), want: "Running CoderUnavailable marker after 5s"},
		{why: "absence proves nothing", given: name(notFound), want: "Running CoderUnavailable marker after 5s"},
	})
}

func TestPolls(t *testing.T) {
	custom := func(in *Input) {
		in.Options = Options{RunningPoll: time.Second, InputsPoll: 2 * time.Second, CleanupPoll: 3 * time.Second}.WithDefaults()
	}
	decide(t, connected, []row{{
		why: "inputs are looked at less often than a workspace", want: "Pending TemplateNotFound after 2s",
		given: []edit{custom, func(in *Input) { in.Seen = resolved().Seen; in.Seen.Template = failing[core.Template](notFound) }},
	}})
	decide(t, awaiting, []row{{why: "which is the safety net under its stream", want: "Running WaitingForBuild workspace after 1s", given: []edit{custom, seeWorkspace()}}})
	decide(t, failed, []row{{
		why: "a cleanup that cannot go on looks again later", given: []edit{custom, planeState(core.ControlPlaneUnready)},
		want: "Failed BuildFailed Inconclusive False/ControlPlaneUnavailable workspace after 3s",
	}})
}

func TestOptionsDefaults(t *testing.T) {
	want := Options{
		SettleWindow: 15 * time.Minute, RunningPoll: 5 * time.Second, HeardPoll: 30 * time.Second, InputsPoll: 15 * time.Second, CleanupPoll: time.Minute,
		SendWindow: 30 * time.Second, IdentityMaxAge: time.Minute, SharedMaxAge: 2 * time.Second, WorkspaceTTL: time.Hour, EvidenceTimeout: 10 * time.Second,
		EvidenceLogBytes: 1 << 20,
	}
	if got := (Options{}).WithDefaults(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := want.WithDefaults(); got != want {
		t.Errorf("what is set is kept: %+v", got)
	}
}

func TestOnlyA429SlowsDown(t *testing.T) {
	s := &step{Input: Input{RateLimit: RateLimit{Count: 3}}}
	for _, row := range []struct {
		why     string
		failure *core.Failure
		want    time.Duration
	}{
		{"nothing failed", nil, 5 * time.Second},
		{"something else did", unavailable, 5 * time.Second},
		{"too many requests", &core.Failure{Class: core.FailureRateLimited, Status: 429}, 8 * time.Second},
		{"for less than the wait takes anyway", &core.Failure{Class: core.FailureRateLimited, RetryAfter: time.Second}, 5 * time.Second},
	} {
		if got := s.slowed(row.failure, 5*time.Second); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

func TestWaitsThatAStreamEnds(t *testing.T) {
	heard := func(want time.Duration) func(*testing.T, Decision) {
		return func(t *testing.T, d Decision) {
			if d.Heard != want {
				t.Errorf("heard after %s, want %s", d.Heard, want)
			}
		}
	}
	late := func(in *Input) { in.Now = in.Record.Deadline().Add(-10 * time.Second) }
	const building = "Running WaitingForBuild workspace after 5s"
	decide(t, awaiting, []row{
		{why: "a stream tells of builds", given: []edit{seeWorkspace()}, want: building, check: heard(30 * time.Second)},
		{
			why: "and of agents", given: []edit{seeWorkspace(latest(build(core.TransitionStart, core.JobSucceeded), agent(1, core.AgentConnected, core.AgentStarting)))},
			want: "Running WaitingForAgents workspace after 5s", check: heard(30 * time.Second),
		},
		{why: "no wait is longer than the run", given: []edit{seeWorkspace(), late}, want: building, check: heard(10 * time.Second)},
		{
			why: "the deadline ended it", given: []edit{seeWorkspace(), late, func(in *Input) { in.Began, in.Now = in.Now, in.Record.Deadline() }},
			want: "Failed DeadlineExceeded Inconclusive False/CleanupPending workspace after 0s", check: heard(0),
		},
		{
			why: "that Coder answers again is nothing that it tells", given: []edit{func(in *Input) { in.Seen.Workspaces = with(nil, workspaceID, failing[core.Workspace](unavailable)) }},
			want: "Running CoderUnavailable workspace after 5s", check: heard(0),
		},
		{
			why: "nor that a provisioner appeared", given: []edit{seeWorkspace(func(w *core.Workspace) { w.Latest.Job.Provisioners = 0 })},
			want: "Running NoMatchingProvisioner workspace after 5s", check: heard(0),
		},
	})
	decide(t, ready, []row{{
		why: "the delete of a pass", given: []edit{seeWorkspace(latest(build(core.TransitionDelete, core.JobRunning)))},
		want: "Running DeletingWorkspace workspace after 5s", check: heard(30 * time.Second),
	}})
	decide(t, failed, []row{{
		why: "and that of a failure", given: []edit{seeWorkspace(latest(build(core.TransitionDelete, core.JobRunning)))},
		want: "Failed BuildFailed Inconclusive False/Deleting workspace after 5s", check: heard(30 * time.Second),
	}})
}
