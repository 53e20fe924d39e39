package lifecycle

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
)

func TestAwaitBuild(t *testing.T) {
	job := func(change func(*core.Job)) edit {
		return seeWorkspace(func(w *core.Workspace) { change(&w.Latest.Job) })
	}
	const waiting = "Running WaitingForBuild workspace after 5s"
	decide(t, awaiting, []row{
		{why: "the workspace is read", want: "read workspace"},
		{
			why: "404 proves nothing", want: "Running CoderUnavailable workspace after 5s",
			given: []edit{func(in *Input) { in.Seen.Workspaces = with(nil, workspaceID, failing[core.Workspace](notFound)) }},
		},
		{why: "somebody deleted it", given: []edit{seeWorkspace(deleted)}, want: "Failed WorkspaceDeletedExternally Inconclusive True/DeletedExternally workspace after 0s"},
		{
			why: "renames change nothing", want: waiting,
			given: []edit{seeWorkspace(func(w *core.Workspace) { w.Name, w.OwnerID, w.TemplateID = "x", otherID, otherID })},
		},
		{
			why: "somebody else's build is the latest", given: []edit{seeWorkspace(latest(build(core.TransitionStop, core.JobPending)))},
			want: "Failed WorkspaceChangedExternally Inconclusive False/CleanupPending workspace after 0s",
		},
		{why: "pending", given: []edit{seeWorkspace()}, want: waiting, says: "pending", check: func(t *testing.T, d Decision) {
			if d.Record.Status.StartBuildRan {
				t.Error("nobody took the build yet")
			}
			if d.Watch != workspaceID {
				t.Error("its stream should wake the test")
			}
		}},
		{why: "running", given: []edit{job(func(j *core.Job) { j.Status = core.JobRunning })}, want: waiting, check: func(t *testing.T, d Decision) {
			if !d.Record.Status.StartBuildRan {
				t.Error("the build was seen past the queue")
			}
		}},
		{why: "a status that is not known is waited on", given: []edit{job(func(j *core.Job) { j.Status = "paused" })}, want: waiting},
		{
			why: "of a build that ran by then", given: []edit{job(func(j *core.Job) { j.Status, j.StartedAt = "paused", after(15*time.Second) })}, want: waiting,
			check: func(t *testing.T, d Decision) {
				if !d.Record.Status.StartBuildRan {
					t.Error("the build was seen past the queue")
				}
			},
		},
		{
			why: "nobody can take it", given: []edit{job(func(j *core.Job) { j.Provisioners = 0 })},
			want: "Running NoMatchingProvisioner workspace after 5s", says: "start a provisioner with the tags os=linux scope=organization",
		},
		{
			why: "a tag that repeats a parameter's value names the parameter instead",
			given: []edit{job(func(j *core.Job) { j.Provisioners = 0 }), func(in *Input) {
				in.Record.Spec.Parameters = []core.Parameter{{Name: "system", Value: "linux"}}
			}},
			want: "Running NoMatchingProvisioner workspace after 5s", says: "start a provisioner with the tags os=(from parameter system) scope=organization",
		},
		{
			why: "which a parameter without a value is not part of",
			given: []edit{job(func(j *core.Job) { j.Provisioners = 0 }), func(in *Input) {
				in.Record.Spec.Parameters = []core.Parameter{{Name: "system"}}
			}},
			want: "Running NoMatchingProvisioner workspace after 5s", says: "start a provisioner with the tags os=linux scope=organization",
		},
		{why: "Coder does not say how many can", given: []edit{job(func(j *core.Job) { j.Provisioners = -1 })}, want: waiting},
		{
			why: "once it runs somebody took it", want: waiting,
			given: []edit{job(func(j *core.Job) { j.Status, j.Provisioners = core.JobRunning, 0 })},
		},
		{
			why: "failed: the code is told, never the error", want: "Failed BuildFailed TemplateFailed False/CleanupPending workspace after 0s", says: "REQUIRED_TEMPLATE_VARIABLES",
			given: []edit{job(func(j *core.Job) { j.Status, j.ErrorCode = core.JobFailed, "REQUIRED_TEMPLATE_VARIABLES" })},
			check: func(t *testing.T, d Decision) {
				if got := d.Record.Status.ErrorCode; got != "REQUIRED_TEMPLATE_VARIABLES" {
					t.Errorf("error code %q", got)
				}
			},
		},
		{why: "failed without a code", given: []edit{job(func(j *core.Job) { j.Status = core.JobFailed })}, want: "Failed BuildFailed TemplateFailed False/CleanupPending workspace after 0s"},
		{
			why: "the quota speaks about the environment", want: "Failed BuildFailed Inconclusive False/CleanupPending workspace after 0s",
			given: []edit{job(func(j *core.Job) { j.Status, j.ErrorCode = core.JobFailed, "INSUFFICIENT_QUOTA" })},
		},
		{
			why: "so does Coder's reaper", want: "Failed BuildFailed Inconclusive False/CleanupPending workspace after 0s",
			given: []edit{job(func(j *core.Job) { j.Status, j.Reaped = core.JobFailed, true })},
			check: func(t *testing.T, d Decision) {
				if got := d.Record.Status.ErrorCode; got != "REAPED" {
					t.Errorf("error code %q", got)
				}
			},
		},
		{why: "canceling", given: []edit{job(func(j *core.Job) { j.Status = core.JobCanceling })}, want: "Failed BuildCanceled Inconclusive False/CleanupPending workspace after 0s"},
		{why: "canceled", given: []edit{job(func(j *core.Job) { j.Status = core.JobCanceled })}, want: "Failed BuildCanceled Inconclusive False/CleanupPending workspace after 0s"},
		{
			why: "failed after somebody canceled it", want: "Failed BuildCanceled Inconclusive False/CleanupPending workspace after 0s",
			given: []edit{job(func(j *core.Job) { j.Status, j.CanceledAt = core.JobFailed, after(15*time.Second) })},
		},
	})
}

