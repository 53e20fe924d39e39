package world_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// minute is a plan whose every part shows in the times.
var minute = world.VersionSpec{
	Start: []world.BuildPlan{{
		Queue: 10 * time.Second, Run: 20 * time.Second, Log: "one\ntwo\n",
		Agents: []world.AgentPlan{world.ReadyAgent("main", 2*time.Second, 3*time.Second)},
	}},
	Delete: []world.BuildPlan{{Queue: time.Second, Run: 5 * time.Second}},
}

func TestABuildIsPlayedAtItsTimesHoweverLateOneLooks(t *testing.T) {
	s := newStage(minute)
	id := s.create(t, "w").ID
	for _, step := range []struct {
		at     time.Duration
		job    core.JobStatus
		agents int
		status core.AgentStatus
		life   core.AgentLifecycle
	}{
		{0, core.JobPending, 0, "", ""},
		{10 * time.Second, core.JobRunning, 0, "", ""},
		{30 * time.Second, core.JobSucceeded, 1, core.AgentConnecting, core.AgentCreated},
		{32 * time.Second, core.JobSucceeded, 1, core.AgentConnected, core.AgentStarting},
		{time.Hour, core.JobSucceeded, 1, core.AgentConnected, core.AgentReady},
	} {
		s.clock.AdvanceTo(start.Add(step.at))
		b := s.look(t, id).Latest
		if b.Job.Status != step.job || len(b.Agents) != step.agents {
			t.Errorf("at %v: job %s with %d agents, want %s with %d", step.at, b.Job.Status, len(b.Agents), step.job, step.agents)
		}
		if len(b.Agents) == 1 && (b.Agents[0].Status != step.status || b.Agents[0].Lifecycle != step.life) {
			t.Errorf("at %v: agent %s/%s, want %s/%s", step.at, b.Agents[0].Status, b.Agents[0].Lifecycle, step.status, step.life)
		}
	}
	b := s.look(t, id).Latest
	for what, got := range map[string][2]time.Time{
		"started": {b.Job.StartedAt, start.Add(10 * time.Second)}, "completed": {b.Job.CompletedAt, start.Add(30 * time.Second)},
		"agent ready": {b.Agents[0].UpdatedAt, start.Add(35 * time.Second)},
	} {
		if !got[0].Equal(got[1]) {
			t.Errorf("%s at %v, want %v: events keep their own times", what, got[0], got[1])
		}
	}
}

