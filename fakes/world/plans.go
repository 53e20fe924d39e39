package world

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// The reaper's patience (source).
const (
	// ReapPending is how long a job may wait for a provisioner.
	ReapPending = 30 * time.Minute
	// ReapHung is how long a running job may be silent.
	ReapHung = 5 * time.Minute
)

// BuildPlan says how a build will go. The zero plan succeeds at once, without agents.
type BuildPlan struct {
	// Queue is how long it takes until a provisioner picks the job up.
	Queue time.Duration
	// Run is how long the provisioner then works on it.
	Run     time.Duration
	Outcome Outcome
	// Error is the job's error, such as "terraform apply: exit status 1", which is also
	// its default; ErrorCode is Coder's code, usually none. Both for Fails.
	Error     string
	ErrorCode string
	// Log is what the provisioner prints, one line a log entry.
	Log string
	// Cancel is how long the job goes on after somebody canceled it while it ran, and
	// CanceledAs what it then ends as.
	Cancel     time.Duration
	CanceledAs CancelOutcome
	// Agents are the agents of the resources that a start build makes.
	Agents []AgentPlan
	// NoProvisioners tells that no provisioner daemon matches the job's tags.
	NoProvisioners bool
	// Tags are the provisioner tags that the job wants, beside Coder's own.
	Tags map[string]string
}

// Outcome is how a build ends.
type Outcome int

// The outcomes of a build.
const (
	Succeeds Outcome = iota
	Fails
	// Hangs: the provisioner falls silent; the reaper ends the job after ReapHung.
	Hangs
	// RunsForever: the provisioner goes on printing, so that nobody ends the job.
	RunsForever
	// NeverPickedUp: no provisioner takes the job; the reaper ends it after
	// ReapPending.
	NeverPickedUp
)

// CancelOutcome is what a job that was canceled while it ran ends as.
type CancelOutcome int

// The outcomes of a cancel.
const (
	CancelsCleanly CancelOutcome = iota
	// CancelFails: the job ends as failed, as Terraform's often do (seen).
	CancelFails
	// CancelHangs: the job stays canceling until the reaper ends it after ReapHung.
	CancelHangs
)

// AgentPlan says how an agent will go. Its times count from the end of its build.
type AgentPlan struct {
	Name string
	// ConnectionTimeout is when an agent that did not connect has the status
	// "timeout"; 0 for never. Coder's default is 2 minutes.
	ConnectionTimeout time.Duration
	Steps             []AgentStep
	// Scripts are the logs of its scripts by their display names; there from the
	// moment the agent first connects.
	Scripts []ScriptLog
	// Appears is when a sub-agent is made; 0 for the others.
	Appears time.Duration
	// SubAgents are agents that this one makes, such as a devcontainer's.
	SubAgents []AgentPlan
}

// AgentStep is one change of an agent, once After has passed since its build ended.
type AgentStep struct {
	After time.Duration
	// Status and Lifecycle are what changes; empty for what stays.
	Status    core.AgentStatus
	Lifecycle core.AgentLifecycle
}

// ScriptLog is the log of one script of an agent.
type ScriptLog struct {
	DisplayName string
	Text        string
}

// ReadyAgent is an agent that connects and then has its startup script succeed.
func ReadyAgent(name string, connects, script time.Duration) AgentPlan {
	return scriptedAgent(name, connects, script, core.AgentReady)
}

// FailingAgent is an agent that connects and then has its startup script fail.
func FailingAgent(name string, connects, script time.Duration) AgentPlan {
	return scriptedAgent(name, connects, script, core.AgentStartError)
}

// AbsentAgent is an agent that never connects.
func AbsentAgent(name string, connectionTimeout time.Duration) AgentPlan {
	return AgentPlan{Name: name, ConnectionTimeout: connectionTimeout}
}

func scriptedAgent(name string, connects, script time.Duration, ends core.AgentLifecycle) AgentPlan {
	return AgentPlan{Name: name, Steps: []AgentStep{
		{After: connects, Status: core.AgentConnected, Lifecycle: core.AgentStarting},
		{After: connects + script, Lifecycle: ends},
	}}
}

// planKey is where plans of a single workspace are kept.
type planKey struct {
	name       string
	transition core.Transition
}

// PlanBuilds sets how the builds of the transition go for workspaces of this name (as
// written), whatever their versions plan: the first plan for the first such build of
// each workspace, and so on, the last one for all that follow.
func (w *World) PlanBuilds(workspace string, transition core.Transition, plans ...BuildPlan) {
	w.lock()
	defer w.unlock()
	w.planned[planKey{workspace, transition}] = plans
}

// planFor picks the plan of a build that is about to be made.
func (w *World) planFor(ws *workspace, v *version, transition core.Transition, parameters []ParameterValue) BuildPlan {
	attempt := 0
	for _, b := range ws.builds {
		if b.transition == transition {
			attempt++
		}
	}
	plans := w.planned[planKey{ws.name, transition}]
	for _, value := range parameters {
		if len(plans) == 0 && transition == core.TransitionStart {
			plans = v.startWith[value]
		}
	}
	if len(plans) == 0 {
		plans = v.plans[transition]
	}
	if len(plans) == 0 {
		return BuildPlan{}
	}
	return plans[min(attempt, len(plans)-1)]
}
