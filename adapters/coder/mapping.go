package coder

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

func toUser(user codersdk.User) core.User {
	roles := make([]string, 0, len(user.Roles))
	for _, role := range user.Roles {
		roles = append(roles, role.Name)
	}
	return core.User{
		ID: user.ID, Username: user.Username, Status: string(user.Status), LoginType: string(user.LoginType),
		ServiceAccount: user.IsServiceAccount, SiteRoles: roles,
	}
}

// toWorkspace checks that the latest build is the workspace's own.
func toWorkspace(op string, workspace codersdk.Workspace) (core.Workspace, error) {
	if workspace.ID == uuid.Nil || workspace.LatestBuild.ID == uuid.Nil {
		return core.Workspace{}, mismatch(op, "the answer names no workspace or no build")
	}
	latest, err := toBuild(op, workspace.ID, workspace.LatestBuild)
	if err != nil {
		return core.Workspace{}, err
	}
	for _, resource := range workspace.LatestBuild.Resources {
		for _, agent := range resource.Agents {
			latest.Agents = append(latest.Agents, toAgent(agent))
		}
	}
	return core.Workspace{
		ID: workspace.ID, Name: workspace.Name, OwnerID: workspace.OwnerID,
		OrganizationID: workspace.OrganizationID, TemplateID: workspace.TemplateID,
		OrganizationName: workspace.OrganizationName, TemplateName: workspace.TemplateName,
		CreatedAt: workspace.CreatedAt, Latest: latest,
		Deleted: latest.Transition == core.TransitionDelete && latest.Job.Status == core.JobSucceeded,
	}, nil
}

// toBuild checks that the build is one of the workspace. Agents are left out.
func toBuild(op string, workspace uuid.UUID, build codersdk.WorkspaceBuild) (core.Build, error) {
	if build.ID == uuid.Nil || build.WorkspaceID != workspace {
		return core.Build{}, mismatch(op, "build %s is of workspace %s, not of %s", build.ID, build.WorkspaceID, workspace)
	}
	return core.Build{
		ID: build.ID, WorkspaceID: build.WorkspaceID, Number: int(build.BuildNumber),
		Transition: core.Transition(build.Transition), InitiatorID: build.InitiatorID, Automatic: automatic(build.Reason),
		VersionID: build.TemplateVersionID, CreatedAt: build.CreatedAt, Job: toJob(build),
	}, nil
}

// automatic reports whether a build with this reason is Coder's own. Every reason that
// Coder has for a person's build names the means, and new ones are added.
func automatic(reason codersdk.BuildReason) bool {
	switch reason {
	case codersdk.BuildReasonAutostart, codersdk.BuildReasonAutostop, codersdk.BuildReasonDormancy, "autodelete":
		return true
	default:
		return false
	}
}

func toJob(build codersdk.WorkspaceBuild) core.Job {
	job := core.Job{
		Status: core.JobStatus(build.Job.Status), ErrorCode: string(build.Job.ErrorCode),
		Reaped: reaped(build.Job.Error), StartedAt: timeOf(build.Job.StartedAt),
		CanceledAt: timeOf(build.Job.CanceledAt), CompletedAt: timeOf(build.Job.CompletedAt),
		UpdatedAt: build.UpdatedAt, Provisioners: -1,
	}
	if job.UpdatedAt.IsZero() {
		job.UpdatedAt = build.CreatedAt
	}
	if build.MatchedProvisioners != nil {
		job.Provisioners = build.MatchedProvisioners.Count
	}
	job.Tags = tagsOf(build.Job)
	return job
}

// tagsOf are the tags that a job wants, as "key=value", sorted.
func tagsOf(job codersdk.ProvisionerJob) []string {
	var tags []string
	for key, value := range job.Tags {
		tags = append(tags, key+"="+value)
	}
	slices.Sort(tags)
	return tags
}

// reaped recognizes the error that Coder's reaper writes into a job that it ended,
// one that hung or that nobody took. An error of a provisioner begins otherwise.
func reaped(jobError string) bool {
	return strings.HasPrefix(jobError, "Coder: Build has been detected as ") &&
		strings.Contains(jobError, " has been terminated by ")
}

func toAgent(agent codersdk.WorkspaceAgent) core.Agent {
	return core.Agent{
		ID: agent.ID, ParentID: agent.ParentID.UUID, Name: agent.Name,
		Status: core.AgentStatus(agent.Status), Lifecycle: core.AgentLifecycle(agent.LifecycleState),
	}
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
