package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TemplatePublisher makes versions of templates that exist and says which one is
// active, with the rights of one user. What a CodeRunner's methods keep to, its methods
// keep to as well.
type TemplatePublisher interface {
	VersionPublisher
	ImportWatcher
	VersionPromoter
}

// VersionPublisher makes versions.
type VersionPublisher interface {
	// TemplateRights asks Coder what the user may do with the template.
	TemplateRights(ctx context.Context, template uuid.UUID) (core.TemplateRights, error)
	// UploadArchive stores a tar archive and returns its ID: the same one whenever the
	// same user stores the same content, so it may be repeated after any failure.
	UploadArchive(ctx context.Context, archive []byte) (uuid.UUID, error)
	// CreateVersion makes a version, which is not active, and starts its import.
	// FailureConflict: the template has a version of this name. A name is unique within
	// its template, so after an uncertain answer the name tells what became of it.
	CreateVersion(ctx context.Context, version core.NewVersion) (core.PublishedVersion, error)
}

// ImportWatcher looks at imports.
type ImportWatcher interface {
	// PublishedVersion reads a version by ID.
	PublishedVersion(ctx context.Context, id uuid.UUID) (core.PublishedVersion, error)
	// ImportLog reads the lines of the version's import that come after the one with
	// this ID; all of them after 0.
	ImportLog(ctx context.Context, version uuid.UUID, after int64) ([]core.LogLine, error)
	// CancelImport asks to cancel the version's import. FailureRejected: it has ended, or
	// was asked before. A pending one ends at once, a running one within seconds.
	CancelImport(ctx context.Context, version uuid.UUID) error
}

// VersionPromoter changes which version is active.
type VersionPromoter interface {
	// Promote makes the version the template's active one, whatever was active before:
	// the last caller wins. FailureRejected: the version is archived or another
	// template's; FailureForbidden: its import did not succeed.
	Promote(ctx context.Context, template, version uuid.UUID) error
}
