package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// stream is the following of one workspace.
type stream struct {
	workspace uuid.UUID
	end       context.CancelFunc
}

// follow makes the workspace the one whose stream wakes the test; uuid.Nil means
// none. Driver.mu is held.
func (d *Driver) follow(t *test, workspace uuid.UUID) {
	if t.stream != nil && t.stream.workspace == workspace {
		return
	}
	d.unfollow(t)
	// The record names the control plane; without it the timers have to do.
	if workspace == uuid.Nil || t.known.ID == uuid.Nil || d.stopping {
		return
	}
	ctx, end := context.WithCancel(d.streamContext)
	s := &stream{workspace: workspace, end: end}
	t.stream = s
	controlPlane := t.known.Spec.ControlPlaneRef
	d.streams.Go(func() { d.read(ctx, t, s, controlPlane) })
}

// unfollow ends the test's stream. Driver.mu is held.
func (d *Driver) unfollow(t *test) {
	if t.stream != nil {
		t.stream.end()
		t.stream = nil
	}
	t.seen = nil
}

// read keeps a stream open until ctx is done. Streams end for many harmless
// reasons; a test never depends on one.
func (d *Driver) read(ctx context.Context, t *test, s *stream, controlPlane string) {
	failures := 0
	for ctx.Err() == nil {
		err := d.engine.WatchWorkspace(ctx, controlPlane, s.workspace, func(workspace core.Workspace) {
			failures = 0
			d.workspaceSeen(t, s, workspace)
		})
		if ctx.Err() != nil {
			return
		}
		failures++
		d.log.Debug("the stream of a workspace ended", "test", t.id, "workspace", s.workspace, "error", err)
		if !d.pause(ctx, pauseAfter(failures)) {
			return
		}
	}
}

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
