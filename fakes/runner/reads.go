package runner

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// Deployment implements ports.DeploymentReader.
func (r *Runner) Deployment(ctx context.Context) (core.Deployment, error) {
	c := call{op: "read deployment"}
	if err := ctx.Err(); err != nil {
		return core.Deployment{}, c.neverSent(err.Error())
	}
	w := r.at()
	if w == nil {
		return core.Deployment{}, c.neverSent("connection refused")
	}
	return w.Deployment(), nil
}

// Operator implements ports.DeploymentReader.
func (r *Runner) Operator(ctx context.Context) (core.User, error) {
	c, err := r.read(ctx, "read operator", path{before: "/users/me"})
	if err != nil {
		return core.User{}, err
	}
	u, err := c.world.User(c.actor, c.actor)
	if err != nil {
		return core.User{}, c.failure(err)
	}
	user := toUser(u)
	user.Memberships = nil
	return user, nil
}

// Owner implements ports.InputReader.
func (r *Runner) Owner(ctx context.Context, id uuid.UUID) (core.User, error) {
	c, err := r.read(ctx, "read owner", path{"/users/", id, ""})
	if err != nil {
		return core.User{}, err
	}
	u, err := c.world.User(c.actor, id)
	if err != nil {
		return core.User{}, c.failure(err)
	}
	return toUser(u), nil
}

// FindUser implements ports.UserFinder.
func (r *Runner) FindUser(ctx context.Context, name string) (core.User, error) {
	c, err := r.read(ctx, "find user", path{before: "/users/", after: name})
	if err != nil {
		return core.User{}, err
	}
	u, err := c.world.User(c.actor, c.world.UserID(c.actor, name))
	if err != nil {
		return core.User{}, c.failure(err)
	}
	user := toUser(u)
	user.SiteRoles, user.Memberships = nil, nil
	return user, nil
}

// Organization implements ports.InputReader.
func (r *Runner) Organization(ctx context.Context, name string) (core.Organization, error) {
	c, err := r.read(ctx, "find organization", path{before: "/organizations/", after: name})
	if err != nil {
		return core.Organization{}, err
	}
	org, err := c.world.Organization(c.actor, name)
	if err != nil {
		return core.Organization{}, c.failure(err)
	}
	return core.Organization{ID: org.ID, Name: org.Name}, nil
}

// Template implements ports.InputReader.
func (r *Runner) Template(ctx context.Context, organization uuid.UUID, name string) (core.Template, error) {
	c, err := r.read(ctx, "find template", path{"/organizations/", organization, "/templates/" + name})
	if err != nil {
		return core.Template{}, err
	}
	t, err := c.world.TemplateByName(c.actor, organization, name)
	if err != nil {
		return core.Template{}, c.failure(err)
	}
	return core.Template{
		ID: t.ID, Name: t.Name, OrganizationID: t.Organization.ID, ActiveVersionID: t.ActiveVersion,
		Deprecated: t.Deprecated != "", ClassicParameters: t.Classic,
	}, nil
}

// VersionByName implements ports.InputReader.
func (r *Runner) VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error) {
	c, err := r.read(ctx, "find version", path{"/templates/", template, "/versions/" + name})
	if err != nil {
		return core.TemplateVersion{}, err
	}
	v, err := c.world.VersionByName(c.actor, template, name)
	if err != nil {
		return core.TemplateVersion{}, c.failure(err)
	}
	return toVersion(v), nil
}

// Version implements ports.InputReader.
func (r *Runner) Version(ctx context.Context, id uuid.UUID) (core.TemplateVersion, error) {
	c, err := r.read(ctx, "read version", path{"/templateversions/", id, ""})
	if err != nil {
		return core.TemplateVersion{}, err
	}
	v, err := c.world.TemplateVersion(c.actor, id)
	if err != nil {
		return core.TemplateVersion{}, c.failure(err)
	}
	return toVersion(v), nil
}

// ExternalAuth implements ports.InputChecker.
func (r *Runner) ExternalAuth(ctx context.Context, version, owner uuid.UUID) ([]core.ExternalAuth, error) {
	c, err := r.read(ctx, "read external auth", path{"/templateversions/", version, "/external-auth"})
	if err != nil {
		return nil, err
	}
	auths, err := c.world.ExternalAuths(c.actor, version, owner)
	if err != nil {
		return nil, c.failure(err)
	}
	var found []core.ExternalAuth
	for _, auth := range auths {
		found = append(found, core.ExternalAuth{
			ID: auth.Provider, Optional: auth.Optional, Authenticated: auth.Authenticated,
		})
	}
	return found, nil
}

// FindWorkspace implements ports.WorkspaceReader.
func (r *Runner) FindWorkspace(ctx context.Context, owner uuid.UUID, name string) (core.NameLookup, error) {
	c, err := r.read(ctx, "find workspace", path{"/users/", owner, "/workspace/" + name})
	if err != nil {
		return core.NameLookup{}, err
	}
	lookup := core.NameLookup{ServerTime: serverTime(c.world)}
	ws, err := c.world.WorkspaceByName(c.actor, owner, name, true)
	if err != nil {
		if err = c.failure(err); core.AsFailure(err).Class == core.FailureNotFound {
			return lookup, nil
		}
		return core.NameLookup{}, err
	}
	found := toWorkspace(ws)
	lookup.Workspace = &found
	return lookup, nil
}

// Workspace implements ports.WorkspaceReader.
func (r *Runner) Workspace(ctx context.Context, id uuid.UUID) (core.Workspace, error) {
	c, err := r.read(ctx, "read workspace", path{"/workspaces/", id, ""})
	if err != nil {
		return core.Workspace{}, err
	}
	ws, err := c.world.Workspace(c.actor, id, true)
	if err != nil {
		return core.Workspace{}, c.failure(err)
	}
	return toWorkspace(ws), nil
}

// Builds implements ports.WorkspaceReader.
func (r *Runner) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	c, err := r.read(ctx, "list builds", path{"/workspaces/", workspace, "/builds"})
	if err != nil {
		return nil, err
	}
	newestFirst, err := c.world.Builds(c.actor, workspace)
	if err != nil {
		return nil, c.failure(err)
	}
	builds := make([]core.Build, 0, len(newestFirst))
	for _, b := range slices.Backward(newestFirst) {
		builds = append(builds, toBuild(b))
	}
	return builds, nil
}

// OwnedWorkspaces implements ports.WorkspaceReader.
func (r *Runner) OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error) {
	c, err := r.read(ctx, "list workspaces", path{before: "/workspaces"})
	if err != nil {
		return nil, err
	}
	var owned []core.Workspace
	for _, ws := range c.world.Workspaces(c.actor, owner.Username) {
		if ws.Owner.ID != owner.ID {
			return nil, &core.Failure{
				Class: core.FailureMismatch, Op: c.op, Status: 200, Message: "the list names a workspace of another owner",
			}
		}
		owned = append(owned, toWorkspace(ws))
	}
	return owned, nil
}

// MayReadWorkspaces implements ports.WorkspaceReader.
func (r *Runner) MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error) {
	c, err := r.read(ctx, "check rights", path{before: "/authcheck"})
	if err != nil {
		return false, err
	}
	return c.world.MayReadWorkspaces(c.actor, owner, organization), nil
}

func serverTime(w *world.World) time.Time { return w.ServerTime().Truncate(time.Second) }
