package faults

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Operations of a CodeRunner.
const (
	ReadDeployment   = "read deployment"
	ReadOperator     = "read operator"
	ReadOwner        = "read owner"
	FindOrganization = "find organization"
	FindTemplate     = "find template"
	FindVersion      = "find version"
	ReadVersion      = "read version"
	CheckParameters  = "check parameters"
	ReadExternalAuth = "read external auth"
	FindWorkspace    = "find workspace"
	ReadWorkspace    = "read workspace"
	ListBuilds       = "list builds"
	ListWorkspaces   = "list workspaces"
	CheckRights      = "check rights"
	CreateWorkspace  = "create workspace"
	CancelBuild      = "cancel build"
	DeleteWorkspace  = "delete workspace"
	WatchWorkspace   = "watch workspace"
	ReadBuildLog     = "read build log"
	ReadAgentLogs    = "read agent logs"
)

// Dialer wraps the CodeRunners that a Dialer makes.
func (i *Injector) Dialer(dial ports.Dialer) ports.Dialer {
	return func(connection core.Connection) (ports.CodeRunner, error) {
		inner, err := dial(connection)
		if err != nil {
			return nil, err
		}
		return i.CodeRunner(inner), nil
	}
}

// CodeRunner wraps a CodeRunner.
func (i *Injector) CodeRunner(inner ports.CodeRunner) ports.CodeRunner {
	return &codeRunner{injector: i, inner: inner}
}

type codeRunner struct {
	injector *Injector
	inner    ports.CodeRunner
}

// read makes a call that changes nothing.
func read[T any](r *codeRunner, op, arguments string, ask func() (T, error)) (T, error) {
	return do(r.injector, coder, Call{Op: op}, arguments, ask)
}

// change makes a call that changes something.
func change[T any](ctx context.Context, r *codeRunner, op string, ask func(context.Context) (T, error)) (T, error) {
	return doLate(r.injector, coder, Call{Op: op, Changes: true}, "",
		func() (T, error) { return ask(ctx) },
		func() (T, error) { return ask(context.WithoutCancel(ctx)) })
}

func (r *codeRunner) Deployment(ctx context.Context) (core.Deployment, error) {
	return read(r, ReadDeployment, "", func() (core.Deployment, error) { return r.inner.Deployment(ctx) })
}

func (r *codeRunner) Operator(ctx context.Context) (core.User, error) {
	return read(r, ReadOperator, "", func() (core.User, error) { return r.inner.Operator(ctx) })
}

func (r *codeRunner) Owner(ctx context.Context, id uuid.UUID) (core.User, error) {
	return read(r, ReadOwner, id.String(), func() (core.User, error) { return r.inner.Owner(ctx, id) })
}

func (r *codeRunner) Organization(ctx context.Context, name string) (core.Organization, error) {
	return read(r, FindOrganization, name, func() (core.Organization, error) { return r.inner.Organization(ctx, name) })
}

func (r *codeRunner) Template(ctx context.Context, organization uuid.UUID, name string) (core.Template, error) {
	return read(r, FindTemplate, organization.String()+name, func() (core.Template, error) {
		return r.inner.Template(ctx, organization, name)
	})
}

func (r *codeRunner) VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error) {
	return read(r, FindVersion, template.String()+name, func() (core.TemplateVersion, error) {
		return r.inner.VersionByName(ctx, template, name)
	})
}

func (r *codeRunner) Version(ctx context.Context, id uuid.UUID) (core.TemplateVersion, error) {
	return read(r, ReadVersion, id.String(), func() (core.TemplateVersion, error) { return r.inner.Version(ctx, id) })
}

func (r *codeRunner) CheckParameters(ctx context.Context, query core.ParameterQuery) (core.ParameterReport, error) {
	return read(r, CheckParameters, fmt.Sprint(query), func() (core.ParameterReport, error) {
		return r.inner.CheckParameters(ctx, query)
	})
}

func (r *codeRunner) ExternalAuth(ctx context.Context, version, owner uuid.UUID) ([]core.ExternalAuth, error) {
	return read(r, ReadExternalAuth, version.String()+owner.String(), func() ([]core.ExternalAuth, error) {
		return r.inner.ExternalAuth(ctx, version, owner)
	})
}

func (r *codeRunner) FindWorkspace(ctx context.Context, owner uuid.UUID, name string) (core.NameLookup, error) {
	return read(r, FindWorkspace, owner.String()+name, func() (core.NameLookup, error) {
		return r.inner.FindWorkspace(ctx, owner, name)
	})
}

func (r *codeRunner) Workspace(ctx context.Context, id uuid.UUID) (core.Workspace, error) {
	return read(r, ReadWorkspace, id.String(), func() (core.Workspace, error) { return r.inner.Workspace(ctx, id) })
}

func (r *codeRunner) Builds(ctx context.Context, workspace uuid.UUID) ([]core.Build, error) {
	return read(r, ListBuilds, workspace.String(), func() ([]core.Build, error) { return r.inner.Builds(ctx, workspace) })
}

func (r *codeRunner) OwnedWorkspaces(ctx context.Context, owner core.User) ([]core.Workspace, error) {
	return read(r, ListWorkspaces, owner.ID.String(), func() ([]core.Workspace, error) { return r.inner.OwnedWorkspaces(ctx, owner) })
}

func (r *codeRunner) MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error) {
	return read(r, CheckRights, owner.String()+organization.String(), func() (bool, error) {
		return r.inner.MayReadWorkspaces(ctx, owner, organization)
	})
}

func (r *codeRunner) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	return change(ctx, r, CreateWorkspace, func(ctx context.Context) (core.Workspace, error) {
		return r.inner.CreateWorkspace(ctx, request)
	})
}

func (r *codeRunner) CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error {
	_, err := change(ctx, r, CancelBuild, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.inner.CancelBuild(ctx, build, expected)
	})
	return err
}

func (r *codeRunner) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	return change(ctx, r, DeleteWorkspace, func(ctx context.Context) (core.Build, error) {
		return r.inner.DeleteWorkspace(ctx, workspace)
	})
}

func (r *codeRunner) WatchWorkspace(ctx context.Context, workspace uuid.UUID, on func(core.Workspace)) error {
	call := Call{Op: WatchWorkspace}
	fault := r.injector.begin(&call)
	err := func() error {
		switch fault.Kind {
		case Hang, HangLose, Late, Stale:
			<-ctx.Done()
			return nil
		}
		_, err := inject(r.injector, coder, call, fault, call.Op, func() (struct{}, error) {
			return struct{}{}, r.inner.WatchWorkspace(ctx, workspace, on)
		})
		return err
	}()
	r.injector.end(call, err)
	return err
}

func (r *codeRunner) BuildLog(ctx context.Context, build uuid.UUID, limit int) (core.Log, error) {
	return read(r, ReadBuildLog, build.String(), func() (core.Log, error) { return r.inner.BuildLog(ctx, build, limit) })
}

func (r *codeRunner) AgentLogs(ctx context.Context, agent uuid.UUID, limit int) ([]core.Log, error) {
	return read(r, ReadAgentLogs, agent.String(), func() ([]core.Log, error) { return r.inner.AgentLogs(ctx, agent, limit) })
}
