package lifecycle

import (
	"github.com/google/uuid"

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
	id := policy.Owner()
	if id == uuid.Nil {
		message := "set the control plane's ownerUserID to the ID of a tester user"
		if policy.OwnerUserID != "" {
			message = "set the control plane's ownerUserID to a user's UUID, not to a name"
		}
		return s.wait(core.ReasonOwnerNotConfigured, message, s.poll())
	}
	owner := &s.Seen.Owner
	if !owner.Done {
		return s.read(ReadOwner, id)
	}
	if f := owner.Failure; f != nil {
		if f.Class == core.FailureNotFound {
			return s.wait(core.ReasonOwnerNotEligible, "name an owner that exists and that the operator user can read: no user "+id.String(), s.poll())
		}
		return s.waitFor(f)
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
	if owner.Status != "active" {
		return "activate the owner: its status is " + orElse(owner.Status, "unknown")
	}
	personal := !owner.ServiceAccount && owner.LoginType != "password" && owner.LoginType != "none"
	if personal && !policy.AllowPersonalOwner {
		return "use a tester user: the owner logs in by " + orElse(owner.LoginType, "unknown means") +
			", so it is a person's; allowPersonalOwner waives this"
	}
	if policy.AllowPrivilegedOwner {
		return ""
	}
	for _, role := range owner.SiteRoles {
		if role != roleMember {
			return "use a plain member: the owner has the site role " + role + "; allowPrivilegedOwner waives this"
		}
	}
	for _, m := range owner.Memberships {
		for _, role := range m.Roles {
			if !plainOrganizationRole(role) {
				return "use a plain member: the owner has the role " + role + " in organization " + m.OrganizationName +
					"; allowPrivilegedOwner waives this"
			}
		}
		for _, role := range m.DefaultRoles {
			if !plainOrganizationRole(role) {
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
