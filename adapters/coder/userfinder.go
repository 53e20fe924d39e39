package coder

import (
	"context"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.UserFinder = (*Runner)(nil)

// FindUser implements ports.UserFinder. Coder takes IDs and "me" where it takes user
// names; both are mismatches here.
func (r *Runner) FindUser(ctx context.Context, username string) (core.User, error) {
	const op = "find user"
	var user codersdk.User
	if _, err := r.get(ctx, op, "/users/"+url.PathEscape(username), nil, &user); err != nil {
		return core.User{}, err
	}
	if user.ID == uuid.Nil || !strings.EqualFold(user.Username, username) {
		return core.User{}, mismatch(op, "the answer names user %q, not %q", user.Username, username)
	}
	found := toUser(user)
	found.SiteRoles = nil
	return found, nil
}
