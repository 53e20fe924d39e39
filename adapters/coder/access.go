package coder

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var _ ports.OperatorAccess = (*Runner)(nil)

// AccessDialer is a ports.AccessDialer that makes a Runner with these options.
func AccessDialer(options ...Option) ports.AccessDialer {
	return func(connection core.Connection) (ports.OperatorAccess, error) { return New(connection, options...) }
}

// needed are the actions on an owner's workspaces that a test takes.
var needed = []codersdk.RBACAction{codersdk.ActionCreate, codersdk.ActionRead, codersdk.ActionDelete}

// Access implements ports.OperatorAccess with three requests: the user, its key, and what
// it may do.
func (r *Runner) Access(ctx context.Context, owner uuid.UUID) (core.Access, error) {
	user, err := r.Operator(ctx)
	if err != nil {
		return core.Access{}, err
	}
	access := core.Access{User: user}
	if err := r.lifetime(ctx, &access); err != nil || owner == uuid.Nil {
		return access, err
	}
	checks := make(map[string]codersdk.AuthorizationCheck)
	for _, action := range needed {
		checks[string(action)] = codersdk.AuthorizationCheck{Action: action, Object: codersdk.AuthorizationObject{
			ResourceType: codersdk.ResourceWorkspace, OwnerID: owner.String(), AnyOrgOwner: true,
		}}
	}
	var granted codersdk.AuthorizationResponse
	if err := r.ask(ctx, "check access to workspaces", "/authcheck", codersdk.AuthorizationRequest{Checks: checks}, &granted); err != nil {
		return core.Access{}, err
	}
	for _, action := range needed {
		if !granted[string(action)] {
			access.Denied = append(access.Denied, string(action))
		}
	}
	return access, nil
}

// lifetime reads when the token ends. What stands before its dash is the key's ID. A
// token that is of another form, or whose key its user may not read, ends who knows when.
func (r *Runner) lifetime(ctx context.Context, access *core.Access) error {
	const op = "read the token's lifetime"
	id, _, ok := strings.Cut(r.token.Reveal(), "-")
	if !ok {
		return nil
	}
	var key codersdk.APIKey
	_, err := r.get(ctx, op, "/users/"+codersdk.Me+"/keys/"+id, nil, &key)
	var failure *core.Failure
	switch {
	case errors.As(err, &failure) && (failure.Class == core.FailureNotFound || failure.Class == core.FailureForbidden):
		return nil
	case err != nil:
		return err
	case key.ID != id || key.UserID != access.User.ID:
		return mismatch(op, "the answer is about another key")
	}
	access.ExpiresAt, access.Refreshes = key.ExpiresAt.UTC(), key.LoginType != codersdk.LoginTypeToken
	access.Lifetime = time.Duration(key.LifetimeSeconds) * time.Second
	return nil
}

// NewToken implements ports.OperatorAccess.
func (r *Runner) NewToken(ctx context.Context, name string, lifetime time.Duration) (core.Secret, error) {
	const op = "make a token"
	var config codersdk.TokenConfig
	if _, err := r.get(ctx, "read the longest lifetime of tokens", "/users/"+codersdk.Me+"/keys/tokens/tokenconfig", nil, &config); err != nil {
		return core.Secret{}, err
	}
	if longest := config.MaxTokenLifetime; longest > 0 {
		lifetime = min(lifetime, longest)
	}
	var made codersdk.GenerateAPIKeyResponse
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/users/" + codersdk.Me + "/keys/tokens",
		body: codersdk.CreateTokenRequest{TokenName: name, Lifetime: lifetime},
	}, &made)
	if err != nil {
		return core.Secret{}, err
	}
	if made.Key == "" {
		return core.Secret{}, mismatch(op, "the answer holds no token")
	}
	return core.NewSecret(made.Key), nil
}

// HasUsers implements ports.OperatorAccess.
func (r *Runner) HasUsers(ctx context.Context) (bool, error) {
	var answer codersdk.Response
	_, err := r.get(ctx, "ask for the first user", "/users/first", nil, &answer)
	var failure *core.Failure
	if errors.As(err, &failure) && failure.Class == core.FailureNotFound {
		return false, nil
	}
	return err == nil, err
}

// CreateFirstUser implements ports.OperatorAccess.
func (r *Runner) CreateFirstUser(ctx context.Context, user core.FirstUser) error {
	const op = "make the first user"
	var made codersdk.CreateFirstUserResponse
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/users/first",
		body: codersdk.CreateFirstUserRequest{Username: user.Username, Email: user.Email, Password: user.Password.Reveal()},
	}, &made)
	if err == nil && made.UserID == uuid.Nil {
		return mismatch(op, "the answer names no user")
	}
	return err
}

// LogIn implements ports.OperatorAccess.
func (r *Runner) LogIn(ctx context.Context, user core.FirstUser) (core.Secret, error) {
	const op = "log in"
	var session codersdk.LoginWithPasswordResponse
	err := r.change(ctx, request{
		op: op, method: http.MethodPost, path: "/users/login",
		body: codersdk.LoginWithPasswordRequest{Email: user.Email, Password: user.Password.Reveal()},
	}, &session)
	if err != nil {
		return core.Secret{}, err
	}
	if session.SessionToken == "" {
		return core.Secret{}, mismatch(op, "the answer holds no token")
	}
	return core.NewSecret(session.SessionToken), nil
}
