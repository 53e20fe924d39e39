package porttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const logLimit = 1 << 20

func buildPasses(t *testing.T, s stage) {
	workspace := s.made(t, s.member(t).User, Passing)
	ready := s.until(t, workspace.ID, "the agent to be ready", func(w core.Workspace) bool {
		return len(w.Latest.Agents) == 1 && w.Latest.Agents[0].Lifecycle == core.AgentReady
	})
	agent := onlyAgent(t, ready)
	equal(t, "agent status", agent.Status, core.AgentConnected)
	equal(t, "agent's parent", agent.ParentID, uuid.Nil)
	equal(t, "build", ready.Latest.ID, workspace.Latest.ID)
	equal(t, "job status", ready.Latest.Job.Status, core.JobSucceeded)
	if ready.Latest.Job.StartedAt.IsZero() || ready.Latest.Job.CompletedAt.IsZero() {
		t.Errorf("job %+v lacks the times of its start and end", ready.Latest.Job)
	}
	s.readsLogs(t, ready.Latest.ID, agent.ID)
}

func (s stage) readsLogs(t *testing.T, build, agent uuid.UUID) {
	t.Helper()
	var logs []core.Log
	s.Settle(t, "the start script's output to be stored", func() bool {
		var err error
		logs, err = s.admin.Runner.AgentLogs(t.Context(), agent, logLimit)
		fine(t, "read agent logs", err)
		return slices.ContainsFunc(logs, func(l core.Log) bool { return strings.Contains(l.Text, StartScriptOutput) })
	})
	for _, log := range logs {
		if log.Source == "" || log.AgentID != agent || log.Truncated {
			t.Errorf("agent log of source %q, agent %v, truncated %v; want a source, agent %v, not truncated",
				log.Source, log.AgentID, log.Truncated, agent)
		}
	}
	whole, err := s.admin.Runner.BuildLog(t.Context(), build, logLimit)
	fine(t, "read build log", err)
	if whole.Source != "build" || whole.Text == "" || whole.Truncated {
		t.Errorf("build log of source %q with %d bytes, truncated %v; want all of a build's", whole.Source, len(whole.Text), whole.Truncated)
	}
	const limit = 16
	tail, err := s.admin.Runner.BuildLog(t.Context(), build, limit)
	fine(t, "read the end of the build log", err)
	if !tail.Truncated || len(tail.Text) > limit || tail.Text == "" || !strings.HasSuffix(whole.Text, tail.Text) {
		t.Errorf("the last %d bytes are %q, truncated %v; want the end of %q", limit, tail.Text, tail.Truncated, whole.Text)
	}
	s.followLog(t, build)
	logs, err = s.admin.Runner.AgentLogs(t.Context(), agent, limit)
	fine(t, "read the ends of the agent logs", err)
	for _, log := range logs {
		if len(log.Text) > limit {
			t.Errorf("agent log of %d bytes, want at most %d", len(log.Text), limit)
		}
	}
}

func startScriptFails(t *testing.T, s stage) {
	workspace := s.until(t, s.made(t, s.member(t).User, StartScriptFails).ID, "the start script to fail", func(w core.Workspace) bool {
		return len(w.Latest.Agents) == 1 && w.Latest.Agents[0].Lifecycle == core.AgentStartError
	})
	equal(t, "agent status", onlyAgent(t, workspace).Status, core.AgentConnected)
	equal(t, "job status", workspace.Latest.Job.Status, core.JobSucceeded)
}

func buildFails(t *testing.T, s stage) {
	workspace := s.ended(t, s.made(t, s.member(t).User, BuildFails).ID)
	job := workspace.Latest.Job
	equal(t, "job status", job.Status, core.JobFailed)
	equal(t, "error code", job.ErrorCode, "")
	equal(t, "reaped", job.Reaped, false)
	if !job.CanceledAt.IsZero() || job.CompletedAt.IsZero() {
		t.Errorf("job canceled at %v and completed at %v, want completed only", job.CanceledAt, job.CompletedAt)
	}
	equal(t, "deleted", workspace.Deleted, false)
}

func buildWithoutAgents(t *testing.T, s stage) {
	workspace := s.succeeded(t, s.made(t, s.member(t).User, NoAgents).ID)
	equal(t, "number of agents", len(workspace.Latest.Agents), 0)
}

