package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// test is what the driver knows of a test between its steps. Driver.mu guards it.
type test struct {
	id uuid.UUID

	// queued and running are never both set: a test that is woken while it steps is
	// queued when the step ends. So no test takes two steps at once.
	queued, running bool
	// due says that the next turn is a step whatever the record says.
	due bool
	// changed says that the record may have changed: the next turn looks.
	changed bool

	timer ports.Timer
	// timerNumber tells the current timer's call from one that came too late.
	timerNumber int
	// failures counts the steps that failed since the last one that did not.
	failures int

	// known is the record as it was read last, after a step.
	known core.Record

	result  Result
	waiters []chan Result
}

// waiting reports whether something asks for a turn.
func (t *test) waiting() bool { return t.due || t.changed }

func (t *test) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.timerNumber++
}

// tell gives a result to everyone who waits.
func (t *test) tell(result Result) {
	t.result = result
	for _, waiter := range t.waiters {
		waiter <- result
	}
	t.waiters = nil
}

// enqueue queues a test that asks for a turn, unless it has one already. Driver.mu
// is held.
func (d *Driver) enqueue(t *test) {
	if t.queued || t.running || !t.waiting() || d.stopping {
		return
	}
	t.queued = true
	d.queue = append(d.queue, t)
	d.work.Signal()
}

// schedule makes the test due after a while; at once means after those that are
// queued already. Driver.mu is held.
func (d *Driver) schedule(t *test, after time.Duration) {
	t.stopTimer()
	if d.stopping {
		return
	}
	if after <= 0 {
		t.due = true
		return
	}
	number := t.timerNumber
	t.timer = d.clock.AfterFunc(after, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if t.timerNumber == number {
			t.due = true
			d.enqueue(t)
		}
	})
}

// recordChanged hears that a record changed, perhaps by the test's own step.
func (d *Driver) recordChanged(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tests[id]; t != nil {
		t.changed = true
		d.enqueue(t)
	}
}

// workspaceSeen has a test step that was told something of its workspace. It waits for
// the timer of a test whose steps fail: a lively stream must not turn a backoff into a
// storm.
func (d *Driver) workspaceSeen(_ context.Context, id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A step that began meanwhile may have taken it.
	if t := d.tests[id]; t != nil && t.failures == 0 && d.streams.News(id) {
		t.due = true
		d.enqueue(t)
	}
}
