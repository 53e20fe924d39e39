package runner

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
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
