package runner

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TesterAdmin = (*Runner)(nil)

// ServiceAccounts implements ports.TesterAdmin.
func (r *Runner) ServiceAccounts(ctx context.Context) (bool, error) {
	c, err := r.read(ctx, "read what the license allows", path{before: "/entitlements"})
	if err != nil {
		return false, err
	}
	return c.world.Licensed(), nil
}

// CreateUser implements ports.TesterAdmin.
func (r *Runner) CreateUser(ctx context.Context, user core.NewUser) (uuid.UUID, error) {
	c, err := r.change(ctx, "make a user", path{before: "/users"})
	if err != nil {
		return uuid.Nil, err
	}
	spec := world.UserSpec{
		Username: user.Username, Email: user.Email, Password: user.Password.Reveal(), Status: world.UserActive,
		ServiceAccount: user.ServiceAccount, Organizations: user.Organizations,
	}
	if user.ServiceAccount {
		spec.LoginType = world.LoginNone
	}
	made, err := c.world.CreateUser(c.actor, spec)
	if err != nil {
		return uuid.Nil, c.failure(err)
	}
	return made.ID, nil
}

// ActivateUser implements ports.TesterAdmin.
func (r *Runner) ActivateUser(ctx context.Context, id uuid.UUID) error {
	c, err := r.change(ctx, "activate a user", path{"/users/", id, "/status/activate"})
	if err != nil {
		return err
	}
	if _, err := c.world.SetUserStatus(c.actor, id, world.UserActive); err != nil {
		return c.failure(err)
	}
	return nil
}
