package world

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// signedOut is the message of every 401 about a token (source).
const signedOut = "You are signed out or your session has expired. Please sign in again to continue."

// MintToken makes a session token for the user.
func (w *World) MintToken(user uuid.UUID) string {
	w.lock()
	defer w.unlock()
	return w.mintToken(w.users[user])
}

// mintToken makes a token of the form that Coder's have, so that scanners of logs know
// it: ten characters, a dash, twenty-two.
func (w *World) mintToken(u *user) string {
	id := w.newID(idToken)
	token := fmt.Sprintf("%04x%02x%04x-%022x", w.seed, id[15], id[14:16], id[8:16])
	w.tokens[token] = u
	return token
}

// RevokeTokens ends every session token of the user.
func (w *World) RevokeTokens(user uuid.UUID) {
	w.lock()
	defer w.unlock()
	for token, u := range w.tokens {
		if u.id == user {
			delete(w.tokens, token)
		}
	}
}

// Authenticate finds the user of a session token: Unauthorized for a bad token and for a
// user that is not active.
func (w *World) Authenticate(token string) (uuid.UUID, error) {
	w.lock()
	defer w.unlock()
	if token == "" {
		return uuid.Nil, &Error{Kind: Unauthorized, Message: signedOut, Detail: "A session token must be provided."}
	}
	u, ok := w.tokens[token]
	if !ok || u.deleted {
		return uuid.Nil, &Error{Kind: Unauthorized, Message: signedOut, Detail: "API key is invalid."}
	}
	if made, ok := w.lasting[token]; ok && !w.stamp().Before(made.ends) {
		return uuid.Nil, &Error{Kind: Unauthorized, Message: signedOut, Detail: "API key expired."}
	}
	return u.id, w.mayAct(u)
}

// Active refuses, as Authenticate does, a user who may not act at all.
func (w *World) Active(user uuid.UUID) error {
	w.lock()
	defer w.unlock()
	u, ok := w.users[user]
	if !ok || u.deleted {
		return &Error{Kind: Unauthorized, Message: signedOut, Detail: "API key is invalid."}
	}
	return w.mayAct(u)
}

// mayAct makes a dormant user active, as its first request does (source).
func (w *World) mayAct(u *user) error {
	switch u.status {
	case UserDormant:
		u.status = UserActive
		return nil
	case UserActive:
		return nil
	default:
		return refuse(Unauthorized, "User is not active (status = %q). Contact an admin to reactivate your account.", u.status)
	}
}

// Login answers with a new session token: Unauthorized for a wrong password.
func (w *World) Login(email, password string) (string, error) {
	w.lock()
	defer w.unlock()
	w.count("login")
	for _, u := range w.users {
		if u.email == email && u.password != "" && u.password == password && !u.deleted && u.loginType == "password" {
			if err := w.mayAct(u); err != nil {
				return "", err
			}
			return w.mintToken(u), nil
		}
	}
	return "", refuse(Unauthorized, "Incorrect email or password.")
}

func (w *World) hasSiteRole(actor uuid.UUID, roles ...string) bool {
	u := w.users[actor]
	return u != nil && slices.ContainsFunc(u.siteRoles, func(role string) bool { return slices.Contains(roles, role) })
}

func (w *World) isMember(user, organization uuid.UUID) bool {
	u := w.users[user]
	if u == nil {
		return false
	}
	_, ok := u.memberships[organization]
	return ok
}

func (w *World) isOrganizationAdmin(actor, organization uuid.UUID) bool {
	u := w.users[actor]
	return u != nil && slices.Contains(u.memberships[organization], "organization-admin")
}

// mayReadUser: oneself, and the people who look after users.
func (w *World) mayReadUser(actor uuid.UUID, u *user) bool {
	return actor == u.id || w.hasSiteRole(actor, RoleOwner, "user-admin", "template-admin", "auditor")
}

// mayReadMember: members of an organization see each other by name (seen: creating a
// workspace for another member is 403, not 404).
func (w *World) mayReadMember(actor uuid.UUID, u *user) bool {
	if w.mayReadUser(actor, u) {
		return true
	}
	for organization := range u.memberships {
		if w.isMember(actor, organization) {
			return true
		}
	}
	return false
}

func (w *World) mayReadOrganization(actor, organization uuid.UUID) bool {
	return w.hasSiteRole(actor, RoleOwner, "user-admin", "template-admin", "auditor") || w.isMember(actor, organization)
}

func (w *World) mayReadTemplate(actor uuid.UUID, t *template) bool {
	return w.hasSiteRole(actor, RoleOwner, "template-admin") || w.isMember(actor, t.organization)
}

func (w *World) mayManageTemplates(actor, organization uuid.UUID) bool {
	u := w.users[actor]
	return w.hasSiteRole(actor, RoleOwner, "template-admin") || w.isOrganizationAdmin(actor, organization) ||
		u != nil && slices.Contains(u.memberships[organization], "organization-template-admin")
}

func (w *World) mayReadWorkspaces(actor, owner, organization uuid.UUID) bool {
	return w.hasSiteRole(actor, "template-admin") || w.mayChangeWorkspaces(actor, owner, organization)
}

func (w *World) mayChangeWorkspaces(actor, owner, organization uuid.UUID) bool {
	return w.hasSiteRole(actor, RoleOwner) || w.isOrganizationAdmin(actor, organization) ||
		actor == owner && w.isMember(actor, organization)
}
