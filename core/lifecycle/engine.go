package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Config is what an Engine works with. Store, ControlPlanes, Dial, Clock and Random
// are required.
type Config struct {
	Store         ports.WorkspaceStore
	ControlPlanes ports.ControlPlanes
	Dial          ports.Dialer
	Clock         ports.Clock
	// Random gives create attempt IDs and jitter: crypto/rand.Reader but in tests.
	Random io.Reader
	// Sink hears of each stored transition; optional.
	Sink ports.StatusSink
	// Evidence takes the logs of failed tests; without one none are read.
	Evidence ports.EvidenceSink
	// Logger is silent by default.
	Logger  *slog.Logger
	Options Options
}

// Engine carries out what Decide decides. It keeps nothing about a test that a
// restart could miss. It is safe for concurrent use; two steps of one test at once
// are safe, but one of them is wasted.
type Engine struct {
	config Config
	dialed *dialed

	mu sync.Mutex
	// limited counts the steps in a row that ended in a 429, by test.
	limited map[uuid.UUID]int
	// evidenced holds the tests whose evidence this process has handed over.
	evidenced map[uuid.UUID]bool
	// moved holds the tests whose last decision was dropped because the record had
	// changed: a cache that lags would have it taken again and again.
	moved map[uuid.UUID]bool
}

// New checks the configuration and fills in defaults. It does no I/O.
func New(config Config) (*Engine, error) {
	for _, dependency := range []struct {
		name    string
		missing bool
	}{
		{"Store", config.Store == nil},
		{"ControlPlanes", config.ControlPlanes == nil},
		{"Dial", config.Dial == nil},
		{"Clock", config.Clock == nil},
		{"Random", config.Random == nil},
	} {
		if dependency.missing {
			return nil, assertionFailed("the engine's %s is not set", dependency.name)
		}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Options = config.Options.WithDefaults()
	return &Engine{
		config:    config,
		dialed:    newDialed(config.Dial, config.Clock, config.Options.SharedMaxAge),
		limited:   make(map[uuid.UUID]int),
		evidenced: make(map[uuid.UUID]bool),
		moved:     make(map[uuid.UUID]bool),
	}, nil
}

// Next tells when a test wants its next step.
type Next struct {
	// Done: nothing is left to do, or the record is gone.
	Done bool
	// After is when to look again at the latest; 0 means at once.
	After time.Duration
	// Heard is the same while the stream of Watch works; less than After means After.
	Heard time.Duration
	// Watch is a workspace whose stream should wake the test sooner; uuid.Nil for
	// none. Use Engine.WatchWorkspace with ControlPlane, or package streams.
	Watch uuid.UUID
	// Owner is the Coder user that owns Watch.
	Owner uuid.UUID
	// ControlPlane is the test's Spec.ControlPlaneRef.
	ControlPlane string
}

// Step does one step of the test (lifecycle section 4): it sends at most one
// request that changes something in Coder. seen, when not nil, is the workspace as
// its stream just delivered it: enough to go on waiting, never enough for a
// verdict or a request.
//
// An error means that the record could not be loaded or stored, or breaks an
// assertion; nothing is lost, and the step can be repeated. What Coder does wrong
// is never an error: it is a wait or a verdict in the record.
func (e *Engine) Step(ctx context.Context, test uuid.UUID, seen *core.Workspace) (Next, error) {
	record, err := e.config.Store.Load(ctx, test, e.freshness(test))
	if errors.Is(err, ports.ErrNotFound) {
		e.forget(test)
		return Next{Done: true}, nil
	}
	if err != nil {
		return Next{}, fmt.Errorf("load test %s: %w", test, err)
	}
	if record.ID != test {
		return Next{}, assertionFailed("the store returned test %s for %s", record.ID, test)
	}
	run := &stepRun{Engine: e, in: Input{Record: record, Options: e.config.Options}}
	if seen != nil && seen.ID == record.Status.WorkspaceID && seen.ID != uuid.Nil {
		run.in.Seen.Workspaces = map[uuid.UUID]Result[core.Workspace]{seen.ID: {Done: true, Value: *seen}}
		run.streamed = true
	}
	next, err := run.step(ctx)
	if err != nil {
		return Next{}, fmt.Errorf("test %s: %w", test, err)
	}
	if next.Done {
		e.forget(test)
	}
	next.ControlPlane, next.Owner = record.Spec.ControlPlaneRef, run.in.Record.Status.OwnerID
	return next, nil
}

// forget drops what is remembered about a test.
func (e *Engine) forget(test uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.limited, test)
	delete(e.evidenced, test)
	delete(e.moved, test)
}

// freshness is how a step loads its record: live after a decision that was dropped.
func (e *Engine) freshness(test uuid.UUID) ports.Freshness {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.moved[test] {
		return ports.Cached
	}
	delete(e.moved, test)
	return ports.Live
}
