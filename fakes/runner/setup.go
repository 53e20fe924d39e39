package runner

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

var (
	_ ports.SetUpReader  = (*Runner)(nil)
	_ ports.AccessReader = (*Runner)(nil)
)

// VersionJob implements ports.SetUpReader.
func (r *Runner) VersionJob(ctx context.Context, version uuid.UUID) (core.VersionJob, error) {
	c, err := r.read(ctx, "read the version's import", path{"/templateversions/", version, ""})
	if err != nil {
		return core.VersionJob{}, err
	}
	v, err := c.world.TemplateVersion(c.actor, version)
	if err != nil {
		return core.VersionJob{}, c.failure(err)
	}
	job := core.VersionJob{Status: v.Import.Status, Tags: v.Import.Tags, Matched: -1, Available: -1}
	if job.Status == core.JobPending {
		job.Matched, job.Available = v.Import.Provisioners, v.Import.Available
	}
	return job, nil
}

// Provisioners implements ports.SetUpReader.
func (r *Runner) Provisioners(ctx context.Context, organization uuid.UUID, tags map[string]string) ([]core.Provisioner, error) {
	c, err := r.read(ctx, "list provisioner daemons", path{"/organizations/", organization, "/provisionerdaemons"})
	if err != nil {
		return nil, err
	}
	listed, err := c.world.Provisioners(c.actor, organization, tags)
	if err != nil {
		return nil, c.failure(err)
	}
	daemons := make([]core.Provisioner, 0, len(listed))
	for _, daemon := range listed {
		daemons = append(daemons, core.Provisioner{Name: daemon.Name, Status: daemon.Status})
	}
	return daemons, nil
}

// Quota implements ports.SetUpReader.
func (r *Runner) Quota(ctx context.Context, organization, owner uuid.UUID) (core.Quota, error) {
	c, err := r.read(ctx, "read quota", path{"/organizations/", organization, "/members/" + owner.String() + "/workspace-quota"})
	if err != nil {
		return core.Quota{}, err
	}
	quota, err := c.world.Quota(c.actor, organization, owner)
	if err != nil {
		return core.Quota{}, c.failure(err)
	}
	return core.Quota{Consumed: quota.Consumed, Budget: quota.Limit}, nil
}

// Access implements ports.AccessReader. A Runner without a token does not know when it
// ends.
func (r *Runner) Access(ctx context.Context, owner uuid.UUID) (core.Access, error) {
	user, err := r.Operator(ctx)
	if err != nil {
		return core.Access{}, err
	}
	access := core.Access{User: user}
	if id, _, ok := strings.Cut(r.token.Reveal(), "-"); ok {
		c, err := r.read(ctx, "read the token's lifetime", path{before: "/users/me/keys/", after: id})
		if err != nil {
			return core.Access{}, err
		}
		if key, err := c.world.Key(c.actor, id); err == nil {
			access.ExpiresAt, access.Lifetime, access.Refreshes = key.ExpiresAt, key.Lifetime, key.LoginType != "token"
		}
	}
	if owner == uuid.Nil {
		return access, nil
	}
	c, err := r.read(ctx, "check access to workspaces", path{before: "/authcheck"})
	if err != nil {
		return core.Access{}, err
	}
	access.Denied = denied(c.world, c.actor, owner)
	return access, nil
}

func denied(w *world.World, actor, owner uuid.UUID) []string {
	var actions []string
	for _, action := range []string{"create", "read", "delete"} {
		if !w.MayWorkspaces(actor, action, owner, uuid.Nil) {
			actions = append(actions, action)
		}
	}
	return actions
}
