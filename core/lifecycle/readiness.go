package lifecycle

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// awaitReadiness watches the start build and then the agents (5.5).
func awaitReadiness(s *step) *Decision {
	id := s.Record.Status.WorkspaceID
	if id == uuid.Nil {
		return nil
	}
	workspace := s.Seen.Workspaces[id]
	if !workspace.Done {
		return s.read(ReadWorkspace, id)
	}
	if f := workspace.Failure; f != nil {
		return s.waitFor(f)
	}
	w := &workspace.Value
	switch {
	case w.Deleted:
		return s.failWith(core.ReasonWorkspaceDeletedExternally, "somebody else deleted the workspace before its agents were ready",
			core.ConditionTrue, core.ReasonDeletedExternally)
	case w.Latest.ID != s.Record.Status.StartBuildID:
		return s.fail(core.ReasonWorkspaceChangedExternally,
			"somebody else started a "+string(w.Latest.Transition)+" build of the workspace")
	}
	if d := s.awaitBuild(&w.Latest); d != nil {
		return d
	}
	return s.awaitAgents(w.Latest.Agents)
}

// awaitBuild judges the start build; it decides nothing once the build succeeded.
func (s *step) awaitBuild(build *core.Build) *Decision {
	job := &build.Job
	st := s.status()
	if !job.StartedAt.IsZero() || job.Status == core.JobRunning {
		st.StartBuildRan = true
	}
	switch job.Status {
	case core.JobSucceeded:
		return nil
	case core.JobFailed:
		if !job.CanceledAt.IsZero() {
			return s.fail(core.ReasonBuildCanceled, "somebody else canceled the start build")
		}
		return s.buildFailed(job)
	case core.JobCanceling, core.JobCanceled:
		return s.fail(core.ReasonBuildCanceled, "somebody else canceled the start build")
	case core.JobPending:
		if job.Provisioners == 0 {
			return s.wait(core.ReasonNoMatchingProvisioner,
				"start a provisioner with the tags "+orElse(s.showTags(job.Tags), "of the template")+": none takes the start build",
				s.poll())
		}
	}
	return s.heard(s.wait(core.ReasonWaitingForBuild, startBuildIs(job.Status), s.poll()))
}

// startBuildIs is the message of the commonest wait; for the states in which a build
// stays for long it costs no allocation.
func startBuildIs(status core.JobStatus) string {
	switch status {
	case core.JobPending:
		return "the start build is pending"
	case core.JobRunning:
		return "the start build is running"
	default:
		return "the start build is " + string(status)
	}
}

// showTags lists tags. A template can take a tag's value from a parameter, whose value
// never enters a message.
func (s *step) showTags(tags []string) string {
	shown := make([]string, len(tags))
	for i, tag := range tags {
		shown[i] = tag
		key, value, _ := strings.Cut(tag, "=")
		for _, p := range s.Record.Spec.Parameters {
			if value != "" && strings.Contains(value, p.Value) && p.Value != "" {
				shown[i] = key + "=(from parameter " + p.Name + ")"
			}
		}
	}
	return strings.Join(shown, " ")
}

func (s *step) buildFailed(job *core.Job) *Decision {
	st := s.status()
	st.ErrorCode = job.ErrorCode
	switch {
	case job.Reaped:
		st.ErrorCode = errorCodeReaped
		return s.fail(core.ReasonBuildFailed, "run the test again: Coder ended the start build because no provisioner answered for it")
	case job.ErrorCode != "":
		return s.fail(core.ReasonBuildFailed, "read the build log: the start build failed with "+job.ErrorCode)
	default:
		return s.fail(core.ReasonBuildFailed, "read the build log: the start build failed")
	}
}

// agentFailures are the agent states that end a test, by lifecycle state.
var agentFailures = map[core.AgentLifecycle]core.Reason{
	core.AgentStartError:      core.ReasonAgentStartError,
	core.AgentStartTimeout:    core.ReasonAgentStartTimeout,
	core.AgentShuttingDown:    core.ReasonAgentStopped,
	core.AgentShutdownError:   core.ReasonAgentStopped,
	core.AgentShutdownTimeout: core.ReasonAgentStopped,
	core.AgentOff:             core.ReasonAgentStopped,
}

var agentFailureMessages = map[core.Reason]string{
	core.ReasonAgentStartError:        "read the startup script's log: it failed on agent ",
	core.ReasonAgentStartTimeout:      "make the startup script faster or its timeout longer: it timed out on agent ",
	core.ReasonAgentStopped:           "find out what stops the agent: it shut down before the test was over: agent ",
	core.ReasonAgentConnectionTimeout: "make sure the agent starts and reaches Coder: it did not connect in time: agent ",
}

// awaitAgents judges the top-level agents of the start build. The first failure
// wins, even behind an agent that is still waited for.
func (s *step) awaitAgents(agents []core.Agent) *Decision {
	topLevel := 0
	var waiting *core.Agent
	for i := range agents {
		agent := &agents[i]
		if agent.ParentID != uuid.Nil {
			continue // a devcontainer's sub-agent never counts
		}
		topLevel++
		reason, failed := agentFailures[agent.Lifecycle]
		if !failed && agent.Status == core.AgentTimeout {
			reason, failed = core.ReasonAgentConnectionTimeout, true
		}
		if failed {
			return s.fail(reason, agentFailureMessages[reason]+agent.ID.String())
		}
		if waiting == nil && (agent.Status != core.AgentConnected || agent.Lifecycle != core.AgentReady) {
			waiting = agent
		}
	}
	switch {
	case topLevel == 0:
		return s.fail(core.ReasonNoAgents, "add a coder_agent to the template: the workspace has no agent to test")
	case waiting != nil:
		return s.heard(s.wait(core.ReasonWaitingForAgents,
			"agent "+waiting.ID.String()+" is "+string(waiting.Status)+", "+string(waiting.Lifecycle), s.poll()))
	}
	s.status().AgentsReadyTime = s.Now.UTC().Truncate(time.Second)
	s.running(core.ReasonAgentsReady, "every agent is connected and ready")
	d := s.lookAgain(0)
	d.Continue = true // the delete may follow at once: nothing else is to be read
	return d
}