func TestEndsOfBuilds(t *testing.T) {
	for _, c := range []struct {
		why       string
		plan      world.BuildPlan
		after     time.Duration
		cancelAt  time.Duration
		want      core.JobStatus
		errorText string
		code      string
	}{
		{
			why: "fails with Terraform's words", plan: world.BuildPlan{Outcome: world.Fails}, after: time.Second,
			want: core.JobFailed, errorText: "terraform apply: exit status 1",
		},
		{
			why: "fails for want of quota", plan: world.BuildPlan{Outcome: world.Fails, Error: "insufficient quota", ErrorCode: "INSUFFICIENT_QUOTA"},
			after: time.Second, want: core.JobFailed, errorText: "insufficient quota", code: "INSUFFICIENT_QUOTA",
		},
		{why: "hangs, not yet reaped", plan: world.BuildPlan{Outcome: world.Hangs}, after: world.ReapHung - time.Second, want: core.JobRunning},
		{
			why: "hangs, reaped", plan: world.BuildPlan{Outcome: world.Hangs}, after: world.ReapHung, want: core.JobFailed,
			errorText: "Coder: Build has been detected as hung for 5 minutes and has been terminated by the reaper.",
		},
		{why: "nobody takes it", plan: world.BuildPlan{NoProvisioners: true}, after: world.ReapPending - time.Second, want: core.JobPending},
		{
			why: "nobody took it, reaped", plan: world.BuildPlan{Outcome: world.NeverPickedUp}, after: world.ReapPending, want: core.JobFailed,
			errorText: "Coder: Build has been detected as pending for 30 minutes and has been terminated by the reaper.",
		},
		{why: "talks forever", plan: world.BuildPlan{Outcome: world.RunsForever}, after: 10 * time.Hour, want: core.JobRunning},
		{why: "canceled in the queue ends at once", plan: world.BuildPlan{Queue: time.Minute}, after: time.Second, cancelAt: time.Second, want: core.JobCanceled},
		{
			why: "canceled while it runs goes on for some time", plan: world.BuildPlan{Run: time.Minute, Cancel: 10 * time.Second},
			after: 11 * time.Second, cancelAt: 2 * time.Second, want: core.JobCanceling,
		},
		{
			why: "and then ends canceled", plan: world.BuildPlan{Run: time.Minute, Cancel: 10 * time.Second},
			after: 12 * time.Second, cancelAt: 2 * time.Second, want: core.JobCanceled,
		},
		{
			why: "or failed", plan: world.BuildPlan{Run: time.Minute, CanceledAs: world.CancelFails}, after: 3 * time.Second, cancelAt: 2 * time.Second,
			want: core.JobFailed, errorText: "terraform apply: signal: interrupt",
		},
		{
			why: "or not until the reaper comes", plan: world.BuildPlan{Run: time.Minute, CanceledAs: world.CancelHangs},
			after: 4 * time.Minute, cancelAt: 2 * time.Second, want: core.JobCanceling,
		},
	} {
		s := newStage(world.VersionSpec{Start: []world.BuildPlan{c.plan}})
		ws := s.create(t, "w")
		if c.cancelAt > 0 {
			s.clock.AdvanceTo(start.Add(c.cancelAt))
			if err := s.CancelBuild(s.operator, ws.Latest.ID, ""); err != nil {
				t.Errorf("%s: cancel: %v", c.why, err)
			}
		}
		s.clock.AdvanceTo(start.Add(c.after))
		job := s.look(t, ws.ID).Latest.Job
		if job.Status != c.want || job.Error != c.errorText || job.ErrorCode != c.code {
			t.Errorf("%s: %s %q %q, want %s %q %q", c.why, job.Status, job.Error, job.ErrorCode, c.want, c.errorText, c.code)
		}
		if canceled := !job.CanceledAt.IsZero(); canceled != (c.cancelAt > 0) {
			t.Errorf("%s: canceled at %v", c.why, job.CanceledAt)
		}
	}
}

func TestCancelRefusals(t *testing.T) {
	s := newStage(world.VersionSpec{Start: []world.BuildPlan{{Queue: 10 * time.Second, Run: 10 * time.Second, Cancel: 5 * time.Second}}})
	ws := s.create(t, "w")
	cancel := func(expected core.JobStatus) error { return s.CancelBuild(s.operator, ws.Latest.ID, expected) }
	wantKind(t, "a state that nobody may expect", cancel(core.JobCanceling), world.Invalid)
	wantKind(t, "pending is not running", cancel(core.JobRunning), world.Precondition)
	wantKind(t, "somebody else", s.CancelBuild(s.AddUser(world.UserSpec{Username: "other"}).ID, ws.Latest.ID, ""), world.NotFound)
	s.clock.Advance(10 * time.Second)
	wantKind(t, "running is not pending", cancel(core.JobPending), world.Precondition)
	wantKind(t, "running", cancel(core.JobRunning), 0)
	wantKind(t, "twice", cancel(core.JobRunning), world.Invalid)
	s.clock.Advance(5 * time.Second)
	wantKind(t, "ended", cancel(""), world.Invalid)

	forbidden := newStage(world.VersionSpec{})
	guarded := forbidden.AddTemplate(world.TemplateSpec{Organization: forbidden.org.ID, Name: "guarded", ForbidCancel: true})
	forbidden.version = forbidden.AddVersion(world.VersionSpec{Template: guarded.ID, Name: "v1", Start: []world.BuildPlan{{Queue: time.Second, Run: time.Minute}}}).ID
	ws = forbidden.create(t, "w")
	forbidden.clock.Advance(time.Second)
	wantKind(t, "a template that forbids it", forbidden.CancelBuild(forbidden.tester, ws.Latest.ID, core.JobRunning), world.Forbidden)
	wantKind(t, "a site owner may", forbidden.CancelBuild(forbidden.operator, ws.Latest.ID, core.JobRunning), 0)
}

