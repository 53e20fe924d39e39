package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// BuildLogFollower reads what is new in the log of a build that runs. A CodeRunner can be
// one; whoever needs it asks for it with a type assertion and does without it otherwise.
type BuildLogFollower interface {
	// BuildLogAfter reads the lines of the build's log that come after the one with this
	// ID; all of them after 0. Errors are those of a CodeRunner's reads.
	BuildLogAfter(ctx context.Context, build uuid.UUID, after int64) ([]core.LogLine, error)
}
