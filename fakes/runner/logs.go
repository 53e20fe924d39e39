package runner

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// BuildLog implements ports.LogReader.
func (r *Runner) BuildLog(ctx context.Context, build uuid.UUID, limit int) (core.Log, error) {
	c, err := r.read(ctx, "read build log", path{"/workspacebuilds/", build, "/logs"})
	if err != nil {
		return core.Log{}, err
	}
	lines, err := c.world.BuildLog(c.actor, build)
	if err != nil {
		return core.Log{}, c.failure(err)
	}
	return tail(core.Log{Source: "build"}, lines, limit), nil
}

// AgentLogs implements ports.LogReader.
func (r *Runner) AgentLogs(ctx context.Context, agent uuid.UUID, limit int) ([]core.Log, error) {
	c, err := r.read(ctx, "read agent logs", path{"/workspaceagents/", agent, "/logs"})
	if err != nil {
		return nil, err
	}
	scripts, err := c.world.AgentScripts(c.actor, agent)
	if err != nil {
		return nil, c.failure(err)
	}
	var logs []core.Log
	for _, script := range scripts {
		logs = append(logs, tail(core.Log{Source: script.DisplayName, AgentID: agent}, script.Lines, limit))
	}
	return logs, nil
}

// tail fills in the last limit bytes of the lines, cut at a valid character.
func tail(log core.Log, lines []world.LogLine, limit int) core.Log {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line.Text)
		text.WriteByte('\n')
	}
	log.Text = text.String()
	if cut := len(log.Text) - limit; cut > 0 {
		log.Text, log.Truncated = strings.ToValidUTF8(log.Text[cut:], ""), true
	}
	return log
}

var _ ports.BuildLogFollower = (*Runner)(nil)

// BuildLogAfter implements ports.BuildLogFollower.
func (r *Runner) BuildLogAfter(ctx context.Context, build uuid.UUID, after int64) ([]core.LogLine, error) {
	c, err := r.read(ctx, "follow build log", path{"/workspacebuilds/", build, "/logs"})
	if err != nil {
		return nil, err
	}
	logged, err := c.world.BuildLog(c.actor, build)
	if err != nil {
		return nil, c.failure(err)
	}
	return linesAfter(logged, "Applying resources", after), nil
}

// linesAfter are the lines whose numbers are above after.
func linesAfter(logged []world.LogLine, stage string, after int64) []core.LogLine {
	var lines []core.LogLine
	for i, line := range logged {
		if id := int64(i + 1); id > after {
			lines = append(lines, core.LogLine{ID: id, Stage: stage, Text: line.Text})
		}
	}
	return lines
}
