package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Plane is a control plane as callers see it. It holds no token.
type Plane struct {
	Name  string      `json:"name"`
	URL   string      `json:"url,omitempty"`
	State string      `json:"state" enum:"usable,unavailable,no-access,leaving,removed" doc:"Whether tests can run on it."`
	Why   string      `json:"why,omitempty" doc:"What is wrong with it, where something is."`
	Role  string      `json:"role" enum:"viewer,tester,admin" doc:"What you may do there."`
	Rules core.Policy `json:"policy" doc:"What the people who run it allow."`
}

var stateNames = map[core.ControlPlaneState]string{
	core.ControlPlaneUnready: "unavailable", core.ControlPlaneUsable: "usable", core.ControlPlaneNoAccess: "no-access",
	core.ControlPlaneLeaving: "leaving", core.ControlPlaneGone: "removed",
}

func (s *Service) knows(plane string) bool { return slices.Contains(s.Planes.Names(), plane) }

// ControlPlanes lists the control planes that the caller may see.
func (s *Service) ControlPlanes(ctx context.Context) ([]Plane, error) {
	caller, planes := access.CallerOf(ctx), []Plane{}
	for _, name := range s.Planes.Names() {
		if !caller.May(access.Viewer, name) {
			continue
		}
		plane, err := s.Planes.ControlPlane(ctx, name, ports.Cached)
		if err != nil {
			return nil, err
		}
		planes = append(planes, Plane{
			Name: name, URL: plane.Connection.URL, State: stateNames[plane.State], Why: plane.Message,
			Role: max(caller.Roles[name], caller.Roles[access.EveryPlane]).String(), Rules: plane.Policy,
		})
	}
	return planes, nil
}

// dial reaches the deployment of a control plane on which the caller has the role.
func (s *Service) dial(ctx context.Context, name string, needs access.Role) (ports.CodeRunner, core.ControlPlane, error) {
	caller := access.CallerOf(ctx)
	if !s.knows(name) || !caller.May(access.Viewer, name) {
		return nil, core.ControlPlane{}, noSuchPlane(name)
	}
	if !caller.May(needs, name) {
		return nil, core.ControlPlane{}, forbidden(needs, name)
	}
	plane, err := s.Planes.ControlPlane(ctx, name, ports.Live)
	if err != nil {
		return nil, core.ControlPlane{}, err
	}
	if plane.State != core.ControlPlaneUsable {
		return nil, core.ControlPlane{}, &Error{Kind: Unavailable, Message: fmt.Sprintf("control plane %q cannot be asked: it is %s", name, stateNames[plane.State])}
	}
	coder, err := s.Dial(plane.Connection)
	return coder, plane, err
}

// Templates lists the templates of a control plane, for a caller who chooses one.
func (s *Service) Templates(ctx context.Context, plane string) ([]core.CatalogTemplate, error) {
	catalog, err := s.catalog(ctx, plane)
	if err != nil {
		return nil, err
	}
	templates, err := catalog.Templates(ctx)
	return templates, coderSays(err)
}

// MaxVersions bounds how many versions of a template are listed.
const MaxVersions = 50

// Versions lists the newest versions of a template.
func (s *Service) Versions(ctx context.Context, plane string, template uuid.UUID) ([]core.CatalogVersion, error) {
	catalog, err := s.catalog(ctx, plane)
	if err != nil {
		return nil, err
	}
	versions, err := catalog.Versions(ctx, template, MaxVersions)
	return versions, coderSays(err)
}

// Inputs lists what can be chosen for a version.
func (s *Service) Inputs(ctx context.Context, plane string, version uuid.UUID) (core.VersionInputs, error) {
	catalog, err := s.catalog(ctx, plane)
	if err != nil {
		return core.VersionInputs{}, err
	}
	inputs, err := catalog.VersionInputs(ctx, version)
	return inputs, coderSays(err)
}

func (s *Service) catalog(ctx context.Context, plane string) (ports.TemplateCatalog, error) {
	coder, _, err := s.dial(ctx, plane, access.Tester)
	if err != nil {
		return nil, err
	}
	catalog, ok := coder.(ports.TemplateCatalog)
	if !ok {
		return nil, &Error{Kind: Unavailable, Message: "this connection to Coder cannot list templates; name the template and its version by hand"}
	}
	return catalog, nil
}

// coderSays is a failure of Coder's, for a caller.
func coderSays(err error) error {
	if err == nil {
		return nil
	}
	switch failure := core.AsFailure(err); failure.Class {
	case core.FailureNotFound, core.FailureGone:
		return &Error{Kind: NotFound, Message: "Coder has no such thing, or the operator user may not see it"}
	case core.FailureUnauthorized:
		return &Error{Kind: Unavailable, Message: "Coder does not take the operator token of this control plane; whoever runs this server must renew it"}
	default:
		return &Error{Kind: Unavailable, Message: "Coder does not answer as it should: " + failure.Message}
	}
}
