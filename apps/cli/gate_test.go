package cli_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// door is a proxy in front of a real Coder at which a test can hold one request, to
// have something happen in exactly that moment.
type door struct {
	url     string
	forward *httputil.ReverseProxy
	mu      sync.Mutex
	gate    *gate
}

// moment is when a request is held.
type moment int

const (
	// beforeEffect: Coder has not seen the request.
	beforeEffect moment = iota
	// afterEffect: Coder has answered, and nobody has seen the answer.
	afterEffect
)

// gate holds the first request that it is for.
type gate struct {
	at      moment
	matches func(*http.Request) bool
	// reached is closed when the request is held.
	reached chan struct{}
	// opened lets the request, or its answer, pass. dropped cuts the connection.
	opened, dropped chan struct{}
}

func (g *gate) open() { close(g.opened) }
func (g *gate) drop() { close(g.dropped) }

// request matches requests by their method and the end of their path.
func request(method, suffix string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, suffix) }
}

// newDoor opens a door to a deployment.
func newDoor(t *testing.T, target string) *door {
	t.Helper()
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address); r.Out.Host = address.Host },
		// A stream is passed on as it comes.
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	// Streams would keep Close waiting.
	t.Cleanup(server.CloseClientConnections)
	d.url = server.URL
	return d
}

// hold sets a gate for the next such request.
func (d *door) hold(at moment, matches func(*http.Request) bool) *gate {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = &gate{at: at, matches: matches, reached: make(chan struct{}), opened: make(chan struct{}), dropped: make(chan struct{})}
	return d.gate
}

// gateFor takes the gate for the request, nil for none.
func (d *door) gateFor(r *http.Request) *gate {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate == nil || !d.gate.matches(r) {
		return nil
	}
	gate := d.gate
	d.gate = nil
	return gate
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gate := d.gateFor(r)
	if gate == nil {
		d.forward.ServeHTTP(w, r)
		return
	}
	// The one who asked may die meanwhile; what it asked for takes effect all the same.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	answer := httptest.NewRecorder()
	if gate.at == afterEffect {
		d.forward.ServeHTTP(answer, r)
	}
	close(gate.reached)
	select {
	case <-gate.opened:
	case <-gate.dropped:
		panic(http.ErrAbortHandler)
	}
	if gate.at == beforeEffect {
		d.forward.ServeHTTP(w, r)
		return
	}
	for _, name := range slices.Collect(maps.Keys(answer.Header())) {
		w.Header()[name] = answer.Header()[name]
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}
