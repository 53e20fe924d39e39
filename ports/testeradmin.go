package ports

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TesterAdmin makes users. A CodeRunner can be one; whoever needs it asks for it with a
// type assertion. Errors are those of a CodeRunner; none holds a password.
type TesterAdmin interface {
	UserFinder
	// ServiceAccounts tells whether the deployment's license allows service accounts.
	ServiceAccounts(ctx context.Context) (bool, error)
	// CreateUser makes a user and returns its ID. FailureConflict: the name or the email
	// address is taken. FailureForbidden: the operator user may not, or Coder makes no such
	// user; the message tells.
	CreateUser(ctx context.Context, user core.NewUser) (uuid.UUID, error)
	// ActivateUser makes a dormant or suspended user active; an active one stays so.
	ActivateUser(ctx context.Context, id uuid.UUID) error
}
