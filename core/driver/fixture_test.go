package driver_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

// fixture is a driver over an engine and records that a test controls. It lives in a
// synctest bubble: settle returns once nothing moves, and only the virtual clock lets
// time pass.
type fixture struct {
	*driver.Driver
	clock   *clock.Clock
	engine  *engine
	records *records
	ran     chan error
	cancel  context.CancelFunc
}

// inBubble runs a test with a running driver.
func inBubble(t *testing.T, config driver.Config, f func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		fx := &fixture{clock: virtual, ran: make(chan error, 1)}
		fx.records = &records{byID: map[uuid.UUID]core.Record{}, listeners: map[int]func(uuid.UUID){}}
		fx.engine = &engine{records: fx.records, clock: virtual, streams: map[uuid.UUID]chan core.Workspace{}}
		config.Engine, config.Records, config.Clock = fx.engine, fx.records, virtual
		d, err := driver.New(config)
		if err != nil {
			t.Fatal(err)
		}
		fx.Driver = d
		ctx, cancel := context.WithCancel(t.Context())
		fx.cancel = cancel
		defer cancel()
		go func() { fx.ran <- d.Run(ctx) }()
		synctest.Wait()
		f(t, fx)
		d.Stop()
		synctest.Wait()
	})
}

// settle waits until every goroutine waits, and returns the steps since the last
// call.
func (f *fixture) settle() []call {
	synctest.Wait()
	return f.engine.takeCalls()
}

// advance lets time pass and settles.
func (f *fixture) advance(d time.Duration) []call {
	f.clock.Advance(d)
	return f.settle()
}

// add makes a record and drives it.
func (f *fixture) add(step stepFunc) uuid.UUID {
	id := f.records.create()
	f.engine.mu.Lock()
	if f.engine.steps == nil {
		f.engine.steps = map[uuid.UUID]stepFunc{}
	}
	f.engine.steps[id] = step
	f.engine.mu.Unlock()
	f.Add(id)
	return id
}

// wantSteps fails unless there were n steps.
func wantSteps(t *testing.T, calls []call, n int, why string) {
	t.Helper()
	if len(calls) != n {
		t.Fatalf("%d steps, want %d: %s (steps: %v)", len(calls), n, why, calls)
	}
}

type stepFunc func(ctx context.Context, id uuid.UUID, seen *core.Workspace) (lifecycle.Next, error)

// wait is a step that only says when to look again.
func wait(after time.Duration) stepFunc {
	return func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
		return lifecycle.Next{After: after}, nil
	}
}

type call struct {
	test uuid.UUID
	at   time.Duration
	seen *core.Workspace
}

func (c call) String() string { return fmt.Sprintf("at %v, seen %v", c.at, c.seen != nil) }

type engine struct {
	records *records
	clock   *clock.Clock

	mu      sync.Mutex
	steps   map[uuid.UUID]stepFunc
	calls   []call
	running map[uuid.UUID]bool
	// most is the largest number of steps that ran at once; twice tells that a
	// test had two.
	most  int
	twice bool
	// streams are the open ones by workspace; opened counts every opening.
	streams map[uuid.UUID]chan core.Workspace
	opened  int
	refs    []string
}

func (e *engine) Step(ctx context.Context, test uuid.UUID, seen *core.Workspace) (lifecycle.Next, error) {
	e.mu.Lock()
	if e.running == nil {
		e.running = map[uuid.UUID]bool{}
	}
	e.twice = e.twice || e.running[test]
	e.running[test] = true
	e.most = max(e.most, len(e.running))
	e.calls = append(e.calls, call{test, e.clock.Monotonic(), seen})
	step := e.steps[test]
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.running, test)
	}()
	if step == nil {
		return lifecycle.Next{Done: true}, nil
	}
	next, err := step(ctx, test, seen)
	next.ControlPlane = "main"
	return next, err
}

func (e *engine) WatchWorkspace(ctx context.Context, ref string, workspace uuid.UUID, on func(core.Workspace)) error {
	events := make(chan core.Workspace)
	e.mu.Lock()
	e.streams[workspace] = events
	e.opened++
	e.refs = append(e.refs, ref)
	e.mu.Unlock()
	for {
		select {
		case event, open := <-events:
			if !open {
				return fmt.Errorf("the stream broke")
			}
			on(event)
		case <-ctx.Done():
			e.mu.Lock()
			delete(e.streams, workspace)
			e.mu.Unlock()
			return nil
		}
	}
}

// OwnedWorkspaces is not asked here: every test has a stream.
func (e *engine) OwnedWorkspaces(context.Context, string, uuid.UUID) ([]core.Workspace, error) {
	return nil, fmt.Errorf("no workspaces are listed here")
}

func (e *engine) takeCalls() []call {
	e.mu.Lock()
	defer e.mu.Unlock()
	calls := e.calls
	e.calls = nil
	return calls
}

// stream returns the open stream of a workspace, nil for none.
func (e *engine) stream(workspace uuid.UUID) chan core.Workspace {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams[workspace]
}

// records is a registry of what the driver reads.
type records struct {
	mu        sync.Mutex
	byID      map[uuid.UUID]core.Record
	revision  int
	listeners map[int]func(uuid.UUID)
	// broken makes every Load and the running and next Changes fail.
	broken  bool
	breakUp chan struct{}
}

func (r *records) create() uuid.UUID {
	id := uuid.New()
	r.change(id, func(record *core.Record) {
		record.ID, record.Held = id, true
		record.Spec.ControlPlaneRef = "main"
	})
	return id
}

// change stores a record and tells of it.
func (r *records) change(id uuid.UUID, f func(record *core.Record)) {
	r.mu.Lock()
	record := r.byID[id]
	f(&record)
	r.revision++
	record.Revision = fmt.Sprint(r.revision)
	r.byID[id] = record
	listeners := maps.Clone(r.listeners)
	r.mu.Unlock()
	for _, on := range listeners {
		on(id)
	}
}

func (r *records) delete(id uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
}

func (r *records) Load(_ context.Context, id uuid.UUID, _ ports.Freshness) (core.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return core.Record{}, fmt.Errorf("the disk is gone")
	}
	record, ok := r.byID[id]
	if !ok {
		return core.Record{}, ports.ErrNotFound
	}
	return record, nil
}

func (r *records) Changes(ctx context.Context, on func(uuid.UUID)) error {
	r.mu.Lock()
	if r.broken {
		r.mu.Unlock()
		return fmt.Errorf("the disk is gone")
	}
	number := r.revision + len(r.listeners)
	r.listeners[number] = on
	breakUp := make(chan struct{})
	r.breakUp = breakUp
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, number)
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-breakUp:
		return fmt.Errorf("the disk is gone")
	}
}
