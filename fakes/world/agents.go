package world

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Agent is an agent of a build's resources.
type Agent struct {
	ID uuid.UUID
	// Parent is set for a sub-agent.
	Parent            uuid.UUID
	Name              string
	Status            core.AgentStatus
	Lifecycle         core.AgentLifecycle
	ConnectionTimeout time.Duration
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// LogLine is one entry of a log.
type LogLine struct {
	At   time.Time
	Text string
}

// AgentScript is the log of one script of an agent.
type AgentScript struct {
	ID          uuid.UUID
	DisplayName string
	Lines       []LogLine
}

type agent struct {
	id        uuid.UUID
	parent    *agent
	build     *build
	plan      AgentPlan
	status    core.AgentStatus
	lifecycle core.AgentLifecycle
	created   time.Time
	updated   time.Time
	connected bool
	scripts   []AgentScript
}

// addAgents makes agents and plans their steps. Their times count from now, the end of
// the build; those of sub-agents from then as well.
func (w *World) addAgents(b *build, plans []AgentPlan, parent *agent) {
	for _, plan := range plans {
		a := &agent{
			id: w.newID(idAgent), parent: parent, build: b, plan: plan,
			status: core.AgentConnecting, lifecycle: core.AgentCreated,
		}
		if parent == nil {
			w.showAgent(a)
		} else {
			w.in(plan.Appears, w.whileLatest(b, func() { w.showAgent(a) }))
		}
		for _, script := range plan.Scripts {
			a.scripts = append(a.scripts, AgentScript{ID: w.newID(idScript), DisplayName: script.DisplayName})
		}
		for _, step := range plan.Steps {
			w.in(step.After, w.whileLatest(b, func() { w.stepAgent(a, step) }))
		}
		if plan.ConnectionTimeout > 0 {
			w.in(plan.ConnectionTimeout, w.whileLatest(b, func() {
				if !a.connected {
					w.stepAgent(a, AgentStep{Status: core.AgentTimeout})
				}
			}))
		}
		w.addAgents(b, plan.SubAgents, a)
	}
}

func (w *World) showAgent(a *agent) {
	a.created, a.updated = w.stamp(), w.stamp()
	a.build.agents = append(a.build.agents, a)
	w.agentByID[a.id] = a
	w.touch(a.build.workspace)
}

func (w *World) stepAgent(a *agent, step AgentStep) {
	if step.Status != "" {
		a.status = step.Status
	}
	if step.Lifecycle != "" {
		a.lifecycle = step.Lifecycle
	}
	if step.Status == core.AgentConnected && !a.connected {
		a.connected = true
		for i, script := range a.plan.Scripts {
			b := build{}
			b.say(w.stamp(), script.Text)
			a.scripts[i].Lines = b.logs
		}
	}
	a.updated = w.stamp()
	w.touch(a.build.workspace)
}

// whileLatest drops a call once the workspace has a further build.
func (w *World) whileLatest(b *build, call func()) func() {
	return func() {
		if b.workspace.latest() == b && !b.workspace.deleted {
			call()
		}
	}
}

// BuildLog reads a build's log.
func (w *World) BuildLog(actor, buildID uuid.UUID) ([]LogLine, error) {
	w.lock()
	defer w.unlock()
	w.count("read build log")
	b := w.buildByID[buildID]
	if b == nil || w.readableWorkspace(actor, b.workspace.id) == nil {
		return nil, notFound()
	}
	return append([]LogLine(nil), b.logs...), nil
}

// Agent reads an agent: NotFound once its workspace is deleted (seen).
func (w *World) Agent(actor, id uuid.UUID) (Agent, error) {
	w.lock()
	defer w.unlock()
	w.count("read agent")
	a := w.agentByID[id]
	if a == nil || w.readableWorkspace(actor, a.build.workspace.id) == nil {
		return Agent{}, notFound()
	}
	return a.view(), nil
}

// AgentScripts reads the logs of an agent's scripts: NotFound once its workspace is
// deleted (seen).
func (w *World) AgentScripts(actor, id uuid.UUID) ([]AgentScript, error) {
	w.lock()
	defer w.unlock()
	w.count("read agent logs")
	a := w.agentByID[id]
	if a == nil || w.readableWorkspace(actor, a.build.workspace.id) == nil {
		return nil, notFound()
	}
	return append([]AgentScript(nil), a.scripts...), nil
}

func (a *agent) view() Agent {
	view := Agent{
		ID: a.id, Name: a.plan.Name, Status: a.status, Lifecycle: a.lifecycle,
		ConnectionTimeout: a.plan.ConnectionTimeout, CreatedAt: a.created, UpdatedAt: a.updated,
	}
	if a.parent != nil {
		view.Parent = a.parent.id
	}
	return view
}

func (w *World) agentViews(b *build) []Agent {
	views := make([]Agent, 0, len(b.agents))
	for _, a := range b.agents {
		views = append(views, a.view())
	}
	return views
}
