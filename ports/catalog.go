package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TemplateCatalog lists what a test can be made of, for people who choose. A CodeRunner
// can be one; whoever needs it asks for it with a type assertion and does without it
// otherwise. Errors are those of a CodeRunner's reads.
type TemplateCatalog interface {
	// Templates lists the templates that the operator user may see, by organization and
	// name.
	Templates(ctx context.Context) ([]core.CatalogTemplate, error)
	// Versions lists the newest versions of a template, newest first, limit at most;
	// archived ones are left out.
	Versions(ctx context.Context, template uuid.UUID, limit int) ([]core.CatalogVersion, error)
	// VersionInputs lists the static parameters and the presets of a version.
	VersionInputs(ctx context.Context, version uuid.UUID) (core.VersionInputs, error)
}
