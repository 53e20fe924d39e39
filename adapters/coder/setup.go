package coder

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.SetUpReader = (*Runner)(nil)

// VersionJob implements ports.SetUpReader.
func (r *Runner) VersionJob(ctx context.Context, version uuid.UUID) (core.VersionJob, error) {
	const op = "read the version's import"
	var found codersdk.TemplateVersion
	if _, err := r.get(ctx, op, "/templateversions/"+version.String(), nil, &found); err != nil {
		return core.VersionJob{}, err
	}
	if found.ID != version {
		return core.VersionJob{}, mismatch(op, "the answer names version %s, not %s", found.ID, version)
	}
	job := core.VersionJob{Status: core.JobStatus(found.Job.Status), Tags: found.Job.Tags, Matched: -1, Available: -1}
	// Coder fact 36: for any other job it says 0, or nothing.
	if matched := found.MatchedProvisioners; matched != nil && job.Status == core.JobPending {
		job.Matched, job.Available = matched.Count, matched.Available
	}
	return job, nil
}

// mostProvisioners bounds the list of daemons; Coder's own bound is 50.
const mostProvisioners = "1000"

// Provisioners implements ports.SetUpReader.
func (r *Runner) Provisioners(ctx context.Context, organization uuid.UUID, tags map[string]string) ([]core.Provisioner, error) {
	const op = "list provisioner daemons"
	query := url.Values{"offline": {"true"}, "limit": {mostProvisioners}}
	if tags != nil {
		wanted, err := json.Marshal(tags)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		query.Set("tags", string(wanted))
	}
	var listed []codersdk.ProvisionerDaemon
	path := "/organizations/" + organization.String() + "/provisionerdaemons"
	if _, err := r.get(ctx, op, path, query, &listed); err != nil {
		return nil, err
	}
	daemons := make([]core.Provisioner, 0, len(listed))
	for _, daemon := range listed {
		if daemon.OrganizationID != organization {
			return nil, mismatch(op, "the answer lists a daemon of organization %s, not of %s", daemon.OrganizationID, organization)
		}
		// One that does not tell cannot be counted on.
		status := core.ProvisionerOffline
		if daemon.Status != nil {
			status = string(*daemon.Status)
		}
		daemons = append(daemons, core.Provisioner{Name: daemon.Name, Status: status})
	}
	return daemons, nil
}

// Quota implements ports.SetUpReader. Only Coder's licensed edition has the route.
func (r *Runner) Quota(ctx context.Context, organization, owner uuid.UUID) (core.Quota, error) {
	var quota codersdk.WorkspaceQuota
	path := "/organizations/" + organization.String() + "/members/" + owner.String() + "/workspace-quota"
	if _, err := r.get(ctx, "read quota", path, nil, &quota); err != nil {
		return core.Quota{}, err
	}
	return core.Quota{Consumed: quota.CreditsConsumed, Budget: quota.Budget}, nil
}
