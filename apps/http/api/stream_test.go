package api_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/api"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/ports"
)

// stage is the API of a server whose clock stands still, and whose requests must be read
// within no time.
type stage struct {
	*testing.T
	clock  *clock.Clock
	store  *sqlstore.Store
	server *httptest.Server
}

// readTime bounds the reading of a request.
const readTime = 100 * time.Millisecond

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, clock: clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	var err error
	if s.store, err = sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"), s.clock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	log := slog.New(slog.DiscardHandler)
	feed := service.NewFeed(s.store, s.clock, log)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { feed.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	work, err := service.New(service.Config{
		Store: s.store, Planes: onePlane{planes.New()}, Runner: idle{}, Feed: feed, Clock: s.clock, Random: rand.Reader,
		Dial: func(core.Connection) (ports.CodeRunner, error) { return nil, io.EOF },
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	api.Register(mux, api.Config{Service: work, Clock: s.clock, Logger: log})
	caller := access.Caller{Name: "somebody", Roles: map[string]access.Role{"main": access.Viewer}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(access.WithCaller(r.Context(), caller)))
	}))
	s.server.Config.ReadTimeout = readTime
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

type onePlane struct{ *planes.Planes }

// Names implements service.Planes.
func (onePlane) Names() []string { return []string{"main"} }

// idle is a service.Runner that runs nothing.
type idle struct{}

func (idle) Take(context.Context, uuid.UUID) error { return nil }
func (idle) Drop(context.Context, uuid.UUID)       {}
func (idle) Drive(uuid.UUID)                       {}

// watch opens a stream and returns its lines.
func (s *stage) watch() *bufio.Scanner {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.server.URL+api.Prefix+"/events", nil)
	if err != nil {
		s.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.Fatalf("%s, %s", response.Status, response.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(response.Body)
	if got := s.line(lines); !strings.HasPrefix(got, "id: ") {
		s.Errorf("the stream begins with %q, want where it is: a client that is cut off now must be able to come back", got)
	}
	return lines
}

// line is the next line that says something.
func (s *stage) line(lines *bufio.Scanner) string {
	s.Helper()
	for lines.Scan() {
		if lines.Text() != "" {
			return lines.Text()
		}
	}
	s.Fatalf("the stream ended: %v", lines.Err())
	return ""
}

// make stores a test of a control plane.
func (s *stage) make(plane string) core.Record {
	s.Helper()
	record, err := s.store.Create(s.Context(), core.Record{ID: uuid.New(), Generation: 1, CreatedAt: s.clock.Now(), Spec: core.Spec{
		Template: "acme.docker", Version: core.VersionSelector{Active: true}, TimeoutSeconds: 900, ControlPlaneRef: plane,
	}})
	if err != nil {
		s.Fatal(err)
	}
	return record
}

// TestAStreamOutlivesTheTimeForARequest waits until the server gives up on a request that
// is never finished, which began after the stream.
func TestAStreamOutlivesTheTimeForARequest(t *testing.T) {
	s := newStage(t)
	lines := s.watch()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: a\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, connection); err != nil {
		t.Fatal(err)
	}
	record := s.make("main")
	if got := s.line(lines); got != "event: transition" {
		t.Errorf("the stream says %q", got)
	}
	s.line(lines)
	if got := s.line(lines); !strings.Contains(got, record.ID.String()) {
		t.Errorf("the stream says %q, want the new test", got)
	}
}

func TestAStreamShowsThatItLives(t *testing.T) {
	s := newStage(t)
	lines := s.watch()
	for range 3 {
		s.clock.Advance(15 * time.Second)
		if got := s.line(lines); got != ": still here" {
			t.Errorf("after 15 s the stream says %q", got)
		}
	}
}

func TestAStreamEndsAfterItsTime(t *testing.T) {
	s := newStage(t)
	lines := s.watch()
	s.clock.Advance(api.DefaultStreamTime)
	for {
		if got := s.line(lines); got == "event: end" {
			return
		}
	}
}

func TestAStreamTellsOnlyWhatOneMaySee(t *testing.T) {
	s := newStage(t)
	lines := s.watch()
	s.make("other")
	mine := s.make("main")
	s.line(lines)
	s.line(lines)
	if got := s.line(lines); !strings.Contains(got, mine.ID.String()) {
		t.Errorf("the stream says %q, want the test on main alone", got)
	}
}
