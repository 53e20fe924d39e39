package coder

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TemplatePublisher = (*Runner)(nil)

// TemplateRights implements ports.VersionPublisher. Without the right to make a version
// Coder answers 500 (Coder fact 60), which says nothing: so it is asked before.
func (r *Runner) TemplateRights(ctx context.Context, template uuid.UUID) (core.TemplateRights, error) {
	object := codersdk.AuthorizationObject{ResourceType: codersdk.ResourceTemplate, ResourceID: template.String()}
	checks := map[string]codersdk.AuthorizationCheck{
		"create": {Action: codersdk.ActionCreate, Object: object},
		"update": {Action: codersdk.ActionUpdate, Object: object},
	}
	var granted codersdk.AuthorizationResponse
	if err := r.ask(ctx, "check access to the template", "/authcheck", codersdk.AuthorizationRequest{Checks: checks}, &granted); err != nil {
		return core.TemplateRights{}, err
	}
	return core.TemplateRights{Push: granted["create"], Promote: granted["update"]}, nil
}

// UploadArchive implements ports.VersionPublisher.
func (r *Runner) UploadArchive(ctx context.Context, archive []byte) (uuid.UUID, error) {
	const op = "upload the archive"
	var stored codersdk.UploadResponse
	err := r.change(ctx, request{op: op, method: http.MethodPost, path: "/files", archive: archive}, &stored)
	if err == nil && stored.ID == uuid.Nil {
		return uuid.Nil, mismatch(op, "the answer names no file")
	}
	return stored.ID, err
}

// CreateVersion implements ports.VersionPublisher.
func (r *Runner) CreateVersion(ctx context.Context, asked core.NewVersion) (core.PublishedVersion, error) {
	const op = "create template version"
	body := codersdk.CreateTemplateVersionRequest{
		Name: asked.Name, Message: asked.Message, TemplateID: asked.TemplateID, FileID: asked.FileID,
		StorageMethod: codersdk.ProvisionerStorageMethodFile, Provisioner: codersdk.ProvisionerTypeTerraform,
		ProvisionerTags: asked.Tags,
	}
	for _, variable := range asked.Variables {
		body.UserVariableValues = append(body.UserVariableValues,
			codersdk.VariableValue{Name: variable.Name, Value: variable.Value.Reveal()})
	}
	var made codersdk.TemplateVersion
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/organizations/" + asked.OrganizationID.String() + "/templateversions", body: body,
	}, &made)
	if err != nil {
		return core.PublishedVersion{}, err
	}
	version := toPublished(made)
	switch {
	case version.ID == uuid.Nil || version.Name != asked.Name:
		return core.PublishedVersion{}, mismatch(op, "the answer names version %q, not %q", version.Name, asked.Name)
	case version.TemplateID != asked.TemplateID:
		return core.PublishedVersion{}, mismatch(op, "the answer names template %s, not %s", version.TemplateID, asked.TemplateID)
	}
	return version, nil
}

// PublishedVersion implements ports.ImportWatcher.
func (r *Runner) PublishedVersion(ctx context.Context, id uuid.UUID) (core.PublishedVersion, error) {
	const op = "read template version"
	var found codersdk.TemplateVersion
	if _, err := r.get(ctx, op, "/templateversions/"+id.String(), nil, &found); err != nil {
		return core.PublishedVersion{}, err
	}
	if found.ID != id {
		return core.PublishedVersion{}, mismatch(op, "the answer names version %s, not %s", found.ID, id)
	}
	return toPublished(found), nil
}

// ImportLog implements ports.ImportWatcher.
func (r *Runner) ImportLog(ctx context.Context, version uuid.UUID, after int64) ([]core.LogLine, error) {
	return r.jobLog(ctx, "read import log", "/templateversions/"+version.String()+"/logs", after)
}

// CancelImport implements ports.ImportWatcher.
func (r *Runner) CancelImport(ctx context.Context, version uuid.UUID) error {
	var said codersdk.Response
	return r.change(ctx, request{
		op: "cancel the import", method: http.MethodPatch, path: "/templateversions/" + version.String() + "/cancel",
		// As for a build: a body that cannot be read again keeps the request single.
		body: struct{}{},
	}, &said)
}

// Promote implements ports.VersionPromoter.
func (r *Runner) Promote(ctx context.Context, template, version uuid.UUID) error {
	var said codersdk.Response
	return r.change(ctx, request{
		op: "promote the version", method: http.MethodPatch, path: "/templates/" + template.String() + "/versions",
		body: codersdk.UpdateActiveTemplateVersion{ID: version},
	}, &said)
}

func toPublished(version codersdk.TemplateVersion) core.PublishedVersion {
	published := core.PublishedVersion{
		TemplateVersion: toVersion(version), Message: version.Message, CreatedBy: version.CreatedBy.ID,
		FileID: version.Job.FileID, CreatedAt: version.CreatedAt, ImportError: version.Job.Error, Provisioners: -1,
		Tags: tagsOf(version.Job),
	}
	if version.MatchedProvisioners != nil {
		published.Provisioners = version.MatchedProvisioners.Count
	}
	return published
}
