package runner

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TemplatePublisher = (*Runner)(nil)

// TemplateRights implements ports.VersionPublisher.
func (r *Runner) TemplateRights(ctx context.Context, template uuid.UUID) (core.TemplateRights, error) {
	c, err := r.read(ctx, "check rights", path{before: "/authcheck"})
	if err != nil {
		return core.TemplateRights{}, err
	}
	may := c.world.TemplateRights(c.actor, template)
	return core.TemplateRights{Push: may, Promote: may}, nil
}

// UploadArchive implements ports.VersionPublisher.
func (r *Runner) UploadArchive(ctx context.Context, archive []byte) (uuid.UUID, error) {
	c, err := r.change(ctx, "upload the archive", path{before: "/files"})
	if err != nil {
		return uuid.Nil, err
	}
	return c.world.UploadFile(c.actor, archive), nil
}

// CreateVersion implements ports.VersionPublisher.
func (r *Runner) CreateVersion(ctx context.Context, asked core.NewVersion) (core.PublishedVersion, error) {
	c, err := r.change(ctx, "create template version", path{"/organizations/", asked.OrganizationID, "/templateversions"})
	if err != nil {
		return core.PublishedVersion{}, err
	}
	request := world.PublishVersion{
		Organization: asked.OrganizationID.String(), Template: asked.TemplateID, Name: asked.Name, Message: asked.Message,
		File: asked.FileID, Tags: asked.Tags,
	}
	for _, variable := range asked.Variables {
		request.Variables = append(request.Variables, variable.Name)
	}
	v, err := c.world.PublishVersion(c.actor, request)
	if err != nil {
		return core.PublishedVersion{}, c.failure(err)
	}
	return toPublished(v), nil
}

// PublishedVersion implements ports.ImportWatcher.
func (r *Runner) PublishedVersion(ctx context.Context, id uuid.UUID) (core.PublishedVersion, error) {
	c, err := r.read(ctx, "read version", path{"/templateversions/", id, ""})
	if err != nil {
		return core.PublishedVersion{}, err
	}
	v, err := c.world.TemplateVersion(c.actor, id)
	if err != nil {
		return core.PublishedVersion{}, c.failure(err)
	}
	return toPublished(v), nil
}

// ImportLog implements ports.ImportWatcher.
func (r *Runner) ImportLog(ctx context.Context, version uuid.UUID, after int64) ([]core.LogLine, error) {
	c, err := r.read(ctx, "read import log", path{"/templateversions/", version, "/logs"})
	if err != nil {
		return nil, err
	}
	logged, err := c.world.ImportLog(c.actor, version)
	if err != nil {
		return nil, c.failure(err)
	}
	return linesAfter(logged, "Detecting persistent resources", after), nil
}

// CancelImport implements ports.ImportWatcher.
func (r *Runner) CancelImport(ctx context.Context, version uuid.UUID) error {
	c, err := r.change(ctx, "cancel the import", path{"/templateversions/", version, "/cancel"})
	if err != nil {
		return err
	}
	if err := c.world.CancelImport(c.actor, version); err != nil {
		return c.failure(err)
	}
	return nil
}

// Promote implements ports.VersionPromoter.
func (r *Runner) Promote(ctx context.Context, template, version uuid.UUID) error {
	c, err := r.change(ctx, "promote the version", path{"/templates/", template, "/versions"})
	if err != nil {
		return err
	}
	if err := c.world.Promote(c.actor, template, version); err != nil {
		return c.failure(err)
	}
	return nil
}

func toPublished(v world.TemplateVersion) core.PublishedVersion {
	return core.PublishedVersion{
		TemplateVersion: toVersion(v), Message: v.Message, CreatedBy: v.CreatedBy, FileID: v.File, CreatedAt: v.CreatedAt,
		ImportError: v.Import.Error, Provisioners: v.Import.Provisioners, Tags: v.Import.TagList,
	}
}
