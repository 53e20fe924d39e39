package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// SetUpReader reads what builds depend on besides what a test's spec names. A CodeRunner
// can be one; whoever asks does without it otherwise. Errors are those of a CodeRunner's
// reads.
type SetUpReader interface {
	// VersionJob tells what the version's import asked of its provisioner.
	VersionJob(ctx context.Context, version uuid.UUID) (core.VersionJob, error)
	// Provisioners lists the provisioner daemons of the organization that take jobs with
	// the tags, by Coder's own rule, those that are offline included; nil lists all. A
	// plain member may not read them: FailureNotFound.
	Provisioners(ctx context.Context, organization uuid.UUID, tags map[string]string) ([]core.Provisioner, error)
	// Quota reads the owner's quota in the organization. FailureNotFound where the
	// deployment knows no quotas.
	Quota(ctx context.Context, organization, owner uuid.UUID) (core.Quota, error)
}
