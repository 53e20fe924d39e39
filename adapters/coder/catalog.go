package coder

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TemplateCatalog = (*Runner)(nil)

// Templates implements ports.TemplateCatalog.
func (r *Runner) Templates(ctx context.Context) ([]core.CatalogTemplate, error) {
	var listed []codersdk.Template
	if _, err := r.get(ctx, "list templates", "/templates", nil, &listed); err != nil {
		return nil, err
	}
	templates := make([]core.CatalogTemplate, 0, len(listed))
	for i := range listed {
		t := &listed[i]
		templates = append(templates, core.CatalogTemplate{
			ID: t.ID, Ref: t.OrganizationName + "." + t.Name, DisplayName: t.DisplayName, ActiveVersion: t.ActiveVersionID, Deprecated: t.Deprecated,
		})
	}
	slices.SortFunc(templates, func(a, b core.CatalogTemplate) int { return cmp.Compare(a.Ref, b.Ref) })
	return templates, nil
}

// Versions implements ports.TemplateCatalog.
func (r *Runner) Versions(ctx context.Context, template uuid.UUID, limit int) ([]core.CatalogVersion, error) {
	const op = "list versions"
	var found codersdk.Template
	if _, err := r.get(ctx, op, "/templates/"+template.String(), nil, &found); err != nil {
		return nil, err
	}
	if found.ID != template {
		return nil, mismatch(op, "the answer names template %s, not %s", found.ID, template)
	}
	// Coder fact 69: the oldest come first, and only all of them tell which are the newest.
	var listed []codersdk.TemplateVersion
	if _, err := r.get(ctx, op, "/templates/"+template.String()+"/versions", nil, &listed); err != nil {
		return nil, err
	}
	versions := make([]core.CatalogVersion, 0, min(limit, len(listed)))
	for i := len(listed) - 1; i >= 0 && len(versions) < limit; i-- {
		v := &listed[i]
		if v.Archived {
			continue
		}
		versions = append(versions, core.CatalogVersion{
			ID: v.ID, Name: v.Name, Active: v.ID == found.ActiveVersionID, Message: v.Message, Import: core.JobStatus(v.Job.Status),
		})
	}
	return versions, nil
}

// VersionInputs implements ports.TemplateCatalog.
func (r *Runner) VersionInputs(ctx context.Context, version uuid.UUID) (core.VersionInputs, error) {
	path := "/templateversions/" + version.String()
	var parameters []codersdk.TemplateVersionParameter
	if _, err := r.get(ctx, "read parameters", path+"/rich-parameters", nil, &parameters); err != nil {
		return core.VersionInputs{}, err
	}
	var presets []codersdk.Preset
	if _, err := r.get(ctx, "read presets", path+"/presets", nil, &presets); err != nil {
		return core.VersionInputs{}, err
	}
	inputs := core.VersionInputs{Parameters: []core.CatalogParameter{}, Presets: []core.CatalogPreset{}}
	for i := range parameters {
		p := &parameters[i]
		one := core.CatalogParameter{
			Name: p.Name, DisplayName: p.DisplayName, Description: p.DescriptionPlaintext, Type: p.Type, Default: p.DefaultValue,
			Required: p.Required, Ephemeral: p.Ephemeral,
		}
		for _, option := range p.Options {
			one.Options = append(one.Options, core.CatalogOption{Name: option.Name, Value: option.Value})
		}
		inputs.Parameters = append(inputs.Parameters, one)
	}
	for _, p := range presets {
		one := core.CatalogPreset{Name: p.Name, Default: p.Default}
		for _, value := range p.Parameters {
			one.Parameters = append(one.Parameters, core.Parameter(value))
		}
		inputs.Presets = append(inputs.Presets, one)
	}
	return inputs, nil
}
