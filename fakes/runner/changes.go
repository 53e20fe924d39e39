package runner

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// CreateWorkspace implements ports.WorkspaceChanger.
func (r *Runner) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	c, err := r.change(ctx, "create workspace", path{"/users/", request.OwnerID, "/workspaces"})
	if err != nil {
		return core.Workspace{}, err
	}
	asked := world.CreateWorkspace{
		Owner: request.OwnerID, Version: request.VersionID, Name: request.Name,
		Preset: request.PresetID, TTL: request.TTL,
	}
	for _, p := range request.Parameters {
		asked.Parameters = append(asked.Parameters, world.ParameterValue{Name: p.Name, Value: p.Value})
	}
	ws, err := c.world.CreateWorkspace(c.actor, asked)
	if err != nil {
		return core.Workspace{}, c.failure(err)
	}
	return toWorkspace(ws), nil
}

// CancelBuild implements ports.WorkspaceChanger.
func (r *Runner) CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error {
	c, err := r.change(ctx, "cancel build", path{"/workspacebuilds/", build, "/cancel"})
	if err != nil {
		return err
	}
	if err := c.world.CancelBuild(c.actor, build, expected); err != nil {
		return c.failure(err)
	}
	return nil
}

// DeleteWorkspace implements ports.WorkspaceChanger.
func (r *Runner) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	c, err := r.change(ctx, "delete workspace", path{"/workspaces/", workspace, "/builds"})
	if err != nil {
		return core.Build{}, err
	}
	b, err := c.world.CreateBuild(c.actor, workspace, world.CreateBuild{Transition: core.TransitionDelete})
	if err != nil {
		return core.Build{}, c.failure(err)
	}
	return toBuild(b), nil
}