func TestAwaitAgents(t *testing.T) {
	started := build(core.TransitionStart, core.JobSucceeded)
	agents := func(agents ...core.Agent) []edit { return []edit{seeWorkspace(latest(started, agents...))} }
	fine := func(n byte) core.Agent { return agent(n, core.AgentConnected, core.AgentReady) }
	sub := func(a core.Agent) core.Agent {
		a.ParentID = agentID
		return a
	}
	failed := func(reason core.Reason) string {
		return "Failed " + string(reason) + " TemplateFailed False/CleanupPending workspace after 0s"
	}
	const waiting = "Running WaitingForAgents workspace after 5s"
	decide(t, awaiting, []row{
		{why: "a workspace without agents is no test", given: agents(), want: failed(core.ReasonNoAgents)},
		{why: "sub-agents never count", given: agents(sub(fine(2))), want: failed(core.ReasonNoAgents)},
		{why: "created", given: agents(agent(1, core.AgentConnecting, core.AgentCreated)), want: waiting, says: "agent " + id(1).String() + " is connecting, created"},
		{why: "connected, but its scripts run", given: agents(agent(1, core.AgentConnected, core.AgentStarting)), want: waiting},
		{why: "ready, but not connected", given: agents(agent(1, core.AgentDisconnected, core.AgentReady)), want: waiting},
		{why: "one of two", given: agents(fine(1), agent(2, core.AgentConnecting, core.AgentCreated)), want: waiting, says: id(2).String()},
		{why: "states that are not known are waited on", given: agents(agent(1, "odd", "odd")), want: waiting},
		{why: "the script failed", given: agents(agent(1, core.AgentConnected, core.AgentStartError)), want: failed(core.ReasonAgentStartError), says: id(1).String()},
		{why: "the script took too long", given: agents(agent(1, core.AgentConnected, core.AgentStartTimeout)), want: failed(core.ReasonAgentStartTimeout)},
		{why: "shutting down", given: agents(agent(1, core.AgentConnected, core.AgentShuttingDown)), want: failed(core.ReasonAgentStopped)},
		{why: "shutdown failed", given: agents(agent(1, core.AgentConnected, core.AgentShutdownError)), want: failed(core.ReasonAgentStopped)},
		{why: "shutdown took too long", given: agents(agent(1, core.AgentConnected, core.AgentShutdownTimeout)), want: failed(core.ReasonAgentStopped)},
		{why: "off", given: agents(agent(1, core.AgentDisconnected, core.AgentOff)), want: failed(core.ReasonAgentStopped)},
		{why: "never connected", given: agents(agent(1, core.AgentTimeout, core.AgentCreated)), want: failed(core.ReasonAgentConnectionTimeout)},
		{why: "of one agent, what its scripts did comes first", given: agents(agent(1, core.AgentTimeout, core.AgentStartError)), want: failed(core.ReasonAgentStartError)},
		{
			why: "of several, the first that failed", want: failed(core.ReasonAgentConnectionTimeout), says: id(1).String(),
			given: agents(agent(1, core.AgentTimeout, core.AgentCreated), agent(2, core.AgentConnected, core.AgentStartError)),
		},
		{
			why: "a failure wins even behind one that is waited for", want: failed(core.ReasonAgentStartError),
			given: agents(agent(1, core.AgentConnecting, core.AgentCreated), agent(2, core.AgentConnected, core.AgentStartError)),
		},
		{why: "a sub-agent that failed is nobody's failure", given: agents(fine(1), sub(agent(2, core.AgentConnected, core.AgentStartError))), want: "Running AgentsReady workspace continue"},
		{why: "all ready: stored, then deleted in the same step", given: agents(fine(1), fine(2)), want: "Running AgentsReady workspace continue", check: func(t *testing.T, d Decision) {
			if got := d.Record.Status.AgentsReadyTime; !got.Equal(after(11 * time.Second)) {
				t.Errorf("ready at %s", got)
			}
		}},
	})
}
