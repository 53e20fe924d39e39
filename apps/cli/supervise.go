package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// supervision looks after tests that run side by side: it has signals stop them, and
// bounds their cleanups. session.supervise makes it.
type supervision struct {
	*session
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
func (s *session) supervise(ctx context.Context, cleanupTimeout time.Duration, body func(*supervision)) os.Signal {
	w := &supervision{
		session: s, ctx: ctx, cleanupTimeout: cleanupTimeout, stopped: make(chan struct{}), leaving: make(chan struct{}),
	}
	done := make(chan struct{})
	go func() { defer close(done); body(w) }()
	var signals patienceWithSignals
	for {
		select {
		case <-done:
			return signals.first
		case signal := <-s.env.Signals:
			first, second := signals.take(s.env.Clock, signal)
			switch {
			case first:
				w.mu.Lock()
				w.signal = signal
				w.mu.Unlock()
				fmt.Fprintf(s.progress, "stopping: what was made is deleted, which may take up to %v; a second signal leaves at once\n", cleanupTimeout)
				w.stop()
			case second:
				// The wish to stop is stored, so no create can be announced after the last
				// read of the records.
				close(w.leaving)
				<-done
				s.abandon()
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

// begin stores a new test and has it driven. An error means that no test was stored;
// errStopping, that it was not to be.
func (w *supervision) begin(record core.Record) (core.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return core.Record{}, errStopping
	}
	stored, err := w.start(w.ctx, record)
	if err != nil {
		return core.Record{}, err
	}
	w.drive(stored)
	return stored, nil
}

// goOn has a test driven that is stored already, and whose lease is taken.
func (w *supervision) goOn(record core.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drive(record)
	if w.stopping {
		w.stopOne(record.ID)
	}
}

func (w *supervision) drive(record core.Record) {
	w.tracker.start(record)
	w.running = append(w.running, record.ID)
	w.driver.Add(record.ID)
}

// follow waits until nothing is left to do for a test, only a person can move it, its
// cleanup takes too long, or a second signal comes. The cleanup's time begins with the
// verdict, or when the tests are stopped; at once for one that was stopped before.
func (w *supervision) follow(id uuid.UUID) ending {
	waiting, stopWaiting := context.WithCancel(w.ctx)
	defer stopWaiting()
	ended := make(chan error, 1)
	go func() {
		_, err := w.driver.Wait(waiting, id)
		ended <- err
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
			return ending{record: w.lastRecord(context.WithoutCancel(w.ctx), id), err: err}
		case <-stopped:
			stopped = nil
			startTimer()
		case <-verdict:
			verdict = nil
			startTimer()
		case <-tooLong:
			return ending{record: w.lastRecord(w.ctx, id), gaveUp: true}
		case <-w.leaving:
			return ending{record: w.lastRecord(w.ctx, id), abandoned: true}
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
		w.stopOne(id)
	}
	close(w.stopped)
}

func (w *supervision) stopOne(id uuid.UUID) {
	record, err := w.state.Load(w.ctx, id, ports.Live)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return
	case err == nil && record.Status.Phase.Final():
		// It keeps its verdict, its record and what it was asked to do with the workspace;
		// its cleanup is under way.
		w.driver.Add(id)
		return
	case err == nil:
		// A workspace is kept for a failure that somebody wants to look at. Without a
		// verdict there is none.
		err := w.state.SetDeletionPolicy(w.ctx, id, string(core.DeletionPolicyDelete))
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			fmt.Fprintf(w.progress, "the workspace may be kept: %v\n", err)
		}
	}
	err = w.state.RequestDeletion(w.ctx, id)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		fmt.Fprintf(w.progress, "the wish to stop could not be stored, the test goes on: %v\n", err)
	}
	w.driver.Add(id)
}
