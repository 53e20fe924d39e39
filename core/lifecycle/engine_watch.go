package lifecycle

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// What wakes tests and proves nothing (package streams).

// WatchWorkspace streams a workspace of the control plane as
// ports.WorkspaceWatcher says.
func (e *Engine) WatchWorkspace(ctx context.Context, controlPlane string, workspace uuid.UUID, on func(core.Workspace)) error {
	entry, err := e.listenTo(ctx, controlPlane)
	if err != nil {
		return fmt.Errorf("watch workspace: %w", err)
	}
	return entry.runner.WatchWorkspace(ctx, workspace, on)
}

// OwnedWorkspaces lists the live workspaces of an owner on the control plane. The owner is
// read the first time, and again after a list that failed.
func (e *Engine) OwnedWorkspaces(ctx context.Context, controlPlane string, owner uuid.UUID) ([]core.Workspace, error) {
	entry, err := e.listenTo(ctx, controlPlane)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	user, known := e.dialed.owner(entry, owner)
	if !known {
		if user, err = entry.runner.Owner(ctx, owner); err != nil {
			return nil, err
		}
	}
	workspaces, err := entry.runner.OwnedWorkspaces(ctx, user)
	e.dialed.rememberOwner(entry, user, err == nil)
	return workspaces, err
}

// listenTo finds the connection of a control plane that can be used.
func (e *Engine) listenTo(ctx context.Context, controlPlane string) (*dialedEntry, error) {
	plane, err := e.config.ControlPlanes.ControlPlane(ctx, controlPlane, ports.Cached)
	if err != nil {
		return nil, fmt.Errorf("find control plane %s: %w", controlPlane, err)
	}
	if plane.State != core.ControlPlaneUsable {
		return nil, fmt.Errorf("control plane %s cannot be used now", controlPlane)
	}
	entry, err := e.dialed.entry(plane.Connection)
	if err != nil {
		return nil, fmt.Errorf("dial control plane %s: %w", controlPlane, err)
	}
	if entry.slow.left(e.config.Clock.Monotonic()) > 0 {
		return nil, fmt.Errorf("control plane %s asked for fewer requests", controlPlane)
	}
	return entry, nil
}
