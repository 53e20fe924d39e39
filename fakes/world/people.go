package world

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Statuses of a user.
const (
	UserActive    = "active"
	UserDormant   = "dormant"
	UserSuspended = "suspended"
)

// How a user logs in.
const (
	loginPassword = "password"
	// LoginNone is a service account's: not at all.
	LoginNone = "none"
)

// RoleOwner is the site role that may do everything.
const RoleOwner = "owner"

// Organization is an organization of the deployment.
type Organization struct {
	ID   uuid.UUID
	Name string
	// DefaultRoles are what it grants to every member.
	DefaultRoles []string
	IsDefault    bool
}

// UserSpec describes a new user.
type UserSpec struct {
	Username string
	// Email defaults to the username at example.com.
	Email string
	// Password is what the user logs in with; empty for none.
	Password string
	// Status defaults to UserActive. Through the API new users are dormant (seen).
	Status string
	// LoginType defaults to "password".
	LoginType string
	// ServiceAccount is a licensed feature (seen).
	ServiceAccount bool
	SiteRoles      []string
	// Organizations are those that the user joins, without roles of its own; the
	// default one when there is none.
	Organizations []uuid.UUID
}

// User is a user as a caller who may read it sees it. Its slices are shared and never
// change.
type User struct {
	ID             uuid.UUID
	Username       string
	Email          string
	Status         string
	LoginType      string
	ServiceAccount bool
	SiteRoles      []string
	CreatedAt      time.Time
	// Memberships are in the order in which the organizations were made. The users that
	// a workspace or a build names come without.
	Memberships []Membership
}

// Membership is a user's place in an organization.
type Membership struct {
	Organization Organization
	Roles        []string
}

type organization struct {
	id           uuid.UUID
	name         string
	defaultRoles []string
	isDefault    bool
}

type user struct {
	id             uuid.UUID
	username       string
	email          string
	password       string
	status         string
	loginType      string
	serviceAccount bool
	siteRoles      []string
	created        time.Time
	memberships    map[uuid.UUID][]string
	deleted        bool
	// system users are Coder's own: nobody lists them.
	system bool
}

type externalLink struct {
	user     uuid.UUID
	provider string
}

// AddOrganization makes an organization; without default roles it grants MemberRole.
func (w *World) AddOrganization(name string, defaultRoles ...string) Organization {
	w.lock()
	defer w.unlock()
	if len(defaultRoles) == 0 {
		defaultRoles = []string{MemberRole}
	}
	org := &organization{id: w.newID(idOrganization), name: name, defaultRoles: slices.Clone(defaultRoles)}
	w.organizations = append(w.organizations, org)
	return org.view()
}

// AddUser makes a user.
func (w *World) AddUser(spec UserSpec) User {
	w.lock()
	defer w.unlock()
	return w.userView(w.addUser(spec))
}

func (w *World) addUser(spec UserSpec) *user {
	u := &user{
		id: w.newID(idUser), username: spec.Username, email: spec.Email, password: spec.Password,
		status: spec.Status, loginType: spec.LoginType, serviceAccount: spec.ServiceAccount,
		siteRoles: slices.Clone(spec.SiteRoles), created: w.stamp(), memberships: map[uuid.UUID][]string{},
	}
	if u.email == "" {
		u.email = u.username + "@example.com"
	}
	if u.status == "" {
		u.status = UserActive
	}
	if u.loginType == "" {
		u.loginType = loginPassword
	}
	joins := spec.Organizations
	if len(joins) == 0 {
		joins = []uuid.UUID{w.organizations[0].id}
	}
	for _, org := range joins {
		u.memberships[org] = nil
	}
	w.users[u.id] = u
	return u
}

// AddMember makes a user a member of an organization with these roles of its own.
func (w *World) AddMember(organization, user uuid.UUID, roles ...string) {
	w.lock()
	defer w.unlock()
	w.users[user].memberships[organization] = slices.Clone(roles)
}

// RemoveMember ends a membership.
func (w *World) RemoveMember(organization, user uuid.UUID) {
	w.lock()
	defer w.unlock()
	delete(w.users[user].memberships, organization)
}

// ChangeUser sets what is set in spec: status, login type, service account (true only)
// and, unless nil, site roles.
func (w *World) ChangeUser(id uuid.UUID, spec UserSpec) {
	w.lock()
	defer w.unlock()
	u := w.users[id]
	if spec.Status != "" {
		u.status = spec.Status
	}
	if spec.LoginType != "" {
		u.loginType = spec.LoginType
	}
	if spec.SiteRoles != nil {
		u.siteRoles = slices.Clone(spec.SiteRoles)
	}
	u.serviceAccount = u.serviceAccount || spec.ServiceAccount
}

// SetDefaultRoles changes what an organization grants to every member.
func (w *World) SetDefaultRoles(organization uuid.UUID, roles ...string) {
	w.lock()
	defer w.unlock()
	w.organization(organization).defaultRoles = slices.Clone(roles)
}

// LinkExternalAuth says that the user has linked the provider, or no longer.
func (w *World) LinkExternalAuth(user uuid.UUID, provider string, linked bool) {
	w.lock()
	defer w.unlock()
	w.links[externalLink{user, provider}] = linked
}

// UserNamed finds a user by name, without any rights; false when there is none.
func (w *World) UserNamed(username string) (User, bool) {
	w.lock()
	defer w.unlock()
	if u := w.userNamed(username); u != nil {
		return w.userView(u), true
	}
	return User{}, false
}

// SessionTokens is how many session tokens of the owner the templates' Terraform holds:
// each start build mints one for its workspace, the stop or delete build removes it.
func (w *World) SessionTokens(owner uuid.UUID) int {
	w.lock()
	defer w.unlock()
	n := 0
	for _, holder := range w.sessions {
		if holder == owner {
			n++
		}
	}
	return n
}

func (o *organization) view() Organization {
	return Organization{ID: o.id, Name: o.name, DefaultRoles: o.defaultRoles, IsDefault: o.isDefault}
}

func (w *World) organization(id uuid.UUID) *organization {
	for _, org := range w.organizations {
		if org.id == id {
			return org
		}
	}
	return nil
}

func (w *World) userNamed(username string) *user {
	for _, u := range w.users {
		if !u.deleted && strings.EqualFold(u.username, username) {
			return u
		}
	}
	return nil
}

func (w *World) userView(u *user) User {
	view := u.view()
	for _, org := range w.organizations {
		if roles, ok := u.memberships[org.id]; ok {
			view.Memberships = append(view.Memberships, Membership{Organization: org.view(), Roles: roles})
		}
	}
	return view
}

// view is the user without memberships.
func (u *user) view() User {
	return User{
		ID: u.id, Username: u.username, Email: u.email, Status: u.status, LoginType: u.loginType,
		ServiceAccount: u.serviceAccount, SiteRoles: u.siteRoles, CreatedAt: u.created,
	}
}
