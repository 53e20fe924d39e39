package terminal

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Evidence is an EvidenceSink that keeps the ends of the logs that explain a failure
// until a person can read them. What it keeps is masked and holds no terminal
// commands.
type Evidence struct {
	mask  core.Mask
	lines int

	mu   sync.Mutex
	kept map[uuid.UUID][]core.Excerpt
}

var _ ports.EvidenceSink = (*Evidence)(nil)

// NewEvidence makes an Evidence that keeps the last lines of each log.
func NewEvidence(mask core.Mask, lines int) *Evidence {
	return &Evidence{mask: mask, lines: lines, kept: map[uuid.UUID][]core.Excerpt{}}
}

// Evidence keeps the end of the build log, and of the script logs of the agents
// that are not ready; of all agents when every one seems ready. It does not block.
func (e *Evidence) Evidence(_ context.Context, evidence core.Evidence) error {
	names := map[uuid.UUID]string{}
	var troubled []uuid.UUID
	for _, agent := range evidence.Workspace.Latest.Agents {
		names[agent.ID] = agent.Name
		if agent.Status != core.AgentConnected || agent.Lifecycle != core.AgentReady {
			troubled = append(troubled, agent.ID)
		}
	}
	var kept []core.Excerpt
	for _, log := range evidence.Logs {
		title := "build log"
		if log.AgentID != uuid.Nil {
			if len(troubled) > 0 && !slices.Contains(troubled, log.AgentID) {
				continue
			}
			title = fmt.Sprintf("script %q of agent %q", log.Source, names[log.AgentID])
		}
		if x, ok := e.excerpt(title, log); ok {
			kept = append(kept, x)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept[evidence.TestID] = kept
	return nil
}

// excerpt masks the whole log before it is cut: a secret with several lines must be
// whole to be found.
func (e *Evidence) excerpt(title string, log core.Log) (core.Excerpt, bool) {
	text := core.Printable(log.Text)
	if log.Truncated {
		// The first line can begin within a secret.
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.TrimRight(e.mask.Apply(text), "\n")
	if strings.TrimSpace(text) == "" {
		return core.Excerpt{}, false
	}
	lines := strings.Split(text, "\n")
	x := core.Excerpt{Title: e.mask.Apply(core.Printable(title)), Lines: lines, More: log.Truncated}
	if len(lines) > e.lines {
		x.Lines, x.More = lines[len(lines)-e.lines:], true
	}
	return x, true
}

// Excerpts are what was kept of a test, nil when there is nothing.
func (e *Evidence) Excerpts(test uuid.UUID) []core.Excerpt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kept[test]
}

// WriteExcerpts writes the ends of logs with a heading each, nothing when there is none.
func WriteExcerpts(out io.Writer, excerpts []core.Excerpt) {
	for _, x := range excerpts {
		if x.More {
			fmt.Fprintf(out, "\n--- %s, the last %d lines ---\n", x.Title, len(x.Lines))
		} else {
			fmt.Fprintf(out, "\n--- %s ---\n", x.Title)
		}
		for _, line := range x.Lines {
			fmt.Fprintln(out, line)
		}
	}
	if len(excerpts) > 0 {
		fmt.Fprintln(out)
	}
}
