package scenario

import (
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// planParser reads the clauses of a build; agents' times add up from one clause to
// the next.
type planParser struct {
	plan  world.BuildPlan
	agent *world.AgentPlan
	// after is how long after the end of the build the agent's last clause was.
	after time.Duration
}

func parsePlan(st statement) (world.BuildPlan, error) {
	if len(st.words) < 3 || st.words[1] != "build" {
		return world.BuildPlan{}, st.errorf("needs the word build and how it goes")
	}
	var p planParser
	for _, clause := range strings.Split(st.rest(2), ",") {
		if !p.clause(strings.Fields(clause)) {
			return world.BuildPlan{}, st.errorf("cannot read %q", strings.TrimSpace(clause))
		}
	}
	return p.plan, nil
}

func (p *planParser) clause(words []string) bool {
	text := strings.Join(words, " ")
	switch {
	case text == "":
		return false
	case text == "never picked up":
		p.plan.Outcome = world.NeverPickedUp
		return true
	case text == "no provisioner":
		p.plan.NoProvisioners, p.plan.Outcome = true, world.NeverPickedUp
		p.plan.Tags = map[string]string{"pool": "gpu"}
		return true
	case strings.HasPrefix(text, "cancel "):
		return p.cancelClause(words)
	case strings.HasPrefix(text, "agent "), strings.HasPrefix(text, "sub-agent "):
		return p.agentClause(words)
	}
	if step, ok := agentSteps[strings.Join(words[:len(words)-1], " ")]; ok {
		return p.step(step, words[len(words)-1])
	}
	return p.outcomeClause(words)
}

func (p *planParser) outcomeClause(words []string) bool {
	if len(words) > 2 && words[0] == "queued" {
		d, err := time.ParseDuration(words[1])
		if err != nil {
			return false
		}
		p.plan.Queue, words = d, words[2:]
	}
	if len(words) < 2 {
		return false
	}
	d, err := time.ParseDuration(words[0])
	if err != nil {
		return false
	}
	p.plan.Run = d
	switch words[1] {
	case "ok":
	case "fails":
		p.plan.Outcome = world.Fails
		if len(words) == 3 {
			p.plan.ErrorCode = words[2]
		}
	case "hangs":
		p.plan.Outcome = world.Hangs
	case "forever":
		p.plan.Outcome = world.RunsForever
	default:
		return false
	}
	return true
}

func (p *planParser) cancelClause(words []string) bool {
	if len(words) != 3 {
		return false
	}
	d, err := time.ParseDuration(words[2])
	if err != nil {
		return false
	}
	p.plan.Cancel = d
	switch words[1] {
	case "takes":
		p.plan.CanceledAs = world.CancelsCleanly
	case "fails":
		p.plan.CanceledAs = world.CancelFails
	default:
		return false
	}
	return true
}

func (p *planParser) agentClause(words []string) bool {
	d, err := time.ParseDuration(strings.TrimPrefix(words[len(words)-1], "+"))
	if err != nil {
		return false
	}
	agent := world.AgentPlan{Name: "main"}
	switch strings.Join(words[1:len(words)-1], " ") {
	case "connects":
		agent.Steps = []world.AgentStep{{After: d, Status: core.AgentConnected, Lifecycle: core.AgentStarting}}
	case "never connects":
		agent.ConnectionTimeout = d
	default:
		return false
	}
	p.after = d
	if words[0] == "sub-agent" {
		if p.agent == nil {
			return false
		}
		p.agent.SubAgents = append(p.agent.SubAgents, agent)
		return true
	}
	p.plan.Agents = append(p.plan.Agents, agent)
	p.agent = &p.plan.Agents[len(p.plan.Agents)-1]
	return true
}

var agentSteps = map[string]world.AgentStep{
	"script ok":        {Lifecycle: core.AgentReady},
	"script fails":     {Lifecycle: core.AgentStartError},
	"script times out": {Lifecycle: core.AgentStartTimeout},
	"disconnects":      {Status: core.AgentDisconnected},
	"reconnects":       {Status: core.AgentConnected},
	"shuts down":       {Lifecycle: core.AgentShuttingDown},
	"turns off":        {Lifecycle: core.AgentOff},
}

func (p *planParser) step(step world.AgentStep, after string) bool {
	d, err := time.ParseDuration(strings.TrimPrefix(after, "+"))
	if err != nil || p.agent == nil {
		return false
	}
	p.after += d
	step.After = p.after
	p.agent.Steps = append(p.agent.Steps, step)
	return true
}
