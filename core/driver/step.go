package driver

import (
	"context"
	"errors"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/core/streams"
	"github.com/assay-dev/assay/ports"
)

// The pause after a failure doubles from firstPause to longestPause.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// pauseAfter is the pause after so many failures in a row, from 1 on.
func pauseAfter(failures int) time.Duration {
	pause := firstPause
	for ; failures > 1 && pause < longestPause; failures-- {
		pause *= 2
	}
	return min(pause, longestPause)
}

// takeSteps is one worker: it gives turns to tests until the driver stops.
func (d *Driver) takeSteps(ctx context.Context) {
	for {
		turn, ok := d.next()
		if !ok {
			return
		}
		d.take(ctx, turn)
	}
}

// turn is what a worker needs for a turn of a test.
type turn struct {
	test *test
	// due is false when only the record may have changed.
	due   bool
	seen  *core.Workspace
	known core.Record
}

// next waits for a test that asks for a turn; false once the driver stops.
func (d *Driver) next() (turn, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) == 0 && !d.stopping {
		d.work.Wait()
	}
	if d.stopping {
		return turn{}, false
	}
	t := d.queue[0]
	d.queue = d.queue[1:]
	t.queued, t.running = false, true
	taken := turn{test: t, due: t.due, known: t.known}
	t.due, t.changed = false, false
	if taken.due {
		taken.seen = d.streams.Take(t.id)
		t.stopTimer()
	}
	return taken, true
}

// take does a turn: a step, or the finding that none is needed.
func (d *Driver) take(ctx context.Context, turn turn) {
	t := turn.test
	if !turn.due || turn.known.Revision == "" {
		record, err := d.records.Load(ctx, t.id, ports.Live)
		// The steps' own writes are told as changes too.
		if !turn.due && err == nil && record.Revision == turn.known.Revision {
			d.pass(t)
			return
		}
		if err == nil {
			turn.known = record
		}
	}
	if !turn.due {
		turn.seen = d.takeSeen(t)
	}
	next, err := d.engine.Step(ctx, t.id, turn.seen)
	after, loadErr := d.records.Load(ctx, t.id, ports.Live)
	if d.ended(ctx, turn, outcome{next, err, after, loadErr}) {
		d.left(t.id)
	}
}

// outcome is what came of a step, and the record after it.
type outcome struct {
	next    lifecycle.Next
	err     error
	after   core.Record
	loadErr error
}

// ended plans what comes after a step, and reports whether the test leaves.
func (d *Driver) ended(ctx context.Context, turn turn, o outcome) (leaves bool) {
	t, next, err, after, loadErr := turn.test, o.next, o.err, o.after, o.loadErr
	d.mu.Lock()
	defer d.mu.Unlock()
	t.running = false
	if loadErr == nil {
		t.known = after
	} else {
		t.known = turn.known
	}
	switch {
	case errors.Is(err, ports.ErrLeased):
		// Nothing that this process would store is taken any more.
		d.log.Warn("another process runs the test; it goes on there", "test", t.id, "error", err)
		d.finish(t, Result{Record: t.known, Lost: true})
		return true
	case err != nil:
		d.failed(ctx, t, err)
	case next.Done:
		d.finish(t, Result{Record: t.known, Done: true, Gone: errors.Is(loadErr, ports.ErrNotFound)})
		return true
	default:
		// A record that is gone takes one more step, which says so.
		gone := errors.Is(loadErr, ports.ErrNotFound)
		d.goOn(t, next, gone || loadErr == nil && wishedMeanwhile(turn.known, after))
	}
	d.enqueue(t)
	return false
}

// pass ends a turn without a step.
func (d *Driver) pass(t *test) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.running = false
	d.enqueue(t)
}

// takeSeen takes the stream's newest event for a step, and the timer with it.
func (d *Driver) takeSeen(t *test) *core.Workspace {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.stopTimer()
	return d.streams.Take(t.id)
}

// wishedMeanwhile reports whether a person wished something between two reads of
// the record. A step that read the record before the wish does not know of it, and
// the record's new revision can be the step's own.
func wishedMeanwhile(before, after core.Record) bool {
	return before.DeletionRequested() != after.DeletionRequested() || before.DeletionPolicy != after.DeletionPolicy
}

// failed plans the next try. Driver.mu is held.
func (d *Driver) failed(ctx context.Context, t *test, err error) {
	if ctx.Err() != nil {
		return
	}
	t.failures++
	pause := pauseAfter(t.failures)
	d.log.Warn("the step of a test failed", "test", t.id, "failures", t.failures, "retryIn", pause, "error", err)
	d.schedule(t, pause)
}

// goOn does what a step asked for. Driver.mu is held.
func (d *Driver) goOn(t *test, next lifecycle.Next, again bool) {
	t.failures = 0
	if !d.stopping {
		d.streams.Follow(t.id, streams.Target{ControlPlane: next.ControlPlane, Owner: next.Owner, Workspace: next.Watch})
	}
	switch {
	case again:
		next.After = 0
	case d.streams.Working(t.id):
		next.After = max(next.After, next.Heard)
	}
	d.schedule(t, next.After)
	if d.streams.News(t.id) {
		// It came while the step ran.
		t.due = true
	}
	if !again && lifecycle.AtRest(t.known) {
		t.tell(Result{Record: t.known, AtRest: true})
	} else {
		t.result = Result{}
	}
}

// finish lets a test go. Driver.mu is held.
func (d *Driver) finish(t *test, result Result) {
	t.stopTimer()
	d.streams.End(t.id)
	delete(d.tests, t.id)
	t.tell(result)
}
