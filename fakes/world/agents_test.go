package world_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func TestAgents(t *testing.T) {
	late := world.ReadyAgent("late", 10*time.Second, 0)
	late.ConnectionTimeout = 5 * time.Second
	flaky := world.ReadyAgent("flaky", time.Second, time.Second)
	flaky.Steps = append(flaky.Steps, world.AgentStep{After: 6 * time.Second, Status: core.AgentDisconnected})
	parent := world.ReadyAgent("parent", time.Second, time.Second)
	child := world.ReadyAgent("child", 4*time.Second, time.Second)
	child.Appears = 3 * time.Second
	parent.SubAgents = []world.AgentPlan{child}
	s := newStage(world.VersionSpec{Start: []world.BuildPlan{{Agents: []world.AgentPlan{
		late, flaky, world.FailingAgent("failing", time.Second, time.Second), parent,
	}}}})
	id := s.create(t, "w").ID
	type state struct {
		status core.AgentStatus
		life   core.AgentLifecycle
	}
	for _, moment := range []struct {
		at   time.Duration
		want map[string]state
	}{
		{2 * time.Second, map[string]state{
			"late": {core.AgentConnecting, core.AgentCreated}, "flaky": {core.AgentConnected, core.AgentReady},
			"failing": {core.AgentConnected, core.AgentStartError}, "parent": {core.AgentConnected, core.AgentReady},
		}},
		{6 * time.Second, map[string]state{
			"late": {core.AgentTimeout, core.AgentCreated}, "flaky": {core.AgentDisconnected, core.AgentReady},
			"failing": {core.AgentConnected, core.AgentStartError}, "parent": {core.AgentConnected, core.AgentReady},
			"child": {core.AgentConnected, core.AgentReady},
		}},
		{10 * time.Second, map[string]state{
			"late": {core.AgentConnected, core.AgentReady}, "flaky": {core.AgentDisconnected, core.AgentReady},
			"failing": {core.AgentConnected, core.AgentStartError}, "parent": {core.AgentConnected, core.AgentReady},
			"child": {core.AgentConnected, core.AgentReady},
		}},
	} {
		s.clock.AdvanceTo(start.Add(moment.at))
		agents := s.look(t, id).Latest.Agents
		if len(agents) != len(moment.want) {
			t.Errorf("at %v: %d agents, want %d", moment.at, len(agents), len(moment.want))
		}
		for _, a := range agents {
			if got := (state{a.Status, a.Lifecycle}); got != moment.want[a.Name] {
				t.Errorf("at %v: agent %s is %v, want %v", moment.at, a.Name, got, moment.want[a.Name])
			}
			if isChild := a.Parent != uuid.Nil; isChild != (a.Name == "child") {
				t.Errorf("agent %s has the parent %v", a.Name, a.Parent)
			}
		}
	}
}

func TestAgentLogsGoWithTheWorkspace(t *testing.T) {
	agent := world.ReadyAgent("main", time.Second, time.Second)
	agent.Scripts = []world.ScriptLog{{DisplayName: "Startup", Text: "hello\nworld\n"}}
	s := newStage(world.VersionSpec{Start: []world.BuildPlan{{Log: "planned\n", Agents: []world.AgentPlan{agent}}}})
	ws := s.create(t, "w")
	s.Settle()
	id := s.look(t, ws.ID).Latest.Agents[0].ID
	lines := func() int {
		scripts, err := s.AgentScripts(s.operator, id)
		if err != nil || len(scripts) != 1 {
			t.Fatalf("scripts %v, error %v", scripts, err)
		}
		return len(scripts[0].Lines)
	}
	if lines() != 0 {
		t.Error("nothing is printed before the agent connects")
	}
	s.clock.Advance(time.Second)
	if lines() != 2 {
		t.Error("the script's lines are there once it has connected")
	}
	s.build(t, ws.ID, core.TransitionDelete)
	s.clock.Advance(time.Second)
	_, err := s.AgentScripts(s.operator, id)
	wantKind(t, "agent logs of a deleted workspace", err, world.NotFound)
	if log, err := s.BuildLog(s.operator, ws.Latest.ID); err != nil || log[len(log)-1].Text != "planned" {
		t.Errorf("build log %v, error %v: it stays", log, err)
	}
}
