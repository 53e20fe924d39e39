package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

const (
	// maxEvidence bounds the data of a Secret, keys included: an API server takes 1 MiB
	// with everything around it.
	maxEvidence = 900 << 10
	// cutNote is the first line of a log whose beginning is missing.
	cutNote = "[the beginning of this log was cut]\n"

	workspaceKey = "workspace.json"
	buildKey     = "build.log"
	omittedKey   = "omitted"
	maxKey       = 200
	// maxLogs bounds how many logs are kept, the build's first.
	maxLogs = 200
)

// workspaceState is what workspace.json says.
type workspaceState struct {
	ID     uuid.UUID    `json:"id"`
	Name   string       `json:"name"`
	Build  buildState   `json:"latestBuild"`
	Agents []agentState `json:"agents"`
}

type buildState struct {
	ID         uuid.UUID       `json:"id"`
	Number     int             `json:"number"`
	Transition core.Transition `json:"transition"`
	Status     core.JobStatus  `json:"status"`
}

type agentState struct {
	ID        uuid.UUID           `json:"id"`
	ParentID  uuid.UUID           `json:"parentID,omitzero"`
	Name      string              `json:"name"`
	Status    core.AgentStatus    `json:"status"`
	Lifecycle core.AgentLifecycle `json:"lifecycle"`
}

// entry is one key of a Secret.
type entry struct{ key, text string }

// evidenceData is the data of a Secret: masked, and at most so many bytes, of which the
// logs share what the state of the workspace leaves. Of a log its end is kept.
func evidenceData(evidence core.Evidence, mask core.Mask, most int) map[string][]byte {
	data := map[string][]byte{}
	state := describe(&evidence.Workspace, mask, most/4)
	data[workspaceKey] = state
	left := most - len(workspaceKey) - len(state)

	logs := entries(evidence, mask)
	if more := len(logs) - maxLogs; more > 0 {
		logs = append(logs[:maxLogs:maxLogs], entry{omittedKey, fmt.Sprintf("%d more logs\n", more)})
	}
	for _, log := range logs {
		left -= len(log.key)
	}
	// Short logs first: what they do not need is for the long ones.
	slices.SortStableFunc(logs, func(a, b entry) int { return cmp.Compare(len(a.text), len(b.text)) })
	for i, log := range logs {
		text := ending(log.text, max(0, left)/(len(logs)-i))
		data[log.key] = []byte(text)
		left -= len(text)
	}
	return data
}

// entries are the logs under their keys.
func entries(evidence core.Evidence, mask core.Mask) []entry {
	names := map[uuid.UUID]string{}
	for _, agent := range evidence.Workspace.Latest.Agents {
		names[agent.ID] = agent.Name
	}
	taken := map[string]bool{workspaceKey: true, omittedKey: true}
	var logs []entry
	for _, log := range evidence.Logs {
		key := buildKey
		if log.AgentID != uuid.Nil {
			key = keyOf(mask.Apply(names[log.AgentID])) + "." + keyOf(mask.Apply(log.Source)) + ".log"
		}
		first := strings.TrimSuffix(key, ".log")
		for n := 2; taken[key]; n++ {
			key = fmt.Sprintf("%s-%d.log", first, n)
		}
		taken[key] = true
		text := core.Printable(log.Text)
		if log.Truncated {
			// The first line can begin within a secret.
			_, text, _ = strings.Cut(text, "\n")
		}
		text = mask.Apply(text)
		if log.Truncated {
			text = cutNote + text
		}
		logs = append(logs, entry{key, text})
	}
	return logs
}

// keyOf makes of a name what the key of a Secret takes.
func keyOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return name[:min(len(name), maxKey/2)]
}

// ending is the end of a text, from the start of a line where that leaves something.
func ending(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if most <= len(cutNote) {
		return ""
	}
	end := text[len(text)-(most-len(cutNote)):]
	if _, lines, ok := strings.Cut(end, "\n"); ok && lines != "" {
		end = lines
	}
	return cutNote + strings.ToValidUTF8(end, "")
}

// describe is workspace.json; agents that do not fit are left out.
func describe(workspace *core.Workspace, mask core.Mask, most int) []byte {
	build := &workspace.Latest
	state := workspaceState{
		ID: workspace.ID, Name: mask.Apply(core.Printable(workspace.Name)),
		Build:  buildState{ID: build.ID, Number: build.Number, Transition: build.Transition, Status: build.Job.Status},
		Agents: []agentState{},
	}
	for _, agent := range build.Agents {
		state.Agents = append(state.Agents, agentState{
			ID: agent.ID, ParentID: agent.ParentID, Name: mask.Apply(core.Printable(agent.Name)),
			Status: agent.Status, Lifecycle: agent.Lifecycle,
		})
	}
	for {
		text, err := json.MarshalIndent(&state, "", "  ")
		if err != nil {
			return nil // it holds nothing that JSON cannot say
		}
		if len(text) <= most || len(state.Agents) == 0 {
			return text
		}
		state.Agents = state.Agents[:len(state.Agents)/2]
	}
}
