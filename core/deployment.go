package core

import (
	"time"

	"github.com/google/uuid"
)

// Deployment identifies a Coder deployment.
type Deployment struct {
	// ID is Coder's deployment_id: stable over restarts and upgrades.
	ID string
	// Version is Coder's version, such as "v2.36.1".
	Version string
	// ServerTime is the Date of the answer, in whole seconds; never zero.
	ServerTime time.Time
}

// User is a Coder user.
type User struct {
	ID       uuid.UUID
	Username string
	// Status is "active", "dormant" or "suspended".
	Status string
	// LoginType is "password", "none", "oidc", "github" or "token".
	LoginType string
	// ServiceAccount tells that the user is a machine's, not a person's.
	ServiceAccount bool
	// SiteRoles are the names of the user's site-wide roles, "member" excluded or
	// included as Coder answers.
	SiteRoles []string
	// Memberships lists every organization that the user belongs to.
	Memberships []Membership
}

// Membership is a user's place in one organization.
type Membership struct {
	OrganizationID   uuid.UUID
	OrganizationName string
	// Roles are the user's own roles in the organization.
	Roles []string
	// DefaultRoles are what the organization grants to every member.
	DefaultRoles []string
}

// MemberOf returns the membership in the organization, and whether there is one.
func (u User) MemberOf(organization uuid.UUID) (Membership, bool) {
	for _, m := range u.Memberships {
		if m.OrganizationID == organization {
			return m, true
		}
	}
	return Membership{}, false
}

// Organization is a Coder organization.
type Organization struct {
	ID   uuid.UUID
	Name string
}

// Template is a Coder template.
type Template struct {
	ID              uuid.UUID
	Name            string
	OrganizationID  uuid.UUID
	ActiveVersionID uuid.UUID
	Deprecated      bool
	// ClassicParameters tells that the template validates parameters by the static
	// rules of its version instead of evaluating them for each owner.
	ClassicParameters bool
}

// TemplateVersion is one version of a template.
type TemplateVersion struct {
	ID         uuid.UUID
	Name       string
	TemplateID uuid.UUID
	Archived   bool
	// Import is the state of the version's import job.
	Import JobStatus
	// HasExternalAgent tells that the version expects an agent that somebody
	// starts by hand.
	HasExternalAgent bool
}

// ParameterProblemKind says which rule a parameter breaks.
type ParameterProblemKind string

// The kinds of parameter problems.
const (
	// ParameterUnknown: the version defines no parameter of this name.
	ParameterUnknown ParameterProblemKind = "unknown"
	// ParameterMissing: the version requires the parameter and it has no value.
	ParameterMissing ParameterProblemKind = "missing"
	// ParameterRefused: the version's rules refuse the value.
	ParameterRefused ParameterProblemKind = "refused"
	// PresetUnknown: the version has no preset of this name.
	PresetUnknown ParameterProblemKind = "unknown preset"
)

// ParameterProblem names a parameter (or preset) that the version would refuse. It
// never holds a value.
type ParameterProblem struct {
	Name string
	Kind ParameterProblemKind
}

// ParameterQuery asks whether a version takes these values for this owner.
type ParameterQuery struct {
	VersionID uuid.UUID
	OwnerID   uuid.UUID
	// Classic selects the version's static rules, as Template.ClassicParameters says.
	Classic    bool
	Parameters []Parameter
	// Preset is the name of a preset, or empty.
	Preset string
}

// ParameterReport is the answer to a ParameterQuery.
type ParameterReport struct {
	// Problems are in the order of the parameters asked for, then of the version's.
	Problems []ParameterProblem
	// PresetID is the preset's ID for a CreateRequest; uuid.Nil when none was asked
	// for, and when a parameter asked for has another value than in the preset: Coder
	// lets a preset that it is told of win over parameters.
	PresetID uuid.UUID
	// PresetValues are the preset's own values. Parameters win over them: what a
	// CreateRequest sends is both, merged.
	PresetValues []Parameter
}

// ExternalAuth is one external authentication that a version asks for.
type ExternalAuth struct {
	// ID is the provider's ID in the deployment, for example "github".
	ID       string
	Optional bool
	// Authenticated tells that the owner has linked it.
	Authenticated bool
}