func agentNeverConnects(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NeverConnects)
	early := s.succeeded(t, made.ID)
	equal(t, "lifecycle at first", onlyAgent(t, early).Lifecycle, core.AgentCreated)
	s.until(t, made.ID, "Coder to give up on the agent", func(w core.Workspace) bool {
		return onlyAgent(t, w).Status == core.AgentTimeout
	})
}

func noMatchingProvisioner(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, UnmatchedProvisioner),
		core.Parameter{Name: PoolParameter, Value: PoolNobodyServes})
	// It is left behind, canceled: a delete build would wait for the same pool.
	workspace, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
	fine(t, "create", err)
	read, err := s.admin.Runner.Workspace(t.Context(), workspace.ID)
	fine(t, "read workspace", err)
	equal(t, "job status", read.Latest.Job.Status, core.JobPending)
	equal(t, "provisioners", read.Latest.Job.Provisioners, 0)
	if !slices.ContainsFunc(read.Latest.Job.Tags, func(tag string) bool { return strings.Contains(tag, PoolNobodyServes) }) {
		t.Errorf("tags %v do not name the pool %q", read.Latest.Job.Tags, PoolNobodyServes)
	}
	fine(t, "cancel the pending build", s.admin.Runner.CancelBuild(t.Context(), read.Latest.ID, core.JobPending))
	equal(t, "job status", s.ended(t, workspace.ID).Latest.Job.Status, core.JobCanceled)
}

func buildBySomebodyElse(t *testing.T, s stage) {
	member := s.member(t)
	made := s.create(t, member.Runner, request(member.User, s.Template(t, NoAgents)))
	s.succeeded(t, made.ID)
	for i, transition := range []core.Transition{core.TransitionStop, core.TransitionStart} {
		build := s.StartBuild(t, made.ID, transition)
		latest := s.succeeded(t, made.ID).Latest
		equal(t, "latest build", latest.ID, build)
		equal(t, "transition", latest.Transition, transition)
		equal(t, "number", latest.Number, i+2)
		equal(t, "initiator", latest.InitiatorID, s.admin.User.ID)
	}
}

func buildsInOrder(t *testing.T, s stage) {
	member := s.member(t)
	made := s.create(t, member.Runner, request(member.User, s.Template(t, NoAgents)))
	s.succeeded(t, made.ID)
	s.StartBuild(t, made.ID, core.TransitionStop)
	s.succeeded(t, made.ID)
	s.StartBuild(t, made.ID, core.TransitionStart)
	s.succeeded(t, made.ID)
	last := s.deleted(t, made.ID).Latest
	builds, err := member.Runner.Builds(t.Context(), made.ID)
	fine(t, "list builds", err)
	want := []core.Transition{core.TransitionStart, core.TransitionStop, core.TransitionStart, core.TransitionDelete}
	if len(builds) != len(want) {
		t.Fatalf("%d builds, want %d", len(builds), len(want))
	}
	for i, build := range builds {
		equal(t, "number", build.Number, i+1)
		equal(t, "transition", build.Transition, want[i])
		equal(t, "workspace", build.WorkspaceID, made.ID)
	}
	equal(t, "first build", builds[0].ID, made.Latest.ID)
	equal(t, "first initiator", builds[0].InitiatorID, member.User.ID)
	equal(t, "last build", builds[3].ID, last.ID)
	_, err = s.admin.Runner.Builds(t.Context(), uuid.New())
	refused(t, "list builds of a missing workspace", err, core.FailureNotFound)
}

// followLog reads a build's log in two parts.
func (s stage) followLog(t *testing.T, build uuid.UUID) {
	t.Helper()
	follower, ok := s.admin.Runner.(ports.BuildLogFollower)
	if !ok {
		return
	}
	all, err := follower.BuildLogAfter(t.Context(), build, 0)
	fine(t, "read all lines of the build log", err)
	if len(all) < 2 {
		t.Fatalf("the build log has %d lines, want several", len(all))
	}
	middle := all[len(all)/2].ID
	rest, err := follower.BuildLogAfter(t.Context(), build, middle)
	fine(t, "read the lines after one", err)
	if want := len(all) - len(all)/2 - 1; len(rest) != want {
		t.Errorf("%d lines come after line %d of %d, want %d", len(rest), middle, len(all), want)
	}
	for _, line := range rest {
		if line.ID <= middle {
			t.Errorf("line %d is not after %d", line.ID, middle)
		}
	}
}
