package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// deployment is a CodeRunner whose builds take until the next look.
type deployment struct {
	operator, tester, organization, template, version uuid.UUID
	workspace                                         *core.Workspace
	builds                                            []core.Build
}

func newDeployment() *deployment {
	return &deployment{
		operator: uuid.New(), tester: uuid.New(), organization: uuid.New(), template: uuid.New(), version: uuid.New(),
	}
}

func (d *deployment) live() int {
	if d.workspace == nil || d.workspace.Deleted {
		return 0
	}
	return 1
}

func (d *deployment) Deployment(context.Context) (core.Deployment, error) {
	return core.Deployment{ID: "mine", Version: "v0", ServerTime: time.Now().Truncate(time.Second)}, nil
}

func (d *deployment) Operator(context.Context) (core.User, error) {
	return core.User{ID: d.operator, Username: "operator", Status: "active", LoginType: "password"}, nil
}

func (d *deployment) Owner(_ context.Context, id uuid.UUID) (core.User, error) {
	return core.User{
		ID: id, Username: "tester", Status: "active", LoginType: "password",
		Memberships: []core.Membership{{OrganizationID: d.organization, OrganizationName: "acme"}},
	}, nil
}

func (d *deployment) Organization(_ context.Context, name string) (core.Organization, error) {
	return core.Organization{ID: d.organization, Name: name}, nil
}

func (d *deployment) Template(_ context.Context, organization uuid.UUID, name string) (core.Template, error) {
	return core.Template{ID: d.template, Name: name, OrganizationID: organization, ActiveVersionID: d.version}, nil
}

func (d *deployment) VersionByName(ctx context.Context, _ uuid.UUID, _ string) (core.TemplateVersion, error) {
	return d.Version(ctx, d.version)
}

func (d *deployment) Version(_ context.Context, id uuid.UUID) (core.TemplateVersion, error) {
	return core.TemplateVersion{ID: id, Name: "v1", TemplateID: d.template, Import: core.JobSucceeded}, nil
}

func (d *deployment) CheckParameters(context.Context, core.ParameterQuery) (core.ParameterReport, error) {
	return core.ParameterReport{}, nil
}

func (d *deployment) ExternalAuth(context.Context, uuid.UUID, uuid.UUID) ([]core.ExternalAuth, error) {
	return nil, nil
}

func (d *deployment) FindWorkspace(context.Context, uuid.UUID, string) (core.NameLookup, error) {
	return core.NameLookup{Workspace: d.workspace, ServerTime: time.Now().Truncate(time.Second)}, nil
}

// Workspace lets the latest build end.
func (d *deployment) Workspace(context.Context, uuid.UUID) (core.Workspace, error) {
	latest := &d.workspace.Latest
	latest.Job.Status = core.JobSucceeded
	if latest.Transition == core.TransitionDelete {
		d.workspace.Deleted = true
	} else {
		latest.Agents = []core.Agent{{ID: uuid.New(), Status: core.AgentConnected, Lifecycle: core.AgentReady}}
	}
	return *d.workspace, nil
}

func (d *deployment) Builds(context.Context, uuid.UUID) ([]core.Build, error) { return d.builds, nil }

func (d *deployment) OwnedWorkspaces(context.Context, core.User) ([]core.Workspace, error) {
	return nil, nil
}

func (d *deployment) MayReadWorkspaces(context.Context, uuid.UUID, uuid.UUID) (bool, error) {
	return true, nil
}

func (d *deployment) CreateWorkspace(_ context.Context, r core.CreateRequest) (core.Workspace, error) {
	d.workspace = &core.Workspace{
		ID: uuid.New(), Name: r.Name, OwnerID: r.OwnerID, OrganizationID: r.OrganizationID, TemplateID: r.TemplateID,
	}
	d.build(core.TransitionStart)
	return *d.workspace, nil
}

func (d *deployment) CancelBuild(context.Context, uuid.UUID, core.JobStatus) error { return nil }

func (d *deployment) DeleteWorkspace(context.Context, uuid.UUID) (core.Build, error) {
	return d.build(core.TransitionDelete), nil
}

func (d *deployment) build(transition core.Transition) core.Build {
	build := core.Build{
		ID: uuid.New(), WorkspaceID: d.workspace.ID, Number: len(d.builds) + 1, Transition: transition,
		InitiatorID: d.operator, VersionID: d.version, CreatedAt: time.Now(),
		Job: core.Job{Status: core.JobPending, UpdatedAt: time.Now(), Provisioners: 1},
	}
	d.builds = append(d.builds, build)
	d.workspace.Latest = build
	return build
}

func (d *deployment) WatchWorkspace(ctx context.Context, _ uuid.UUID, _ func(core.Workspace)) error {
	<-ctx.Done()
	return nil
}

func (d *deployment) BuildLog(context.Context, uuid.UUID, int) (core.Log, error) {
	return core.Log{}, nil
}

func (d *deployment) AgentLogs(context.Context, uuid.UUID, int) ([]core.Log, error) { return nil, nil }
