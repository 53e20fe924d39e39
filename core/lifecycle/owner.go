package lifecycle

import (
	"github.com/assay-dev/assay/core"
)

// Roles that give their holder nothing beyond using its own workspaces.
const (
	roleMember                = "member"
	roleOrganizationMember    = "organization-member"
	roleOrganizationWorkspace = "organization-workspace-access"
)

// checkOwner makes sure that the owner may lend its session token to the
// template's Terraform: every start build hands it over.
func checkOwner(s *step) *Decision {
	policy := &s.Seen.ControlPlane.Value.Policy
	if problem := OwnerIDProblem(*policy); !problem.None() {
		return s.meet(problem)
	}
	id := policy.Owner()
	owner := &s.Seen.Owner
	if !owner.Done {
		return s.read(ReadOwner, id)
	}
	if f := owner.Failure; f != nil {
		return s.waitAs(f, OwnerReadProblem(id, f))
	}
	if problem := ownerProblem(owner.Value, *policy); problem != "" {
		return s.wait(core.ReasonOwnerNotEligible, problem, s.poll())
	}
	s.status().OwnerID = id
	return nil
}

// OwnerProblem says why the user may not own test workspaces under the policy and
// what to do, or "" when it may. Membership in the template's organization is a
// rule of its own.
func OwnerProblem(owner core.User, policy core.Policy) string { return ownerProblem(owner, policy) }

func ownerProblem(owner core.User, policy core.Policy) string {
	for _, rule := range OwnerRules(owner, policy) {
		if rule.Problem != "" {
			return rule.Problem
		}
	}
	return ""
}

// OwnerRule is a rule about who may own test workspaces.
type OwnerRule struct {
	// Rule says what must hold.
	Rule string
	// Problem says why it does not, and what to do; "" when it does.
	Problem string
}

// OwnerRules judges the user by each rule, in the order of lifecycle section 5.2.
func OwnerRules(owner core.User, policy core.Policy) []OwnerRule {
	return []OwnerRule{
		{"is active", notActive(owner)},
		{"is no person's login", personalLogin(owner, policy)},
		{"has no site role", siteRole(owner, policy)},
		{"has no role in an organization", organizationRole(owner, policy)},
		{"gets no role from an organization", defaultRole(owner, policy)},
	}
}

func notActive(owner core.User) string {
	if owner.Status == "active" {
		return ""
	}
	return "activate the owner: its status is " + orElse(owner.Status, "unknown")
}

func personalLogin(owner core.User, policy core.Policy) string {
	if owner.ServiceAccount || owner.LoginType == "password" || owner.LoginType == "none" || policy.AllowPersonalOwner {
		return ""
	}
	return "use a tester user: the owner logs in by " + orElse(owner.LoginType, "unknown means") +
		", so it is a person's; allowPersonalOwner waives this"
}

func siteRole(owner core.User, policy core.Policy) string {
	for _, role := range owner.SiteRoles {
		if role != roleMember && !policy.AllowPrivilegedOwner {
			return "use a plain member: the owner has the site role " + role + "; allowPrivilegedOwner waives this"
		}
	}
	return ""
}

func organizationRole(owner core.User, policy core.Policy) string {
	for _, m := range owner.Memberships {
		for _, role := range m.Roles {
			if !plainOrganizationRole(role) && !policy.AllowPrivilegedOwner {
				return "use a plain member: the owner has the role " + role + " in organization " + m.OrganizationName +
					"; allowPrivilegedOwner waives this"
			}
		}
	}
	return ""
}

func defaultRole(owner core.User, policy core.Policy) string {
	for _, m := range owner.Memberships {
		for _, role := range m.DefaultRoles {
			if !plainOrganizationRole(role) && !policy.AllowPrivilegedOwner {
				return "organization " + m.OrganizationName + " grants every member the role " + role +
					"; take the owner out of it or change that; allowPrivilegedOwner waives this"
			}
		}
	}
	return ""
}

func plainOrganizationRole(role string) bool {
	return role == roleOrganizationMember || role == roleOrganizationWorkspace
}
