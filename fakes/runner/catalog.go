package runner

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TemplateCatalog = (*Runner)(nil)

// Templates implements ports.TemplateCatalog.
func (r *Runner) Templates(ctx context.Context) ([]core.CatalogTemplate, error) {
	c, err := r.read(ctx, "list templates", path{"/templates", uuid.Nil, ""})
	if err != nil {
		return nil, err
	}
	templates := []core.CatalogTemplate{}
	for _, t := range c.world.Templates(c.actor, uuid.Nil) {
		templates = append(templates, core.CatalogTemplate{
			ID: t.ID, Ref: t.Organization.Name + "." + t.Name, ActiveVersion: t.ActiveVersion, Deprecated: t.Deprecated != "",
		})
	}
	slices.SortFunc(templates, func(a, b core.CatalogTemplate) int { return cmp.Compare(a.Ref, b.Ref) })
	return templates, nil
}

// Versions implements ports.TemplateCatalog.
func (r *Runner) Versions(ctx context.Context, template uuid.UUID, limit int) ([]core.CatalogVersion, error) {
	c, err := r.read(ctx, "list versions", path{"/templates/", template, "/versions"})
	if err != nil {
		return nil, err
	}
	found, err := c.world.Template(c.actor, template)
	if err != nil {
		return nil, c.failure(err)
	}
	listed, err := c.world.Versions(c.actor, template)
	if err != nil {
		return nil, c.failure(err)
	}
	versions := []core.CatalogVersion{}
	for _, v := range slices.Backward(listed) {
		if !v.Archived && len(versions) < limit {
			versions = append(versions, core.CatalogVersion{
				ID: v.ID, Name: v.Name, Active: v.ID == found.ActiveVersion, Message: v.Message, Import: v.Import.Status,
			})
		}
	}
	return versions, nil
}

// VersionInputs implements ports.TemplateCatalog.
func (r *Runner) VersionInputs(ctx context.Context, version uuid.UUID) (core.VersionInputs, error) {
	c, err := r.read(ctx, "read parameters", path{"/templateversions/", version, "/rich-parameters"})
	if err != nil {
		return core.VersionInputs{}, err
	}
	parameters, err := c.world.Parameters(c.actor, version)
	if err != nil {
		return core.VersionInputs{}, c.failure(err)
	}
	presets, err := c.world.Presets(c.actor, version)
	if err != nil {
		return core.VersionInputs{}, c.failure(err)
	}
	inputs := core.VersionInputs{Parameters: []core.CatalogParameter{}, Presets: []core.CatalogPreset{}}
	for _, p := range parameters {
		one := core.CatalogParameter{Name: p.Name, Type: cmp.Or(p.Type, "string"), Default: p.Default, Required: p.Required}
		for _, option := range p.Options {
			one.Options = append(one.Options, core.CatalogOption{Name: option, Value: option})
		}
		inputs.Parameters = append(inputs.Parameters, one)
	}
	for _, p := range presets {
		one := core.CatalogPreset{Name: p.Name}
		for _, value := range p.Sorted() {
			one.Parameters = append(one.Parameters, core.Parameter(value))
		}
		inputs.Presets = append(inputs.Presets, one)
	}
	return inputs, nil
}
