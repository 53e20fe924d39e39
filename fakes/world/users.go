package world

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// UserID finds a user by ID or, without regard to case, by name; "me" is the actor. It
// is uuid.Nil when there is none.
func (w *World) UserID(actor uuid.UUID, idOrName string) uuid.UUID {
	w.lock()
	defer w.unlock()
	if u := w.findUser(actor, idOrName); u != nil {
		return u.id
	}
	return uuid.Nil
}

// User reads a user.
func (w *World) User(actor, id uuid.UUID) (User, error) {
	w.lock()
	defer w.unlock()
	w.count("read user")
	u := w.user(id)
	if u == nil || !w.mayReadUser(actor, u) {
		return User{}, notFound()
	}
	return w.userView(u), nil
}

// Users lists the users whom the actor may read, in the order of their IDs.
func (w *World) Users(actor uuid.UUID) []User {
	w.lock()
	defer w.unlock()
	w.count("list users")
	var views []User
	for _, u := range w.users {
		if !u.system && !u.deleted && w.mayReadUser(actor, u) {
			views = append(views, w.userView(u))
		}
	}
	slices.SortFunc(views, func(a, b User) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return views
}

// CreateFirstUser makes the first user, a site owner: Conflict when there is one.
func (w *World) CreateFirstUser(spec UserSpec) (User, error) {
	w.lock()
	defer w.unlock()
	if w.hasUsers() {
		return User{}, refuse(Conflict, "The initial user has already been created.")
	}
	spec.SiteRoles, spec.Status = []string{RoleOwner}, UserActive
	u := w.addUser(spec)
	w.record(Change{Actor: u.id, Op: "create user", Name: spec.Username, Owner: u.id}, nil)
	return w.userView(u), nil
}

// HasUsers tells whether the first user was made.
func (w *World) HasUsers() bool {
	w.lock()
	defer w.unlock()
	return w.hasUsers()
}

func (w *World) hasUsers() bool {
	for _, u := range w.users {
		if !u.system {
			return true
		}
	}
	return false
}

// CreateUser makes a user for an actor who may; it is dormant unless spec says
// otherwise (seen).
func (w *World) CreateUser(actor uuid.UUID, spec UserSpec) (User, error) {
	w.lock()
	defer w.unlock()
	view, refused := w.createUser(actor, spec)
	w.record(Change{Actor: actor, Op: "create user", Name: spec.Username, Owner: view.ID}, refused)
	if refused != nil {
		return User{}, refused
	}
	return view, nil
}

func (w *World) createUser(actor uuid.UUID, spec UserSpec) (User, *Error) {
	// In Coder's order (source).
	if !nameValid(spec.Username) {
		return User{}, invalidField("username", `Validation failed for tag "username" with value: "`+spec.Username+`"`)
	}
	if refused := w.loginPossible(&spec); refused != nil {
		return User{}, refused
	}
	if len(spec.Organizations) == 0 {
		return User{}, invalidField("organization_ids", "Must be present")
	}
	mayCreate := w.hasSiteRole(actor, RoleOwner, "user-admin")
	if mayCreate && (w.userNamed(spec.Username) != nil || w.emailTaken(spec.Email)) {
		return User{}, refuse(Conflict, "User already exists.")
	}
	for _, id := range spec.Organizations {
		if w.organization(id) == nil {
			return User{}, refuse(NotFound, "Organization does not exist with the provided id %q.", id)
		}
	}
	if !mayCreate {
		return User{}, refuse(Forbidden, "You are not authorized to create users.")
	}
	if spec.Status == "" {
		spec.Status = UserDormant
	}
	return w.userView(w.addUser(spec)), nil
}

// loginPossible is what Coder demands of how a new user logs in (source).
func (w *World) loginPossible(spec *UserSpec) *Error {
	switch {
	case spec.ServiceAccount && spec.LoginType != "" && spec.LoginType != LoginNone:
		return refuse(Invalid, "Service accounts must use login type 'none'.")
	case spec.ServiceAccount && spec.Password != "":
		return refuse(Invalid, "Password cannot be set for service accounts.")
	case spec.ServiceAccount && spec.Email != "":
		return refuse(Invalid, "Email cannot be set for service accounts.")
	case spec.ServiceAccount && !w.licensed:
		return refuse(Forbidden, "Service Accounts is a Premium feature. Contact sales!")
	case spec.ServiceAccount:
		spec.LoginType = LoginNone
	case spec.LoginType == LoginNone:
		return refuse(Invalid, "Login type 'none' requires a service account.")
	case (spec.LoginType == "" || spec.LoginType == loginPassword) && len(spec.Password) < 6:
		return refuse(Invalid, "Password is invalid")
	}
	return nil
}

func (w *World) emailTaken(email string) bool {
	for _, u := range w.users {
		if email != "" && !u.deleted && strings.EqualFold(u.email, email) {
			return true
		}
	}
	return false
}

// License has the deployment make service accounts from now on.
func (w *World) License() {
	w.lock()
	defer w.unlock()
	w.licensed = true
}

// Licensed tells whether service accounts can be made.
func (w *World) Licensed() bool {
	w.lock()
	defer w.unlock()
	w.count("read license")
	return w.licensed
}

// SetUserStatus activates or suspends a user.
func (w *World) SetUserStatus(actor, id uuid.UUID, status string) (User, error) {
	w.lock()
	defer w.unlock()
	u := w.user(id)
	var refused *Error
	switch {
	case u == nil || !w.mayReadUser(actor, u):
		return User{}, notFound()
	case !w.hasSiteRole(actor, RoleOwner, "user-admin"):
		refused = forbidden()
	case status == UserSuspended && actor == u.id:
		refused = refuse(Invalid, "You cannot suspend yourself.")
	default:
		u.status = status
	}
	w.record(Change{Actor: actor, Op: "set user " + status, Owner: u.id}, refused)
	if refused != nil {
		return User{}, refused
	}
	return w.userView(u), nil
}

// CreateToken makes a session token for a user: oneself, or anybody for a site owner.
func (w *World) CreateToken(actor, id uuid.UUID) (string, error) {
	w.lock()
	defer w.unlock()
	u := w.user(id)
	switch {
	case u == nil || !w.mayReadUser(actor, u):
		return "", notFound()
	case actor != u.id && !w.hasSiteRole(actor, RoleOwner):
		return "", forbidden()
	}
	w.record(Change{Actor: actor, Op: "create token", Owner: u.id}, nil)
	return w.mintToken(u), nil
}

// Organization reads an organization by ID or, without regard to case, by name;
// "default" is the default one.
func (w *World) Organization(actor uuid.UUID, idOrName string) (Organization, error) {
	w.lock()
	defer w.unlock()
	w.count("read organization")
	org := w.findOrganization(idOrName)
	if org == nil || !w.mayReadOrganization(actor, org.id) {
		return Organization{}, notFound()
	}
	return org.view(), nil
}

// Organizations lists the organizations whom the actor may read.
func (w *World) Organizations(actor uuid.UUID) []Organization {
	w.lock()
	defer w.unlock()
	w.count("list organizations")
	var views []Organization
	for _, org := range w.organizations {
		if w.mayReadOrganization(actor, org.id) {
			views = append(views, org.view())
		}
	}
	return views
}

// MemberIn reads a user as a member of an organization.
func (w *World) MemberIn(actor uuid.UUID, organization string, id uuid.UUID) (User, Membership, error) {
	w.lock()
	defer w.unlock()
	w.count("read member")
	org, u := w.findOrganization(organization), w.user(id)
	if org == nil || u == nil || !w.mayReadOrganization(actor, org.id) || !w.isMember(u.id, org.id) || !w.mayReadMember(actor, u) {
		return User{}, Membership{}, notFound()
	}
	return w.userView(u), Membership{Organization: org.view(), Roles: u.memberships[org.id]}, nil
}

// Members lists the members of an organization, in the order of their IDs.
func (w *World) Members(actor uuid.UUID, organization string) ([]User, error) {
	w.lock()
	defer w.unlock()
	w.count("list members")
	org := w.findOrganization(organization)
	if org == nil || !w.mayReadOrganization(actor, org.id) {
		return nil, notFound()
	}
	var views []User
	for _, u := range w.users {
		if !u.system && !u.deleted && w.isMember(u.id, org.id) && w.mayReadMember(actor, u) {
			views = append(views, w.userView(u))
		}
	}
	slices.SortFunc(views, func(a, b User) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return views, nil
}

func (w *World) findUser(actor uuid.UUID, idOrName string) *user {
	if idOrName == "me" {
		return w.users[actor]
	}
	if id, err := uuid.Parse(idOrName); err == nil {
		return w.user(id)
	}
	return w.userNamed(idOrName)
}

// user is nil for one that was deleted.
func (w *World) user(id uuid.UUID) *user {
	if u := w.users[id]; u != nil && !u.deleted {
		return u
	}
	return nil
}

func (w *World) findOrganization(idOrName string) *organization {
	if id, err := uuid.Parse(idOrName); err == nil {
		return w.organization(id)
	}
	for _, org := range w.organizations {
		if strings.EqualFold(org.name, idOrName) || idOrName == "default" && org.isDefault {
			return org
		}
	}
	return nil
}
