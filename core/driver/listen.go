package driver

import (
	"context"
	"time"
)

// listen hears of changed records until ctx is done.
func (d *Driver) listen(ctx context.Context) {
	for failures := 1; ctx.Err() == nil; failures++ {
		err := d.records.Changes(ctx, d.recordChanged)
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("listening for changed tests failed", "error", err)
		if !d.pause(ctx, pauseAfter(failures)) {
			return
		}
		d.lookAtAll()
	}
}

// lookAtAll makes up for changes that nobody heard.
func (d *Driver) lookAtAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tests {
		t.changed = true
		d.enqueue(t)
	}
}

// pause waits by the clock; false when ctx is done first.
func (d *Driver) pause(ctx context.Context, length time.Duration) bool {
	over := make(chan struct{})
	timer := d.clock.AfterFunc(length, func() { close(over) })
	select {
	case <-over:
		return true
	case <-ctx.Done():
		timer.Stop()
		return false
	}
}
