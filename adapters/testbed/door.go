package testbed

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

// Door is a proxy in front of a deployment at which a test can hold one request,
// to have something happen in exactly that moment. It takes requests for its own
// address, and as an HTTP proxy those for any other: all go to the deployment.
type Door struct {
	// URL is its address.
	URL     string
	forward *httputil.ReverseProxy
	mu      sync.Mutex
	gate    *Gate
}

// Moment is when a request is held.
type Moment int

// The moments.
const (
	// BeforeEffect: Coder has not seen the request.
	BeforeEffect Moment = iota
	// AfterEffect: Coder has answered, and nobody has seen the answer.
	AfterEffect
)

// Gate holds the first request that it is for.
type Gate struct {
	// Reached is closed when the request is held.
	Reached chan struct{}

	at      Moment
	matches func(*http.Request) bool
	// opened lets the request, or its answer, pass. dropped cuts the connection.
	opened, dropped chan struct{}
}

// Open lets what is held pass.
func (g *Gate) Open() { close(g.opened) }

// Drop cuts the connection of what is held.
func (g *Gate) Drop() { close(g.dropped) }

// RequestTo matches requests by their method and the end of their path.
func RequestTo(method, suffix string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, suffix) }
}

// NewDoor opens a door to the deployment at the target, until the test ends.
func NewDoor(t testing.TB, target string) *Door {
	t.Helper()
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	d := &Door{forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address); r.Out.Host = address.Host },
		// A stream is passed on as it comes.
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	// Streams would keep Close waiting.
	t.Cleanup(server.CloseClientConnections)
	d.URL = server.URL
	return d
}

// Hold sets a gate for the next such request.
func (d *Door) Hold(at Moment, matches func(*http.Request) bool) *Gate {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = &Gate{at: at, matches: matches, Reached: make(chan struct{}), opened: make(chan struct{}), dropped: make(chan struct{})}
	return d.gate
}

// gateFor takes the gate for the request, nil for none.
func (d *Door) gateFor(r *http.Request) *Gate {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate == nil || !d.gate.matches(r) {
		return nil
	}
	gate := d.gate
	d.gate = nil
	return gate
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gate := d.gateFor(r)
	if gate == nil {
		d.forward.ServeHTTP(w, r)
		return
	}
	// The one who asked may die meanwhile; what it asked for takes effect all the same.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	answer := httptest.NewRecorder()
	if gate.at == AfterEffect {
		d.forward.ServeHTTP(answer, r)
	}
	close(gate.Reached)
	select {
	case <-gate.opened:
	case <-gate.dropped:
		panic(http.ErrAbortHandler)
	}
	if gate.at == BeforeEffect {
		d.forward.ServeHTTP(w, r)
		return
	}
	for _, name := range slices.Collect(maps.Keys(answer.Header())) {
		w.Header()[name] = answer.Header()[name]
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}
