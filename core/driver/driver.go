package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/core/streams"
	"github.com/assay-dev/assay/ports"
)

// DefaultWorkers is how many tests step at once when Config does not say. A step mostly
// waits for answers.
const DefaultWorkers = 32

// Engine is what the driver needs of *lifecycle.Engine.
type Engine interface {
	// Step does one step of a test; seen, if not nil, is what the test's stream
	// brought last.
	Step(ctx context.Context, test uuid.UUID, seen *core.Workspace) (lifecycle.Next, error)
	streams.Source
}

// Records is what the driver needs of a ports.TestRegistry.
type Records interface {
	Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error)
	Changes(ctx context.Context, on func(id uuid.UUID)) error
}

// Config is what a Driver is made of.
type Config struct {
	Engine  Engine
	Records Records
	Clock   ports.Clock
	// Logger hears of failed steps and of streams that ended; nil means nobody.
	Logger *slog.Logger
	// Workers bounds how many steps run at once; 0 means DefaultWorkers.
	Workers int
	// Streams bounds the open streams as streams.Config.Most does.
	Streams int
	// Left, if not nil, is called with each test that leaves the driver, because it is done
	// or because another process runs it, and not with those that Stop leaves behind.
	Left func(id uuid.UUID)
}

// Driver steps tests until they are done. Make it with New, start it with Run.
type Driver struct {
	engine  Engine
	records Records
	clock   ports.Clock
	log     *slog.Logger
	workers int
	left    func(id uuid.UUID)

	streams *streams.Streams[uuid.UUID]
	// running counts the workers, listening the goroutine that hears of changed records.
	running, listening sync.WaitGroup

	mu sync.Mutex
	// work is signaled when the queue grows or the driver stops.
	work *sync.Cond
	// tests are the ones being driven; a done test leaves.
	tests map[uuid.UUID]*test
	// queue holds the tests that are to step, in the order they were woken.
	queue    []*test
	started  bool
	stopping bool
}

// New makes a driver without tests. It starts nothing.
func New(config Config) (*Driver, error) {
	if config.Engine == nil || config.Records == nil || config.Clock == nil {
		return nil, errors.New("driver: engine, records and clock must be set")
	}
	d := &Driver{
		engine: config.Engine, records: config.Records, clock: config.Clock,
		log: config.Logger, workers: config.Workers, left: config.Left, tests: map[uuid.UUID]*test{},
	}
	if d.left == nil {
		d.left = func(uuid.UUID) {}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.workers <= 0 {
		d.workers = DefaultWorkers
	}
	d.work = sync.NewCond(&d.mu)
	d.streams = streams.New(streams.Config[uuid.UUID]{
		Source: d.engine, Wake: d.workspaceSeen, Clock: d.clock, Logger: d.log, Most: config.Streams,
	})
	return d, nil
}

// Run steps the tests until Stop is called or ctx is done. Stop lets running steps
// end, and Run returns nil; a done ctx cancels them, and Run returns its error. A
// driver runs once.
func (d *Driver) Run(ctx context.Context) error {
	d.mu.Lock()
	if d.started {
		d.mu.Unlock()
		return errors.New("driver: it runs, or ran, already")
	}
	d.started = true
	if d.stopping {
		d.mu.Unlock()
		return nil
	}
	listening, endListening := context.WithCancel(ctx)
	defer endListening()
	for range d.workers {
		d.running.Go(func() { d.takeSteps(ctx) })
	}
	d.listening.Go(func() { d.listen(listening) })
	d.mu.Unlock()

	defer context.AfterFunc(ctx, d.beginStop)()
	d.running.Wait()
	endListening()
	d.streams.Close()
	d.listening.Wait()
	return ctx.Err()
}

// Stop lets no further step begin and returns when the running ones ended. The
// records stay as they are: a later driver goes on from them. Those in Wait stay
// there until their own context is done.
func (d *Driver) Stop() {
	d.beginStop()
	d.running.Wait()
}

func (d *Driver) beginStop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopping = true
	for _, t := range d.tests {
		t.stopTimer()
	}
	d.work.Broadcast()
}

// Add drives the test from now on, beginning with a step at once. For a test that is
// driven already it means the same as a change of its record that must not wait:
// the test steps now.
func (d *Driver) Add(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tests[id]
	if t == nil {
		t = &test{id: id}
		d.tests[id] = t
	}
	t.due = true
	d.enqueue(t)
}

// Result is how far a test came.
type Result struct {
	// Record is what was read last. It is the record before it disappeared when Gone
	// is set, and the zero record when nothing was ever read.
	Record core.Record
	// Done: the driver has nothing more to do for the test.
	Done bool
	// AtRest: the driver goes on, but only a person or a policy can move the test.
	AtRest bool
	// Gone: the record is stored no longer.
	Gone bool
	// Lost: another process runs the test, and this driver stopped.
	Lost bool
}

// ErrNotDriven is the error of Wait for an unfinished test that was not added.
var ErrNotDriven = errors.New("the test is not driven here")

// Wait blocks until the test is done, at rest or lost, or ctx is done. A test that left the
// driver earlier is judged by its record.
func (d *Driver) Wait(ctx context.Context, id uuid.UUID) (Result, error) {
	d.mu.Lock()
	t := d.tests[id]
	if t == nil {
		d.mu.Unlock()
		return d.finished(ctx, id)
	}
	if result := t.result; result.AtRest {
		d.mu.Unlock()
		return result, nil
	}
	waiter := make(chan Result, 1)
	t.waiters = append(t.waiters, waiter)
	d.mu.Unlock()

	select {
	case result := <-waiter:
		return result, nil
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		t.waiters = slices.DeleteFunc(t.waiters, func(c chan Result) bool { return c == waiter })
		return Result{}, ctx.Err()
	}
}

// finished is the result of a test that is not driven.
func (d *Driver) finished(ctx context.Context, id uuid.UUID) (Result, error) {
	record, err := d.records.Load(ctx, id, ports.Live)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return Result{Done: true, Gone: true}, nil
	case err != nil:
		return Result{}, err
	case record.Status.Phase.Final() && !record.Held:
		return Result{Record: record, Done: true}, nil
	case lifecycle.AtRest(record):
		return Result{Record: record, AtRest: true}, nil
	default:
		return Result{}, fmt.Errorf("wait for test %s: %w", id, ErrNotDriven)
	}
}
