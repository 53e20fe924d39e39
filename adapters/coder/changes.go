package coder

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// CreateWorkspace implements ports.WorkspaceChanger. It names the version and never
// the template: with a template Coder takes whatever version is active.
func (r *Runner) CreateWorkspace(ctx context.Context, asked core.CreateRequest) (core.Workspace, error) {
	const op = "create workspace"
	ttl := asked.TTL.Milliseconds()
	body := codersdk.CreateWorkspaceRequest{
		TemplateVersionID: asked.VersionID, Name: asked.Name, TTLMillis: &ttl,
		AutomaticUpdates: codersdk.AutomaticUpdatesNever, TemplateVersionPresetID: asked.PresetID,
	}
	if ttl <= 0 {
		body.TTLMillis = nil
	}
	for _, parameter := range asked.Parameters {
		body.RichParameterValues = append(body.RichParameterValues,
			codersdk.WorkspaceBuildParameter{Name: parameter.Name, Value: parameter.Value})
	}
	var made codersdk.Workspace
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/users/" + asked.OwnerID.String() + "/workspaces", body: body,
	}, &made)
	if err != nil {
		return core.Workspace{}, err
	}
	workspace, err := toWorkspace(op, made)
	if err != nil {
		return core.Workspace{}, err
	}
	return workspace, checkMade(op, workspace, asked)
}

// checkMade checks that the answer names what was asked for. The build's number is
// left out: a claimed prebuild has earlier ones.
func checkMade(op string, made core.Workspace, asked core.CreateRequest) error {
	switch {
	case !strings.EqualFold(made.Name, asked.Name):
		return mismatch(op, "the answer names workspace %q, not %q", made.Name, asked.Name)
	case made.OwnerID != asked.OwnerID:
		return mismatch(op, "the answer names owner %s, not %s", made.OwnerID, asked.OwnerID)
	case made.OrganizationID != asked.OrganizationID:
		return mismatch(op, "the answer names organization %s, not %s", made.OrganizationID, asked.OrganizationID)
	case made.TemplateID != asked.TemplateID:
		return mismatch(op, "the answer names template %s, not %s", made.TemplateID, asked.TemplateID)
	case made.Latest.VersionID != asked.VersionID:
		return mismatch(op, "the answer names version %s, not %s", made.Latest.VersionID, asked.VersionID)
	case made.Latest.Transition != core.TransitionStart:
		return mismatch(op, "the answer names a %s build", made.Latest.Transition)
	}
	return nil
}

// CancelBuild implements ports.WorkspaceChanger.
func (r *Runner) CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error {
	var said codersdk.Response
	return r.change(ctx, request{
		op: "cancel build", method: http.MethodPatch, path: "/workspacebuilds/" + build.String() + "/cancel",
		query: url.Values{"expect_status": {string(expected)}},
		// Coder reads no body here. One that cannot be read again keeps the transport
		// from sending the request a second time.
		body: struct{}{},
	}, &said)
}

// DeleteWorkspace implements ports.WorkspaceChanger.
func (r *Runner) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	const op = "delete workspace"
	var made codersdk.WorkspaceBuild
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/workspaces/" + workspace.String() + "/builds",
		body: codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete},
	}, &made)
	if err != nil {
		return core.Build{}, err
	}
	build, err := toBuild(op, workspace, made)
	if err != nil {
		return core.Build{}, err
	}
	if build.Transition != core.TransitionDelete {
		return core.Build{}, mismatch(op, "the answer names a %s build", build.Transition)
	}
	return build, nil
}
