package ports

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// AccessReader tells what a connection's token is good for. A CodeRunner can be one.
type AccessReader interface {
	// Access tells whose the connection's token is, when it ends, and what it does not
	// allow with the workspaces of owner; uuid.Nil asks about no owner.
	// FailureUnauthorized: Coder does not take the token.
	Access(ctx context.Context, owner uuid.UUID) (core.Access, error)
}

// OperatorAccess looks after the operator user's way into one deployment. Errors are
// *core.Failure, as those of a CodeRunner; none holds a token or a password.
type OperatorAccess interface {
	AccessReader
	// NewToken makes another token of the same user, whose end does not move, for lifetime
	// or the longest time that the deployment allows. Each call makes one more. Coder
	// refuses a name that a living token of the user has with FailureConflict.
	NewToken(ctx context.Context, name string, lifetime time.Duration) (core.Secret, error)
	// HasUsers tells whether the deployment has its first user. It needs no token.
	HasUsers(ctx context.Context) (bool, error)
	// CreateFirstUser makes the first user, a site owner, with a password. It needs no
	// token. FailureConflict: there is one already, perhaps by an earlier call whose
	// answer was lost: LogIn tells.
	CreateFirstUser(ctx context.Context, user core.FirstUser) error
	// LogIn starts a session and returns its token. It needs no token.
	// FailureUnauthorized: no such user, or another password.
	LogIn(ctx context.Context, user core.FirstUser) (core.Secret, error)
}

// AccessDialer makes an OperatorAccess for a connection, whose token may be empty. It does
// no request, as a Dialer.
type AccessDialer func(connection core.Connection) (OperatorAccess, error)
