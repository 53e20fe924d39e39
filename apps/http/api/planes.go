package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

// PlaneName is the path of one control plane.
type PlaneName struct {
	Name string `path:"name" maxLength:"64" doc:"The control plane's name."`
}

func (h *handlers) registerPlanes(api huma.API) {
	asksCoder := func(o *huma.Operation) {
		o.Errors = append(o.Errors, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable)
	}
	huma.Register(api, operation("list-control-planes", http.MethodGet, "/control-planes", "List control planes", nil), h.planes)
	huma.Register(api, operation("sweep", http.MethodGet, "/control-planes/{name}/sweep", "Look for left workspaces", func(o *huma.Operation) {
		asksCoder(o)
		o.Description = "For administrators: lists the live workspaces of the tests' owner that have a test's name, and says what each is. It deletes nothing."
	}), h.sweep)
	huma.Register(api, operation("list-templates", http.MethodGet, "/control-planes/{name}/templates", "List the templates that can be tested", asksCoder), h.templates)
	huma.Register(api, operation("list-versions", http.MethodGet, "/control-planes/{name}/templates/{template}/versions", "List the newest versions of a template", asksCoder), h.versions)
	huma.Register(api, operation("get-version-inputs", http.MethodGet, "/control-planes/{name}/versions/{version}/inputs", "List the parameters and presets of a version", asksCoder), h.inputs)
	huma.Register(api, operation("who-am-i", http.MethodGet, "/whoami", "Tell who you are to this server", nil), h.whoAmI)
}

func (h *handlers) planes(ctx context.Context, _ *struct{}) (*struct{ Body []service.Plane }, error) {
	planes, err := h.ControlPlanes(ctx)
	if err != nil {
		return nil, h.said(ctx, "", err)
	}
	return &struct{ Body []service.Plane }{planes}, nil
}

type sweepInput struct {
	PlaneName
	OlderThan float64 `query:"olderThanHours" minimum:"0" maximum:"87600" default:"24" doc:"The age from which on a workspace can be proven, in hours."`
}

func (h *handlers) sweep(ctx context.Context, input *sweepInput) (*struct{ Body service.SweepReport }, error) {
	report, err := h.Sweep(ctx, input.Name, time.Duration(input.OlderThan*float64(time.Hour)))
	if err != nil {
		return nil, h.said(ctx, "query.", err)
	}
	return &struct{ Body service.SweepReport }{report}, nil
}

func (h *handlers) templates(ctx context.Context, input *PlaneName) (*struct{ Body []core.CatalogTemplate }, error) {
	templates, err := h.Templates(ctx, input.Name)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body []core.CatalogTemplate }{templates}, nil
}

type versionsInput struct {
	PlaneName
	Template uuid.UUID `path:"template" format:"uuid" doc:"The template's ID."`
}

func (h *handlers) versions(ctx context.Context, input *versionsInput) (*struct{ Body []core.CatalogVersion }, error) {
	versions, err := h.Versions(ctx, input.Name, input.Template)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body []core.CatalogVersion }{versions}, nil
}

type inputsInput struct {
	PlaneName
	Version uuid.UUID `path:"version" format:"uuid" doc:"The version's ID."`
}

func (h *handlers) inputs(ctx context.Context, input *inputsInput) (*struct{ Body core.VersionInputs }, error) {
	inputs, err := h.Inputs(ctx, input.Name, input.Version)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body core.VersionInputs }{inputs}, nil
}

// Identity is who a caller is.
type Identity struct {
	Name  string            `json:"name"`
	Roles map[string]string `json:"roles" doc:"The roles by control plane; * stands for every one."`
}

func (h *handlers) whoAmI(ctx context.Context, _ *struct{}) (*struct{ Body Identity }, error) {
	caller := access.CallerOf(ctx)
	identity := Identity{Name: caller.Name, Roles: map[string]string{}}
	for plane, role := range caller.Roles {
		identity.Roles[plane] = role.String()
	}
	return &struct{ Body Identity }{identity}, nil
}
