package coder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// maxEvent bounds one event of a stream, in bytes: a whole workspace with all its
// resources and agents.
const maxEvent = 16 << 20

var (
	errStreamIdle = errors.New("nothing came for too long, not even a ping")
	errEventLarge = errors.New("an event of the stream is too large")
)

// WatchWorkspace implements ports.WorkspaceWatcher. Everything happens in the
// calling goroutine; nothing is buffered but the event that is being read.
func (r *Runner) WatchWorkspace(ctx context.Context, workspace uuid.UUID, on func(core.Workspace)) error {
	q := request{
		op: "watch workspace", method: http.MethodGet, path: "/workspaces/" + workspace.String() + "/watch", stream: true,
	}
	streaming, end := context.WithCancelCause(ctx)
	defer end(nil)
	idle := time.AfterFunc(r.timeout, func() { end(errStreamIdle) })
	defer idle.Stop()
	err := r.watch(streaming, q, idle, func(event event) error {
		found, err := q.workspaceOf(event, workspace)
		if err != nil || found == nil {
			return err
		}
		on(*found)
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watch reads events until the stream ends. While take works, the stream is not
// idle.
func (r *Runner) watch(ctx context.Context, q request, idle *time.Timer, take func(event) error) error {
	response, failure := r.open(ctx, q)
	if response == nil {
		return failure
	}
	defer response.Body.Close()
	if failure != nil {
		return failure
	}
	events := bufio.NewReader(response.Body)
	for {
		idle.Reset(r.streamIdle)
		event, err := readEvent(events)
		if err != nil {
			return q.failure(outcome{sent: true, status: response.StatusCode}, endOfStream(ctx, err))
		}
		idle.Stop()
		if err := take(event); err != nil {
			return err
		}
	}
}

func endOfStream(ctx context.Context, err error) string {
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		return "the stream ended"
	}
	return networkText(ctx, err)
}

// workspaceOf reads the workspace that the event tells of; nil when it tells of
// none, as a ping.
func (q request) workspaceOf(event event, id uuid.UUID) (*core.Workspace, error) {
	switch codersdk.ServerSentEventType(event.kind) {
	case codersdk.ServerSentEventTypeData:
		var found codersdk.Workspace
		if err := json.Unmarshal(event.data, &found); err != nil {
			return nil, q.failure(outcome{sent: true, status: http.StatusOK}, "an event of the stream cannot be read as Coder's")
		}
		if found.ID != id {
			return nil, mismatch(q.op, "the stream tells of workspace %s, not of %s", found.ID, id)
		}
		workspace, err := toWorkspace(q.op, found)
		return &workspace, err
	case codersdk.ServerSentEventTypeError:
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(event.data, &said)
		return nil, q.failure(outcome{sent: true, status: http.StatusOK}, "the stream ended with an error: "+said.Message)
	default:
		return nil, nil
	}
}

// event is one server-sent event.
type event struct {
	kind string
	data []byte
}

// readEvent reads up to the blank line that ends an event. Fields other than event
// and data do not matter here.
func readEvent(stream *bufio.Reader) (event, error) {
	var read event
	size := 0
	for {
		line, err := readLine(stream, maxEvent-size)
		if err != nil {
			return event{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if read.kind == "" && read.data == nil {
				continue
			}
			return read, nil
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			read.kind = value
		case "data":
			if read.data != nil {
				read.data = append(read.data, '\n')
			}
			read.data = append(read.data, value...)
		}
	}
}

// readLine reads a line of at most limit bytes, without its end.
func readLine(stream *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := stream.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, errEventLarge
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		line = line[:len(line)-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		return line, nil
	}
}
