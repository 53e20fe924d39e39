package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// heartbeat is how often a silent stream shows that it lives. Proxies end those that
	// are silent for longer, often after 30 or 60 s.
	heartbeat = 15 * time.Second
	// writeTime is how long a client may take to receive what was written for it.
	writeTime = 10 * time.Second
)

func (h *handlers) registerWatching(api huma.API) {
	notFound := func(o *huma.Operation) {
		o.Errors = append(o.Errors, http.StatusNotFound, http.StatusUnprocessableEntity)
	}
	huma.Register(api, operation("list-transitions", http.MethodGet, "/tests/{id}/transitions", "See how a test went", func(o *huma.Operation) {
		notFound(o)
		o.Description = "The transitions of a test, oldest first. They stay for a while when its record is gone."
	}), h.transitions)
	huma.Register(api, operation("get-evidence", http.MethodGet, "/tests/{id}/evidence", "Read the evidence of a failed test", notFound), h.evidence)
	stream := func(o *huma.Operation) {
		notFound(o)
		o.Responses = map[string]*huma.Response{"200": {
			Description: "Server-sent events: event \"transition\", its id the transition's seq, its data the transition; an id alone says where the stream is; \"gone\" ends the stream of a test whose record is gone; \"end\" ends a stream that lasted long enough: ask again with Last-Event-ID.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[core.TestTransition](), true, "")}},
		}}
	}
	huma.Register(api, operation("watch-test", http.MethodGet, "/tests/{id}/events", "Watch a test", func(o *huma.Operation) {
		stream(o)
		o.Description = "Begins with all transitions after Last-Event-ID, or with the first one."
	}), h.watchTest)
	huma.Register(api, operation("watch-tests", http.MethodGet, "/events", "Watch all tests", func(o *huma.Operation) {
		stream(o)
		o.Description = "Begins after Last-Event-ID, or with what comes from now on."
	}), h.watchTests)
}

type transitionsInput struct {
	TestID
	After int64 `query:"after" minimum:"0" doc:"Only transitions with a larger seq."`
	Limit int   `query:"limit" minimum:"1" maximum:"500" default:"500"`
}

// Transitions is a part of how a test went.
type Transitions struct {
	Transitions []core.TestTransition `json:"transitions"`
}

func (h *handlers) transitions(ctx context.Context, input *transitionsInput) (*struct{ Body Transitions }, error) {
	found, err := h.Transitions(ctx, input.ID, input.After, input.Limit)
	if err != nil {
		return nil, h.said(ctx, "query.", err)
	}
	if found == nil {
		found = []core.TestTransition{}
	}
	return &struct{ Body Transitions }{Transitions{found}}, nil
}

func (h *handlers) evidence(ctx context.Context, input *TestID) (*struct{ Body core.StoredEvidence }, error) {
	evidence, err := h.Evidence(ctx, input.ID)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body core.StoredEvidence }{evidence}, nil
}

