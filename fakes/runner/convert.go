package runner

import (
	"strings"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func toUser(u world.User) core.User {
	user := core.User{
		ID: u.ID, Username: u.Username, Status: u.Status, LoginType: u.LoginType,
		ServiceAccount: u.ServiceAccount, SiteRoles: u.SiteRoles,
	}
	for _, m := range u.Memberships {
		user.Memberships = append(user.Memberships, core.Membership{
			OrganizationID: m.Organization.ID, OrganizationName: m.Organization.Name,
			Roles: m.Roles, DefaultRoles: m.Organization.DefaultRoles,
		})
	}
	return user
}

func toVersion(v world.TemplateVersion) core.TemplateVersion {
	return core.TemplateVersion{
		ID: v.ID, Name: v.Name, TemplateID: v.Template, Archived: v.Archived,
		Import: v.Import.Status, HasExternalAgent: v.HasExternalAgent,
	}
}

func toWorkspace(ws world.Workspace) core.Workspace {
	return core.Workspace{
		ID: ws.ID, Name: ws.Name, OwnerID: ws.Owner.ID, OrganizationID: ws.Organization.ID, TemplateID: ws.Template.ID,
		OrganizationName: ws.Organization.Name, TemplateName: ws.Template.Name,
		Deleted: ws.Deleted, CreatedAt: ws.CreatedAt, Latest: toBuild(ws.Latest),
	}
}

func toBuild(b world.Build) core.Build {
	build := core.Build{
		ID: b.ID, WorkspaceID: b.Workspace, Number: b.Number, Transition: b.Transition,
		InitiatorID: b.Initiator.ID, Automatic: b.Automatic, VersionID: b.Version, CreatedAt: b.CreatedAt,
		Job: core.Job{
			Status: b.Job.Status, ErrorCode: b.Job.ErrorCode,
			Reaped:    strings.HasSuffix(b.Job.Error, "terminated by the reaper."),
			StartedAt: b.Job.StartedAt, CanceledAt: b.Job.CanceledAt, CompletedAt: b.Job.CompletedAt,
			UpdatedAt: b.UpdatedAt, Provisioners: b.Job.Provisioners, Tags: b.Job.TagList,
		},
	}
	for _, a := range b.Agents {
		build.Agents = append(build.Agents, core.Agent{
			ID: a.ID, ParentID: a.Parent, Name: a.Name, Status: a.Status, Lifecycle: a.Lifecycle,
		})
	}
	return build
}
