package ports

import (
	"context"

	"github.com/assay-dev/assay/core"
)

// UserFinder finds the user that a person named. A CodeRunner can be one; whoever
// needs it asks for it with a type assertion and says what to do instead.
type UserFinder interface {
	// FindUser reads the user of a user name, without regard to case, without its
	// roles and memberships. A missing user, or one that the operator user may not
	// read, is FailureNotFound. Errors are those of a CodeRunner's reads.
	FindUser(ctx context.Context, username string) (core.User, error)
}