func TestOneBuildAtATimeAndDeletesOfTheDeleted(t *testing.T) {
	s := newStage(minute)
	id := s.create(t, "w").ID
	try := func(transition core.Transition) error {
		_, err := s.CreateBuild(s.operator, id, world.CreateBuild{Transition: transition})
		return err
	}
	wantKind(t, "while one is active", try(core.TransitionDelete), world.Conflict)
	s.clock.Advance(time.Minute)
	wantKind(t, "once it ended", try(core.TransitionDelete), 0)
	wantKind(t, "a second delete", try(core.TransitionDelete), world.Conflict)
	s.clock.Advance(time.Minute)
	_, err := s.Workspace(s.operator, id, false)
	wantKind(t, "read once deleted", err, world.Gone)
	wantKind(t, "start what is deleted", try(core.TransitionStart), world.Conflict)
	wantKind(t, "delete what is deleted", try(core.TransitionDelete), 0)
	s.clock.Advance(time.Minute)
	if ws := s.look(t, id); !ws.Deleted || ws.Latest.Number != 3 {
		t.Errorf("deleted %v, build %d; want true, 3", ws.Deleted, ws.Latest.Number)
	}
	builds, err := s.Builds(s.operator, id)
	if err != nil || len(builds) != 3 || builds[0].Number != 3 {
		t.Errorf("%d builds, error %v; want 3, newest first", len(builds), err)
	}
}

func TestPlansByAttempt(t *testing.T) {
	s := newStage(world.VersionSpec{Delete: []world.BuildPlan{{Outcome: world.Fails}, {Outcome: world.Fails}, {}}})
	ids := s.create(t, "w").ID
	var got []core.JobStatus
	for range 3 {
		s.clock.Advance(time.Second)
		s.build(t, ids, core.TransitionDelete)
		s.clock.Advance(time.Second)
		got = append(got, s.look(t, ids).Latest.Job.Status)
	}
	if diff := cmp.Diff([]core.JobStatus{core.JobFailed, core.JobFailed, core.JobSucceeded}, got); diff != "" {
		t.Errorf("delete builds (-want +got):\n%s", diff)
	}
	if len(s.Live()) != 0 {
		t.Error("the third one deletes the workspace")
	}
}

func TestSessionTokensAreMintedAndRemoved(t *testing.T) {
	s := newStage(world.VersionSpec{Start: []world.BuildPlan{{Queue: time.Second}}, Stop: []world.BuildPlan{{Outcome: world.Fails}}})
	id := s.create(t, "w").ID
	expect := func(why string, want int) {
		t.Helper()
		if got := s.SessionTokens(s.tester); got != want {
			t.Errorf("%s: %d session tokens, want %d", why, got, want)
		}
	}
	expect("in the queue", 0)
	s.clock.Advance(time.Second)
	expect("once the start build runs", 1)
	s.build(t, id, core.TransitionStop)
	s.clock.Advance(time.Second)
	expect("a stop build removes it even if it fails", 0)
	s.build(t, id, core.TransitionStart)
	s.clock.Advance(time.Second)
	expect("a further start build", 1)
	s.build(t, id, core.TransitionDelete)
	s.clock.Advance(time.Second)
	expect("once deleted", 0)
}

func TestTimeToLiveStops(t *testing.T) {
	s := newStage(world.VersionSpec{})
	ws, err := s.CreateWorkspace(s.operator, world.CreateWorkspace{Owner: s.tester, Version: s.version, Name: "w", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(2 * time.Hour)
	b := s.look(t, ws.ID).Latest
	if b.Transition != core.TransitionStop || b.Initiator.ID != s.tester || !b.Automatic || !b.CreatedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("latest build is %s by %s at %v, want an automatic stop in the owner's name after an hour", b.Transition, b.Initiator.Username, b.CreatedAt)
	}
	if len(s.Live()) != 1 {
		t.Error("it never deletes")
	}
}