// WatchInput says where a stream begins.
type WatchInput struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"20" pattern:"^[0-9]*$" doc:"The id of the last event that you got."`
}

// after is the number that the client knows, or what stands for none.
func (i *WatchInput) after(none int64) (int64, error) {
	if i.LastEventID == "" {
		return none, nil
	}
	after, err := strconv.ParseInt(i.LastEventID, 10, 64)
	if err != nil {
		return 0, huma.NewError(http.StatusUnprocessableEntity, "the request breaks a rule",
			&huma.ErrorDetail{Location: "header.Last-Event-ID", Message: "must be the id of an event of this server"})
	}
	return after, nil
}

type watchTestInput struct {
	TestID
	WatchInput
}

func (h *handlers) watchTest(ctx context.Context, input *watchTestInput) (*huma.StreamResponse, error) {
	after, err := input.after(0)
	if err != nil {
		return nil, err
	}
	// What is wrong must be said before the stream begins.
	if _, err := h.Transitions(ctx, input.ID, 0, 1); err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return h.stream(input.ID, after), nil
}

func (h *handlers) watchTests(_ context.Context, input *WatchInput) (*huma.StreamResponse, error) {
	after, err := input.after(service.FromNow)
	if err != nil {
		return nil, err
	}
	return h.stream(uuid.Nil, after), nil
}

func (h *handlers) stream(test uuid.UUID, after int64) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, out := humago.Unwrap(ctx)
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("Cache-Control", "no-store")
		// Some proxies keep answers back until they have enough of them.
		ctx.SetHeader("X-Accel-Buffering", "no")
		events := &events{out: out, control: http.NewResponseController(out)}
		// The server's bound for reading a request would end the stream: net/http keeps
		// reading, to hear of a client that leaves.
		_ = events.control.SetReadDeadline(time.Time{})
		h.follow(ctx.Context(), test, after, events)
	}}
}

// follow writes events until the client leaves or stalls, the stream lasted long enough,
// or the test is gone.
func (h *handlers) follow(ctx context.Context, test uuid.UUID, after int64, events *events) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := h.Config.Clock.AfterFunc(h.StreamTime, cancel)
	defer over.Stop()
	var beating sync.WaitGroup
	due, timer := h.due()
	beating.Go(func() { h.beat(ctx, cancel, events, due, timer) })
	err := h.Follow(ctx, service.Listener{
		Test: test, After: after,
		On: func(transition core.TestTransition) error {
			return events.send("transition", transition.Seq, transition)
		},
		Idle: func(last int64) error { return events.caughtUp(last) },
	})
	cancel()
	beating.Wait()
	switch {
	case errors.Is(err, service.ErrGone):
		_ = events.end("gone")
	case errors.Is(err, context.Canceled):
		_ = events.end("end")
	case errors.Is(err, errStalled):
	default:
		h.Config.Logger.Warn("a stream of events ended", "error", err)
		_ = events.end("end")
	}
}

// due is closed when the next sign of life is due.
func (h *handlers) due() (<-chan struct{}, ports.Timer) {
	due := make(chan struct{})
	return due, h.Config.Clock.AfterFunc(heartbeat, func() { close(due) })
}

// beat writes a comment whenever one is due until ctx is done; a client that does not take
// it ends the stream.
func (h *handlers) beat(ctx context.Context, end func(), events *events, due <-chan struct{}, timer ports.Timer) {
	for {
		select {
		case <-due:
			due, timer = h.due()
			if events.comment() != nil {
				timer.Stop()
				end()
				return
			}
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// errStalled: the client does not take what is written for it.
var errStalled = errors.New("the client is gone, or takes too long")

// events writes one stream. It is safe for concurrent use.
type events struct {
	mu      sync.Mutex
	out     io.Writer
	control *http.ResponseController
	// placed: the client was told where it is. It belongs to whoever follows.
	placed bool
}

func (e *events) send(event string, id int64, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return e.write(false, "event: %s\nid: %d\ndata: %s\n\n", event, id, text)
}

// caughtUp sends what was written. The first time it also says where the client is, so that
// one which is cut off before its first event comes back to here: an id without data is
// remembered, and is no event (HTML standard, section 9.2.6).
func (e *events) caughtUp(last int64) error {
	if e.placed {
		return e.write(true, "")
	}
	e.placed = true
	return e.write(true, "id: %d\n\n", last)
}

func (e *events) comment() error       { return e.write(true, ": still here\n\n") }
func (e *events) end(why string) error { return e.write(true, "event: %s\ndata: {}\n\n", why) }

func (e *events) write(flush bool, format string, args ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errStalled
	}
	if _, err := fmt.Fprintf(e.out, format, args...); err != nil {
		return errStalled
	}
	if !flush {
		return nil
	}
	if err := e.control.Flush(); err != nil {
		return errStalled
	}
	return nil
}
