package coder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// BuildLog implements ports.LogReader. Each stage begins with a line that names it.
func (r *Runner) BuildLog(ctx context.Context, build uuid.UUID, limit int) (core.Log, error) {
	text := tail{limit: limit}
	stage := ""
	q := request{op: "read build log", method: http.MethodGet, path: "/workspacebuilds/" + build.String() + "/logs"}
	_, err := r.do(ctx, q, eachOf(func(line codersdk.ProvisionerJobLog) {
		if line.Stage != stage {
			stage = line.Stage
			text.add("== " + stage + "\n")
		}
		text.add(line.Output + "\n")
	}))
	if err != nil {
		return core.Log{}, err
	}
	log := core.Log{Source: "build"}
	log.Text, log.Truncated = text.end()
	return log, nil
}

var _ ports.BuildLogFollower = (*Runner)(nil)

// BuildLogAfter implements ports.BuildLogFollower.
func (r *Runner) BuildLogAfter(ctx context.Context, build uuid.UUID, after int64) ([]core.LogLine, error) {
	return r.jobLog(ctx, "follow build log", "/workspacebuilds/"+build.String()+"/logs", after)
}

// jobLog reads the lines of a provisioner job's log after one.
func (r *Runner) jobLog(ctx context.Context, op, path string, after int64) ([]core.LogLine, error) {
	q := request{op: op, method: http.MethodGet, path: path}
	if after != 0 {
		q.query = url.Values{"after": {strconv.FormatInt(after, 10)}}
	}
	var lines []core.LogLine
	_, err := r.do(ctx, q, eachOf(func(line codersdk.ProvisionerJobLog) {
		lines = append(lines, core.LogLine{ID: line.ID, Stage: line.Stage, Text: line.Output})
	}))
	if err != nil {
		return nil, err
	}
	return lines, nil
}

// AgentLogs implements ports.LogReader with two requests: the agent names its log
// sources, the log lines refer to them.
func (r *Runner) AgentLogs(ctx context.Context, agent uuid.UUID, limit int) ([]core.Log, error) {
	const op = "read agent's scripts"
	path := "/workspaceagents/" + agent.String()
	var described codersdk.WorkspaceAgent
	if _, err := r.get(ctx, op, path, nil, &described); err != nil {
		return nil, err
	}
	if described.ID != agent {
		return nil, mismatch(op, "the answer names agent %s, not %s", described.ID, agent)
	}
	names := make(map[uuid.UUID]string)
	for _, source := range described.LogSources {
		names[source.ID] = source.DisplayName
	}
	texts := make(map[uuid.UUID]*tail)
	var order []uuid.UUID
	q := request{op: "read agent logs", method: http.MethodGet, path: path + "/logs"}
	_, err := r.do(ctx, q, eachOf(func(line codersdk.WorkspaceAgentLog) {
		if texts[line.SourceID] == nil {
			texts[line.SourceID] = &tail{limit: limit}
			order = append(order, line.SourceID)
		}
		texts[line.SourceID].add(line.Output + "\n")
	}))
	if err != nil {
		return nil, err
	}
	logs := make([]core.Log, 0, len(order))
	for _, id := range order {
		log := core.Log{Source: cmp.Or(names[id], "agent"), AgentID: agent}
		log.Text, log.Truncated = texts[id].end()
		logs = append(logs, log)
	}
	return logs, nil
}

// eachOf decodes a JSON array one element at a time, so that a long log is never
// held as a whole.
func eachOf[T any](take func(T)) func(io.Reader) error {
	return func(body io.Reader) error {
		decoder := json.NewDecoder(body)
		start, err := decoder.Token()
		if err != nil {
			return err
		}
		if start == nil {
			return nil
		}
		if start != json.Delim('[') {
			return errors.New("not a list")
		}
		for decoder.More() {
			var element T
			if err := decoder.Decode(&element); err != nil {
				return err
			}
			take(element)
		}
		_, err = decoder.Token()
		return err
	}
}

// tail keeps the last limit bytes of what is added.
type tail struct {
	limit int
	kept  []byte
	cut   bool
}

func (t *tail) add(text string) {
	t.kept = append(t.kept, text...)
	// Cutting at twice the limit copies each byte once, whatever the line lengths.
	if len(t.kept) > 2*t.limit {
		t.trim()
	}
}

func (t *tail) trim() {
	if excess := len(t.kept) - t.limit; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
		t.cut = true
	}
}

// end is what was kept, from a rune's beginning on, and whether more came before.
func (t *tail) end() (text string, cut bool) {
	t.trim()
	kept := t.kept
	for t.cut && len(kept) > 0 && !utf8.RuneStart(kept[0]) {
		kept = kept[1:]
	}
	return string(kept), t.cut
}
