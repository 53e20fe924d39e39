package runner

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// WatchWorkspace implements ports.WorkspaceWatcher. Changes that follow each other
// faster than on returns are told as one.
func (r *Runner) WatchWorkspace(ctx context.Context, workspace uuid.UUID, on func(core.Workspace)) error {
	c, err := r.read(ctx, "watch workspace", path{"/workspaces/", workspace, "/watch"})
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	watch, err := c.world.Watch(c.actor, workspace, func() {
		select {
		case changed <- struct{}{}:
		default: // the reader has not seen the last change yet either
		}
	})
	if err != nil {
		return c.failure(err)
	}
	defer watch.Close()
	for first := true; ; first = false {
		ws, err := watch.Look()
		switch {
		case err != nil:
			return c.failure(err)
		case !first || !ws.Deleted: // a stream of a deleted workspace is silent
			on(toWorkspace(ws))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
