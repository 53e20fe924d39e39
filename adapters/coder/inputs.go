package coder

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// Deployment implements ports.DeploymentReader.
func (r *Runner) Deployment(ctx context.Context) (core.Deployment, error) {
	const op = "read deployment"
	var info codersdk.BuildInfoResponse
	header, err := r.get(ctx, op, "/buildinfo", nil, &info)
	if err != nil {
		return core.Deployment{}, err
	}
	if info.DeploymentID == "" {
		return core.Deployment{}, mismatch(op, "the answer names no deployment")
	}
	now, err := serverTime(op, header)
	if err != nil {
		return core.Deployment{}, err
	}
	return core.Deployment{ID: info.DeploymentID, Version: info.Version, ServerTime: now}, nil
}

// Operator implements ports.DeploymentReader.
func (r *Runner) Operator(ctx context.Context) (core.User, error) {
	const op = "read operator user"
	var user codersdk.User
	if _, err := r.get(ctx, op, "/users/"+codersdk.Me, nil, &user); err != nil {
		return core.User{}, err
	}
	if user.ID == uuid.Nil {
		return core.User{}, mismatch(op, "the answer names no user")
	}
	return toUser(user), nil
}

// Owner implements ports.InputReader with three requests: the user, its roles in
// each organization, and what each organization grants by default.
func (r *Runner) Owner(ctx context.Context, id uuid.UUID) (core.User, error) {
	const op = "read owner"
	var user codersdk.User
	path := "/users/" + id.String()
	if _, err := r.get(ctx, op, path, nil, &user); err != nil {
		return core.User{}, err
	}
	if user.ID != id {
		return core.User{}, mismatch(op, "the answer names user %s, not %s", user.ID, id)
	}
	owner := toUser(user)
	var roles codersdk.UserRoles
	if _, err := r.get(ctx, "read owner's roles", path+"/roles", nil, &roles); err != nil {
		return core.User{}, err
	}
	for _, role := range roles.Roles {
		if !slices.Contains(owner.SiteRoles, role) {
			owner.SiteRoles = append(owner.SiteRoles, role)
		}
	}
	var organizations []codersdk.Organization
	if _, err := r.get(ctx, "read owner's organizations", path+"/organizations", nil, &organizations); err != nil {
		return core.User{}, err
	}
	var err error
	owner.Memberships, err = memberships(op, roles.OrganizationRoles, organizations)
	return owner, err
}

// memberships joins the two lists. A membership whose organization is not listed
// can grant anything by default: nothing is said about the owner then.
func memberships(op string, roles map[uuid.UUID][]string, organizations []codersdk.Organization) ([]core.Membership, error) {
	var joined []core.Membership
	for _, organization := range organizations {
		own, ok := roles[organization.ID]
		if !ok {
			return nil, mismatch(op, "coder lists organization %s but no roles in it", organization.ID)
		}
		joined = append(joined, core.Membership{
			OrganizationID: organization.ID, OrganizationName: organization.Name,
			Roles: own, DefaultRoles: organization.DefaultOrgMemberRoles,
		})
	}
	for id := range roles {
		if !slices.ContainsFunc(joined, func(m core.Membership) bool { return m.OrganizationID == id }) {
			return nil, mismatch(op, "the operator user cannot read organization %s, of which the owner is a member", id)
		}
	}
	return joined, nil
}

// Organization implements ports.InputReader.
func (r *Runner) Organization(ctx context.Context, name string) (core.Organization, error) {
	const op = "find organization"
	var organization codersdk.Organization
	if _, err := r.get(ctx, op, "/organizations/"+url.PathEscape(name), nil, &organization); err != nil {
		return core.Organization{}, err
	}
	if organization.ID == uuid.Nil || !strings.EqualFold(organization.Name, name) {
		return core.Organization{}, mismatch(op, "the answer names organization %q, not %q", organization.Name, name)
	}
	return core.Organization{ID: organization.ID, Name: organization.Name}, nil
}

// Template implements ports.InputReader.
func (r *Runner) Template(ctx context.Context, organization uuid.UUID, name string) (core.Template, error) {
	const op = "find template"
	var template codersdk.Template
	path := "/organizations/" + organization.String() + "/templates/" + url.PathEscape(name)
	if _, err := r.get(ctx, op, path, nil, &template); err != nil {
		return core.Template{}, err
	}
	if template.ID == uuid.Nil || template.OrganizationID != organization || !strings.EqualFold(template.Name, name) {
		return core.Template{}, mismatch(op, "the answer names template %q of organization %s, not %q of %s",
			template.Name, template.OrganizationID, name, organization)
	}
	return core.Template{
		ID: template.ID, Name: template.Name, OrganizationID: template.OrganizationID,
		ActiveVersionID: template.ActiveVersionID, Deprecated: template.Deprecated,
		ClassicParameters: template.UseClassicParameterFlow,
	}, nil
}

// VersionByName implements ports.InputReader.
func (r *Runner) VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error) {
	const op = "find template version"
	var found codersdk.TemplateVersion
	path := "/templates/" + template.String() + "/versions/" + url.PathEscape(name)
	if _, err := r.get(ctx, op, path, nil, &found); err != nil {
		return core.TemplateVersion{}, err
	}
	version := toVersion(found)
	if version.ID == uuid.Nil || version.TemplateID != template || version.Name != name {
		return core.TemplateVersion{}, mismatch(op, "the answer names version %q of template %s, not %q of %s",
			version.Name, version.TemplateID, name, template)
	}
	return version, nil
}

// Version implements ports.InputReader.
func (r *Runner) Version(ctx context.Context, id uuid.UUID) (core.TemplateVersion, error) {
	const op = "read template version"
	var found codersdk.TemplateVersion
	if _, err := r.get(ctx, op, "/templateversions/"+id.String(), nil, &found); err != nil {
		return core.TemplateVersion{}, err
	}
	if found.ID != id {
		return core.TemplateVersion{}, mismatch(op, "the answer names version %s, not %s", found.ID, id)
	}
	return toVersion(found), nil
}

func toVersion(version codersdk.TemplateVersion) core.TemplateVersion {
	converted := core.TemplateVersion{
		ID: version.ID, Name: version.Name, Archived: version.Archived,
		Import: core.JobStatus(version.Job.Status), HasExternalAgent: version.HasExternalAgent,
	}
	if version.TemplateID != nil {
		converted.TemplateID = *version.TemplateID
	}
	return converted
}

// ExternalAuth implements ports.InputChecker. It names the owner in the request, so
// that Coder tells about the owner's links; a caller that may make workspaces for
// the owner is told.
func (r *Runner) ExternalAuth(ctx context.Context, version, owner uuid.UUID) ([]core.ExternalAuth, error) {
	var listed []codersdk.TemplateVersionExternalAuth
	path := "/templateversions/" + version.String() + "/external-auth"
	query := url.Values{"user_id": {owner.String()}}
	if _, err := r.get(ctx, "read external authentications", path, query, &listed); err != nil {
		return nil, err
	}
	auths := make([]core.ExternalAuth, 0, len(listed))
	for _, auth := range listed {
		auths = append(auths, core.ExternalAuth{ID: auth.ID, Optional: auth.Optional, Authenticated: auth.Authenticated})
	}
	return auths, nil
}
