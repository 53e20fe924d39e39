package coder

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.TesterAdmin = (*Runner)(nil)

// ServiceAccounts implements ports.TesterAdmin. A build of Coder without licensed features
// does not know the question.
func (r *Runner) ServiceAccounts(ctx context.Context) (bool, error) {
	var entitlements codersdk.Entitlements
	_, err := r.get(ctx, "read what the license allows", "/entitlements", nil, &entitlements)
	if hasClass(err, core.FailureNotFound) {
		return false, nil
	}
	return entitlements.Features[codersdk.FeatureServiceAccounts].Enabled, err
}

// CreateUser implements ports.TesterAdmin.
func (r *Runner) CreateUser(ctx context.Context, user core.NewUser) (uuid.UUID, error) {
	const op = "make a user"
	active := codersdk.UserStatusActive
	asked := codersdk.CreateUserRequestWithOrgs{
		Username: user.Username, Email: user.Email, Password: user.Password.Reveal(), UserLoginType: codersdk.LoginTypePassword,
		UserStatus: &active, OrganizationIDs: user.Organizations, ServiceAccount: user.ServiceAccount,
	}
	if user.ServiceAccount {
		// Coder has one login type for them, and fills it in.
		asked.UserLoginType = ""
	}
	var made codersdk.User
	if err := r.change(ctx, request{op: op, method: http.MethodPost, path: "/users", body: asked}, &made); err != nil {
		return uuid.Nil, err
	}
	if made.ID == uuid.Nil || made.Username != user.Username {
		return uuid.Nil, mismatch(op, "the answer names user %q, not %q", made.Username, user.Username)
	}
	return made.ID, nil
}

// ActivateUser implements ports.TesterAdmin.
func (r *Runner) ActivateUser(ctx context.Context, id uuid.UUID) error {
	const op = "activate a user"
	var user codersdk.User
	err := r.change(ctx, request{op: op, method: http.MethodPut, path: "/users/" + id.String() + "/status/activate"}, &user)
	if err == nil && (user.ID != id || user.Status != codersdk.UserStatusActive) {
		return mismatch(op, "the answer is not that user %s is active", id)
	}
	return err
}
