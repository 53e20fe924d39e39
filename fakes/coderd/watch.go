package coderd

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/fakes/world"
)

// watch streams a workspace as server-sent events: a ping and the workspace at once,
// then the workspace at each change and a ping now and then. A stream of a deleted
// workspace opens and stays silent but for the pings (seen).
func (s *Server) watch(rw http.ResponseWriter, r *http.Request) {
	actor, err := s.admit(rw, r)
	if err != nil {
		refuse(rw, err)
		return
	}
	id, err := request{r, actor}.id("workspace")
	if err != nil {
		refuse(rw, err)
		return
	}
	changed := make(chan struct{}, 1)
	watch, err := s.world.Watch(actor, id, func() { signal(changed) })
	if err != nil {
		refuse(rw, err)
		return
	}
	defer watch.Close()
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-cache")
	stream := &stream{rw: rw, flush: http.NewResponseController(rw)}
	stream.send(codersdk.ServerSentEventTypePing, nil)
	if ws, err := watch.Look(); err == nil && !ws.Deleted {
		stream.send(codersdk.ServerSentEventTypeData, toWorkspace(ws))
	}
	ping := make(chan struct{}, 1)
	beat := s.clock.AfterFunc(s.heartbeat, func() { signal(ping) })
	defer func() { beat.Stop() }()
	for stream.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-ping:
			stream.send(codersdk.ServerSentEventTypePing, nil)
			beat = s.clock.AfterFunc(s.heartbeat, func() { signal(ping) })
		case <-changed:
			stream.tell(watch)
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the reader has not seen the last one yet either
	}
}

type stream struct {
	rw    http.ResponseWriter
	flush *http.ResponseController
	err   error
}

// tell sends the workspace as it is now, or that it can no longer be read.
func (s *stream) tell(watch *world.Watch) {
	ws, err := watch.Look()
	if err != nil {
		s.send(codersdk.ServerSentEventTypeError, codersdk.Response{Message: "Internal error fetching workspace."})
		return
	}
	s.send(codersdk.ServerSentEventTypeData, toWorkspace(ws))
}

func (s *stream) send(kind codersdk.ServerSentEventType, data any) {
	if _, s.err = fmt.Fprintf(s.rw, "event: %s\n", kind); s.err != nil {
		return
	}
	if data != nil {
		encoded, err := json.Marshal(data)
		if err == nil {
			_, err = fmt.Fprintf(s.rw, "data: %s\n", encoded)
		}
		if s.err = err; err != nil {
			return
		}
	}
	if _, s.err = fmt.Fprint(s.rw, "\n"); s.err == nil {
		s.err = s.flush.Flush()
	}
}
