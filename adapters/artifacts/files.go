package artifacts

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

const (
	documentName = "test.json"
	agentsName   = "agents.json"
	buildName    = "build.log"
	omittedName  = "omitted.txt"
	// cutNote is the first line of a log whose beginning is missing.
	cutNote = "[the beginning of this log was cut]\n"

	// maxPart bounds each part of a name that comes from a template or a suite.
	maxPart = 64
	// maxLogs bounds how many logs are kept, the build's first, and maxAgents how many
	// agents are described.
	maxLogs   = 200
	maxAgents = 1000
)

// file is what is to be written.
type file struct{ name, text string }

// workspaceState is what agents.json says.
type workspaceState struct {
	CoderVersion  string       `json:"coderVersion,omitempty"`
	WorkspaceID   uuid.UUID    `json:"workspaceID"`
	WorkspaceName string       `json:"workspaceName"`
	Build         buildState   `json:"latestBuild"`
	Agents        []agentState `json:"agents"`
	// MoreAgents counts those that are left out.
	MoreAgents int `json:"moreAgents,omitempty"`
}

type buildState struct {
	ID          uuid.UUID       `json:"id"`
	Number      int             `json:"number"`
	Transition  core.Transition `json:"transition"`
	Status      core.JobStatus  `json:"status"`
	ErrorCode   string          `json:"errorCode,omitempty"`
	StartedAt   time.Time       `json:"startedAt,omitzero"`
	CompletedAt time.Time       `json:"completedAt,omitzero"`
}

type agentState struct {
	ID        uuid.UUID           `json:"id"`
	ParentID  uuid.UUID           `json:"parentID,omitzero"`
	Name      string              `json:"name"`
	Status    core.AgentStatus    `json:"status"`
	Lifecycle core.AgentLifecycle `json:"lifecycle"`
}

// files are what is kept of evidence, masked.
func files(evidence *core.Evidence, mask core.Mask) []file {
	names := map[uuid.UUID]string{}
	for _, agent := range evidence.Workspace.Latest.Agents {
		names[agent.ID] = agent.Name
	}
	all := []file{{agentsName, describe(evidence, mask)}}
	taken := map[string]bool{}
	for i, log := range evidence.Logs {
		if i == maxLogs {
			all = append(all, file{omittedName, fmt.Sprintf("%d more logs\n", len(evidence.Logs)-maxLogs)})
			break
		}
		name := buildName
		if log.AgentID != uuid.Nil {
			agent := names[log.AgentID]
			if agent == "" {
				agent = log.AgentID.String()
			}
			name = "agent-" + part(mask.Apply(agent)) + "-" + part(mask.Apply(log.Source)) + ".log"
		}
		// Some disks do not tell small letters from capital ones.
		stem := strings.TrimSuffix(name, ".log")
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d.log", stem, n)
		}
		taken[strings.ToLower(name)] = true
		all = append(all, file{name, logText(log, mask)})
	}
	return all
}

// logText is a log as text without commands for terminals, masked as a whole: a secret
// with several lines must be whole to be found.
func logText(log core.Log, mask core.Mask) string {
	text := core.Printable(log.Text)
	if !log.Truncated {
		return mask.Apply(text)
	}
	// The first line can begin within a secret.
	_, text, _ = strings.Cut(text, "\n")
	return cutNote + mask.Apply(text)
}

func describe(evidence *core.Evidence, mask core.Mask) string {
	build := &evidence.Workspace.Latest
	state := workspaceState{
		CoderVersion: evidence.CoderVersion, WorkspaceID: evidence.Workspace.ID,
		WorkspaceName: mask.Apply(core.Printable(evidence.Workspace.Name)),
		Build: buildState{
			ID: build.ID, Number: build.Number, Transition: build.Transition, Status: build.Job.Status, ErrorCode: build.Job.ErrorCode,
			StartedAt: build.Job.StartedAt, CompletedAt: build.Job.CompletedAt,
		},
		Agents: []agentState{}, MoreAgents: max(0, len(build.Agents)-maxAgents),
	}
	for _, agent := range build.Agents[:min(len(build.Agents), maxAgents)] {
		state.Agents = append(state.Agents, agentState{
			ID: agent.ID, ParentID: agent.ParentID, Name: mask.Apply(core.Printable(agent.Name)),
			Status: agent.Status, Lifecycle: agent.Lifecycle,
		})
	}
	text, err := json.MarshalIndent(&state, "", "  ")
	if err != nil {
		return "{}\n" // it holds nothing that JSON cannot say
	}
	return string(text) + "\n"
}

// folderName names the folder of a test: what people call it, and enough of its ID to
// tell it from others of that name.
func folderName(record *core.Record, mask core.Mask) string {
	name := record.Name
	if name == "" {
		version := record.Status.TemplateVersionName
		if version == "" {
			version = record.Spec.Version.String()
		}
		name = record.Spec.Template + "-" + version
	}
	return part(mask.Apply(name)) + "-" + record.ID.String()[:8]
}

// part makes of a text a part of a file's name that every system takes: no separator, no
// control character, no dot in front.
func part(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, text)
	text = strings.TrimLeft(text, ".-")
	text = strings.TrimRight(text[:min(len(text), maxPart)], ".-")
	if text == "" {
		return "unnamed"
	}
	return text
}
