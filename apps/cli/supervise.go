package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// host is where tests run: in this process, which is a session, or on a server.
type host interface {
	runsTests
	tellsOfTests
}

type runsTests interface {
	// start stores a new test. An error means that none was stored, or that nobody knows;
	// then whoever stored it ends it.
	start(ctx context.Context, record core.Record) (core.Record, error)
	// drive has a stored test run, or look at once at what changed for it.
	drive(id uuid.UUID)
	// wait returns when nothing is left to do for the test, or only a person can move it.
	wait(ctx context.Context, id uuid.UUID) error
	// stop stores the wish that a test stops. One that has its verdict keeps it.
	stop(ctx context.Context, id uuid.UUID)
	// abandon ends at once what is under way here.
	abandon()
}

type tellsOfTests interface {
	// last is the record as it is stored, or as it was known last.
	last(ctx context.Context, id uuid.UUID) core.Record
	// course is how the test went until now, and on which version of Coder.
	course(id uuid.UUID, now time.Time) (stages []report.Stage, coderVersion string)
	// finishes says, of a test whose end nobody here waits for, who sees to it.
	finishes(id uuid.UUID) string
	// waysOut says what to do about an owner who may not own test workspaces.
	waysOut() string
}

// observers see how tests go.
type observers struct {
	env      Env
	tracker  *tracker
	progress *terminal.Progress
	evidence *terminal.Evidence
}

// supervision looks after tests that run side by side: it has signals stop them, and
// bounds their cleanups.
type supervision struct {
	observers
	host           host
	ctx            context.Context
	cleanupTimeout time.Duration
	// stopped is closed once the tests are asked to stop: none begins any more.
	stopped chan struct{}
	// leaving is closed by a second signal: nothing is waited for any more.
	leaving chan struct{}

	mu sync.Mutex
	// signal is the first one that came, nil for none.
	signal   os.Signal
	stopping bool
	running  []uuid.UUID
}

// errStopping tells that a test was not begun because the others are being stopped.
var errStopping = errors.New("the tests are being stopped")

// supervise calls body, which begins tests and follows them to their ends, and returns
// the first signal that came meanwhile, nil for none. The first one stops the tests, the
// second one ends the waits.
func supervise(ctx context.Context, h host, o observers, cleanupTimeout time.Duration, body func(*supervision)) os.Signal {
	w := &supervision{
		observers: o, host: h, ctx: ctx, cleanupTimeout: cleanupTimeout, stopped: make(chan struct{}), leaving: make(chan struct{}),
	}
	done := make(chan struct{})
	go func() { defer close(done); body(w) }()
	var signals patienceWithSignals
	for {
		select {
		case <-done:
			return signals.first
		case signal := <-o.env.Signals:
			first, second := signals.take(o.env.Clock, signal)
			switch {
			case first:
				w.mu.Lock()
				w.signal = signal
				w.mu.Unlock()
				fmt.Fprintf(o.progress, "stopping: what was made is deleted, which may take up to %v; a second signal leaves at once\n", cleanupTimeout)
				w.stop()
			case second:
				// The wish to stop is stored, so no create can be announced after the last
				// read of the records.
				close(w.leaving)
				<-done
				h.abandon()
				return signals.first
			}
		}
	}
}

// interrupted is the first signal that came so far, nil for none.
func (w *supervision) interrupted() os.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.signal
}

// begin stores a new test and has it driven. An error means that no test was stored, as
// far as anybody knows; errStopping, that it was not to be.
func (w *supervision) begin(record core.Record) (core.Record, error) {
	w.mu.Lock()
	stopping := w.stopping
	w.mu.Unlock()
	if stopping {
		return core.Record{}, errStopping
	}
	// A server can take its time, and a signal must be obeyed meanwhile.
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	begun := make(chan struct{})
	defer close(begun)
	go func() {
		select {
		case <-w.leaving:
			cancel()
		case <-begun:
		}
	}()
	stored, err := w.host.start(ctx, record)
	if err != nil {
		return core.Record{}, err
	}
	w.goOn(stored)
	return stored, nil
}

// goOn has a test driven that is stored already, and that nobody else drives.
func (w *supervision) goOn(record core.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tracker.start(record)
	w.running = append(w.running, record.ID)
	w.host.drive(record.ID)
	if w.stopping {
		w.host.stop(w.ctx, record.ID)
	}
}

// follow waits until nothing is left to do for a test, only a person can move it, its
// cleanup takes too long, or a second signal comes. The cleanup's time begins with the
// verdict, or when the tests are stopped; at once for one that was stopped before.
func (w *supervision) follow(id uuid.UUID) ending {
	waiting, stopWaiting := context.WithCancel(w.ctx)
	defer stopWaiting()
	ended := make(chan error, 1)
	go func() {
		ended <- w.host.wait(waiting, id)
	}()
	tooLong := make(chan struct{})
	var timer ports.Timer
	startTimer := func() {
		if timer == nil {
			timer = w.env.Clock.AfterFunc(w.cleanupTimeout, func() { close(tooLong) })
		}
	}
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	verdict, stopped := w.tracker.verdict(id), w.stopped
	if begun := w.tracker.record(id); begun.DeletionRequested() {
		// It never gets a verdict.
		startTimer()
	}
	for {
		select {
		case err := <-ended:
			return ending{record: w.host.last(context.WithoutCancel(w.ctx), id), err: err}
		case <-stopped:
			stopped = nil
			startTimer()
		case <-verdict:
			verdict = nil
			startTimer()
		case <-tooLong:
			return ending{record: w.host.last(w.ctx, id), gaveUp: true}
		case <-w.leaving:
			return ending{record: w.host.last(w.ctx, id), abandoned: true}
		}
	}
}

// stop stores the wish that the tests stop, and has them step at once. Repeating it does
// nothing.
func (w *supervision) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return
	}
	w.stopping = true
	for _, id := range w.running {
		w.host.stop(w.ctx, id)
	}
	close(w.stopped)
}
