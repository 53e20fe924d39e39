package coder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

// sample is a workspace as Coder answers it.
func sample(id uuid.UUID, number int32) codersdk.Workspace {
	return codersdk.Workspace{
		ID: id, Name: "name", OwnerID: uuid.New(),
		LatestBuild: codersdk.WorkspaceBuild{
			ID: uuid.New(), WorkspaceID: id, BuildNumber: number, Transition: codersdk.WorkspaceTransitionStart,
		},
	}
}

func asData(workspace codersdk.Workspace) string {
	encoded, err := json.Marshal(workspace)
	if err != nil {
		panic(err)
	}
	return "event: data\ndata: " + string(encoded) + "\n\n"
}

// stream writes events and then holds the stream open until the client leaves, or
// closes it.
func stream(hold bool, events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Coder-Build-Version", "v2")
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			_, _ = fmt.Fprint(w, event)
			_ = http.NewResponseController(w).Flush()
		}
		if hold {
			<-r.Context().Done()
		}
	}
}

func TestWatchEvents(t *testing.T) {
	id := uuid.New()
	huge := sample(id, 1)
	huge.TemplateDisplayName = strings.Repeat("x", 17<<20)
	large := sample(id, 2)
	large.TemplateDisplayName = strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		why    string
		events []string
		want   []int
		class  core.FailureClass
	}{
		{"each data event is told, pings and comments are not", []string{
			"event: ping\n\n", asData(sample(id, 1)), ": comment\n\n", "event: ping\n\n", asData(sample(id, 2)),
		}, []int{1, 2}, core.FailureUnavailable},
		{"line ends of the other kind", []string{strings.ReplaceAll(asData(sample(id, 3)), "\n", "\r\n")}, []int{3}, core.FailureUnavailable},
		{"an event larger than any buffer", []string{asData(large)}, []int{2}, core.FailureUnavailable},
		{"an event beyond the bound", []string{asData(huge)}, nil, core.FailureUnavailable},
		{"an error event", []string{"event: error\ndata: {\"message\":\"no\"}\n\n", asData(sample(id, 1))}, nil, core.FailureUnavailable},
		{"an event that is no JSON", []string{"event: data\ndata: <html>\n\n"}, nil, core.FailureUnavailable},
		{"another workspace", []string{asData(sample(uuid.New(), 1))}, nil, core.FailureMismatch},
		{"an unknown kind of event is left alone", []string{"event: news\ndata: {}\n\n", asData(sample(id, 4))}, []int{4}, core.FailureUnavailable},
		{"half an event is none", []string{"event: data\ndata: {}"}, nil, core.FailureUnavailable},
		{"nothing", nil, nil, core.FailureUnavailable},
	} {
		runner := serve(t, stream(false, c.events...))
		var got []int
		err := runner.WatchWorkspace(t.Context(), id, func(w core.Workspace) { got = append(got, w.Latest.Number) })
		if failure := failureOf(t, err); failure.Class != c.class {
			t.Errorf("%s: ended with %v, want %v", c.why, failure, c.class)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: builds %v, want %v", c.why, got, c.want)
		}
	}
}

func TestWatchEndsWithContext(t *testing.T) {
	id := uuid.New()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	runner := serve(t, stream(true, asData(sample(id, 1))), coder.WithStreamIdle(soon))
	calls := 0
	err := runner.WatchWorkspace(ctx, id, func(core.Workspace) { calls++; cancel() })
	if err != nil || calls != 1 {
		t.Errorf("ended with %v after %d calls, want nil after 1", err, calls)
	}
}

func TestWatchIdle(t *testing.T) {
	id := uuid.New()
	t.Run("silence ends the stream", func(t *testing.T) {
		runner := serve(t, stream(true, asData(sample(id, 1))), coder.WithStreamIdle(50*time.Millisecond))
		err := runner.WatchWorkspace(t.Context(), id, func(core.Workspace) {})
		if got := failureOf(t, err); got.Class != core.FailureUnavailable || !strings.Contains(got.Message, "ping") {
			t.Errorf("ended with %v, want unavailable for the lack of pings", got)
		}
	})
	t.Run("an opening that hangs ends, too", func(t *testing.T) {
		runner := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, coder.WithTimeout(50*time.Millisecond))
		err := runner.WatchWorkspace(t.Context(), id, func(core.Workspace) {})
		if got := failureOf(t, err); got.Class != core.FailureUnavailable {
			t.Errorf("ended with %v, want unavailable", got)
		}
	})
	t.Run("a stream outlives the timeout of requests", func(t *testing.T) {
		const timeout = time.Second
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			stream(false, asData(sample(id, 1)))(w, r)
			<-time.After(timeout + timeout/5)
			_, _ = fmt.Fprint(w, asData(sample(id, 7)))
		}, coder.WithTimeout(timeout), coder.WithStreamIdle(soon))
		got := 0
		_ = runner.WatchWorkspace(t.Context(), id, func(w core.Workspace) { got = w.Latest.Number })
		if got != 7 {
			t.Error("the stream was cut off")
		}
	})
}

func TestWatchRefused(t *testing.T) {
	for _, c := range []struct {
		why     string
		handler http.HandlerFunc
		want    core.FailureClass
	}{
		{"Coder knows no such workspace", func(w http.ResponseWriter, _ *http.Request) { coders(w, 404, says("no")) }, core.FailureNotFound},
		{"a page with 200 is no stream", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, core.FailureUnavailable},
		{"JSON with 200 is no stream", func(w http.ResponseWriter, _ *http.Request) { coders(w, 200, says("hello")) }, core.FailureUnavailable},
	} {
		err := serve(t, c.handler).WatchWorkspace(t.Context(), uuid.New(), func(core.Workspace) { t.Errorf("%s: told of a workspace", c.why) })
		if got := failureOf(t, err); got.Class != c.want {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}
