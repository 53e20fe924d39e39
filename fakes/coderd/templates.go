package coderd

import (
	"errors"
	"net/http"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) templateRoutes() map[string]handler {
	return map[string]handler{
		"GET /templates": s.templates,
		"GET /organizations/{organization}/templates":                  s.templates,
		"GET /organizations/{organization}/templates/{name}":           s.templateByName,
		"GET /templates/{template}":                                    s.template,
		"GET /templates/{template}/versions":                           s.versions,
		"GET /templates/{template}/versions/{name}":                    s.versionByName,
		"GET /templateversions/{version}":                              s.version,
		"GET /templateversions/{version}/rich-parameters":              s.richParameters,
		"GET /templateversions/{version}/presets":                      s.presets,
		"GET /templateversions/{version}/external-auth":                s.externalAuth,
		"POST /templateversions/{version}/dynamic-parameters/evaluate": s.evaluate,
	}
}

func (s *Server) templates(r request) (int, any, error) {
	organization := uuid.Nil
	if name := r.PathValue("organization"); name != "" {
		org, err := s.world.Organization(r.actor, name)
		if err != nil {
			return 0, nil, err
		}
		organization = org.ID
	}
	answer := []codersdk.Template{}
	for _, t := range s.world.Templates(r.actor, organization) {
		answer = append(answer, toTemplate(t))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) templateByName(r request) (int, any, error) {
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	if err != nil {
		return 0, nil, err
	}
	t, err := s.world.TemplateByName(r.actor, org.ID, r.PathValue("name"))
	return http.StatusOK, toTemplate(t), err
}

func (s *Server) template(r request) (int, any, error) {
	id, err := r.id("template")
	if err != nil {
		return 0, nil, err
	}
	t, err := s.world.Template(r.actor, id)
	return http.StatusOK, toTemplate(t), err
}

func (s *Server) versions(r request) (int, any, error) {
	id, err := r.id("template")
	if err != nil {
		return 0, nil, err
	}
	all, err := s.world.Versions(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	withArchived, err := r.flag("include_archived")
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.TemplateVersion{}
	for _, v := range all {
		if withArchived || !v.Archived {
			answer = append(answer, toVersion(v))
		}
	}
	return http.StatusOK, page(r, answer), nil
}

func (s *Server) versionByName(r request) (int, any, error) {
	id, err := r.id("template")
	if err != nil {
		return 0, nil, err
	}
	v, err := s.world.VersionByName(r.actor, id, r.PathValue("name"))
	return http.StatusOK, toVersion(v), err
}

func (s *Server) version(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	v, err := s.world.TemplateVersion(r.actor, id)
	return http.StatusOK, toVersion(v), err
}

func (s *Server) richParameters(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	specs, err := s.world.Parameters(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.TemplateVersionParameter{}
	for _, spec := range specs {
		answer = append(answer, toParameter(spec))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) presets(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	presets, err := s.world.Presets(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.Preset{}
	for _, preset := range presets {
		converted := codersdk.Preset{ID: preset.ID, Name: preset.Name, Parameters: []codersdk.PresetParameter{}}
		for _, value := range preset.Sorted() {
			converted.Parameters = append(converted.Parameters, codersdk.PresetParameter{Name: value.Name, Value: value.Value})
		}
		answer = append(answer, converted)
	}
	return http.StatusOK, answer, nil
}

func (s *Server) externalAuth(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	owner := r.actor
	if asked := r.URL.Query().Get("user_id"); asked != "" && asked != codersdk.Me {
		if owner, err = uuid.Parse(asked); err != nil {
			return 0, nil, &world.Error{Kind: world.Invalid, Message: "Invalid user_id query parameter.", Detail: err.Error()}
		}
	}
	auths, err := s.world.ExternalAuths(r.actor, id, owner)
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.TemplateVersionExternalAuth{}
	for _, auth := range auths {
		answer = append(answer, codersdk.TemplateVersionExternalAuth{
			ID: auth.Provider, Type: auth.Provider, DisplayName: auth.Provider, Optional: auth.Optional, Authenticated: auth.Authenticated,
		})
	}
	return http.StatusOK, answer, nil
}

func (s *Server) evaluate(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	asked, err := body[codersdk.DynamicParametersRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	evaluated, err := s.world.EvaluateParameters(r.actor, id, asked.OwnerID, asked.Inputs)
	answer := codersdk.DynamicParametersResponse{Diagnostics: []codersdk.FriendlyDiagnostic{}, Parameters: []codersdk.PreviewParameter{}}
	var refused *world.Error
	if errors.As(err, &refused) && len(refused.Fields) == 1 && refused.Fields[0].Field == world.OwnerField {
		answer.Diagnostics = append(answer.Diagnostics, problem("Failed to fetch workspace owner", refused.Message, "owner_not_found"))
		return http.StatusOK, answer, nil
	}
	for _, e := range evaluated {
		answer.Parameters = append(answer.Parameters, toPreview(e))
	}
	return http.StatusOK, answer, err
}

func problem(summary, detail, code string) codersdk.FriendlyDiagnostic {
	return codersdk.FriendlyDiagnostic{
		Severity: codersdk.DiagnosticSeverityError, Summary: summary, Detail: detail, Extra: codersdk.DiagnosticExtra{Code: code},
	}
}

func toPreview(e world.EvaluatedParameter) codersdk.PreviewParameter {
	preview := codersdk.PreviewParameter{
		PreviewParameterData: codersdk.PreviewParameterData{
			Name: e.Spec.Name, DisplayName: e.Spec.Name, Type: codersdk.OptionType(typeOf(e.Spec)), Mutable: true, Required: e.Spec.Required,
			DefaultValue: codersdk.NullHCLString{Value: e.Spec.Default, Valid: !e.Spec.Required},
			Options:      []codersdk.PreviewParameterOption{}, Validations: []codersdk.PreviewParameterValidation{},
		},
		Value:       codersdk.NullHCLString{Value: e.Value, Valid: e.Problem == nil || !e.Problem.Missing},
		Diagnostics: []codersdk.FriendlyDiagnostic{},
	}
	for _, option := range e.Spec.Options {
		preview.Options = append(preview.Options, codersdk.PreviewParameterOption{
			Name: option, Value: codersdk.NullHCLString{Value: option, Valid: true},
		})
	}
	switch {
	case e.Problem == nil:
	case e.Problem.Missing:
		preview.Diagnostics = append(preview.Diagnostics, problem("Required parameter not provided", e.Problem.Text, "required"))
	default:
		preview.Diagnostics = append(preview.Diagnostics, problem("Invalid parameter value", e.Problem.Text, ""))
	}
	return preview
}

func typeOf(spec world.ParameterSpec) string {
	if spec.Type == "" {
		return "string"
	}
	return spec.Type
}

func toParameter(spec world.ParameterSpec) codersdk.TemplateVersionParameter {
	p := codersdk.TemplateVersionParameter{
		Name: spec.Name, Type: typeOf(spec), Mutable: true, DefaultValue: spec.Default, Required: spec.Required,
		ValidationRegex: spec.Regex, ValidationError: spec.RegexError, Options: []codersdk.TemplateVersionParameterOption{},
		ValidationMin: bound(spec.Min), ValidationMax: bound(spec.Max),
	}
	for _, option := range spec.Options {
		p.Options = append(p.Options, codersdk.TemplateVersionParameterOption{Name: option, Value: option})
	}
	return p
}

func bound(n *int) *int32 {
	if n == nil {
		return nil
	}
	b := int32(*n)
	return &b
}

func toTemplate(t world.Template) codersdk.Template {
	return codersdk.Template{
		ID: t.ID, Name: t.Name, DisplayName: t.Name, OrganizationID: t.Organization.ID, OrganizationName: t.Organization.Name,
		OrganizationDisplayName: t.Organization.Name, Provisioner: codersdk.ProvisionerTypeTerraform, ActiveVersionID: t.ActiveVersion,
		Deprecated: t.Deprecated != "", DeprecationMessage: t.Deprecated, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		AllowUserCancelWorkspaceJobs: !t.ForbidCancel, AllowUserAutostart: true, AllowUserAutostop: true,
		UseClassicParameterFlow: t.Classic, CORSBehavior: codersdk.CORSBehaviorSimple,
	}
}

func toVersion(v world.TemplateVersion) codersdk.TemplateVersion {
	version := codersdk.TemplateVersion{
		ID: v.ID, Name: v.Name, OrganizationID: v.Organization.ID, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		Job: toJob(v.Import, v.Organization.ID, codersdk.ProvisionerJobTypeTemplateVersionImport), Archived: v.Archived,
		CreatedBy: codersdk.MinimalUser{ID: v.CreatedBy}, HasExternalAgent: v.HasExternalAgent, Message: v.Message,
	}
	if v.Import.Status == core.JobPending {
		version.MatchedProvisioners = &codersdk.MatchedProvisioners{Count: v.Import.Provisioners, Available: v.Import.Available}
	}
	version.Job.FileID = v.File
	if v.Template != uuid.Nil {
		version.TemplateID = &v.Template
	}
	return version
}
