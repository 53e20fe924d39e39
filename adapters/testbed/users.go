package testbed

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"
)

// UserOptions describe a user to make. The zero value is a plain, dormant
// member of the default organization that logs in by password.
type UserOptions struct {
	// Name is the username; empty makes one up.
	Name string
	// Organizations are those that the user is a member of; nil means the
	// default one. More than one needs a license.
	Organizations []uuid.UUID
	// Roles are site roles, "owner" for example.
	Roles []string
	// OrganizationRoles are roles in each of the organizations.
	OrganizationRoles []string
	// LoginType is how the user logs in; empty means by password. A bed also
	// accepts "github"; it refuses "oidc", which it has no provider for, and
	// "none", which needs a license.
	LoginType codersdk.LoginType
	// Activate makes the user active; otherwise it is dormant until its token
	// is first used.
	Activate bool
}

// User is a user that the bed made.
type User struct {
	ID    uuid.UUID
	Name  string
	Email string
	// Token is a session token of the user. An active user with a password
	// got it by logging in, any other from the owner.
	Token string
	// Password is empty for a user that logs in otherwise.
	Password string
}

// tokenLifetime is how long a token from the owner lasts.
const tokenLifetime = 24 * time.Hour

// UniqueName makes a name for a user, a template or a workspace that is new in
// any bed: the prefix, a dash and eight letters and digits. Coder's limit of 32
// characters leaves 23 for the prefix.
func UniqueName(prefix string) string {
	return prefix + "-" + strings.ToLower(rand.Text()[:8])
}

// CreateUser makes a user and a token for it.
func (b *Bed) CreateUser(ctx context.Context, o UserOptions) (User, error) {
	if o.Name == "" {
		o.Name = UniqueName("user")
	}
	if o.LoginType == "" {
		o.LoginType = codersdk.LoginTypePassword
	}
	if o.Organizations == nil {
		o.Organizations = []uuid.UUID{b.OrganizationID}
	}
	u := User{Name: o.Name, Email: o.Name + "@assay.test"}
	status := codersdk.UserStatusDormant
	if o.Activate {
		status = codersdk.UserStatusActive
	}
	if o.LoginType == codersdk.LoginTypePassword {
		u.Password = rand.Text()
	}
	owner := b.owner()
	made, err := owner.CreateUserWithOrgs(ctx, codersdk.CreateUserRequestWithOrgs{
		Email: u.Email, Username: u.Name, Password: u.Password, UserLoginType: o.LoginType,
		UserStatus: &status, OrganizationIDs: o.Organizations, Roles: o.Roles,
	})
	if err != nil {
		return User{}, fmt.Errorf("make user %s: %w", o.Name, err)
	}
	u.ID = made.ID
	if len(o.OrganizationRoles) > 0 {
		for _, organization := range o.Organizations {
			_, err := owner.UpdateOrganizationMemberRoles(ctx, organization, u.ID.String(),
				codersdk.UpdateRoles{Roles: o.OrganizationRoles})
			if err != nil {
				return User{}, fmt.Errorf("give roles to user %s: %w", o.Name, err)
			}
		}
	}
	if u.Token, err = b.tokenFor(ctx, u, o.Activate); err != nil {
		return User{}, fmt.Errorf("make a token for user %s: %w", o.Name, err)
	}
	return u, nil
}

// tokenFor logs in where that changes nothing: it would make a dormant user
// active.
func (b *Bed) tokenFor(ctx context.Context, u User, active bool) (string, error) {
	if active && u.Password != "" {
		session, err := b.Client("").LoginWithPassword(ctx, codersdk.LoginWithPasswordRequest{
			Email: u.Email, Password: u.Password,
		})
		return session.SessionToken, err
	}
	key, err := b.owner().CreateToken(ctx, u.ID.String(), codersdk.CreateTokenRequest{
		Lifetime: tokenLifetime, TokenName: UniqueName("bed"),
	})
	return key.Key, err
}

// LiveWorkspaces lists the workspaces that a user has. It asks by name: Coder
// takes an ID after "owner:" for a name that nobody has, and lists nothing.
func (b *Bed) LiveWorkspaces(ctx context.Context, user User) ([]codersdk.Workspace, error) {
	found, err := b.owner().Workspaces(ctx, codersdk.WorkspaceFilter{Owner: user.Name})
	if err != nil {
		return nil, fmt.Errorf("list the workspaces of %s: %w", user.Name, err)
	}
	if found.Count != len(found.Workspaces) {
		return nil, fmt.Errorf("list the workspaces of %s: %d of %d came", user.Name, len(found.Workspaces), found.Count)
	}
	return found.Workspaces, nil
}
