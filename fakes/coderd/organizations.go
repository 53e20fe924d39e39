package coderd

import (
	"net/http"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) organizationRoutes() map[string]handler {
	return map[string]handler{
		"GET /organizations":                                               s.organizations,
		"GET /organizations/{organization}":                                s.organization,
		"GET /organizations/{organization}/members":                        s.members,
		"GET /organizations/{organization}/members/{user}":                 s.member,
		"GET /users/{user}/organizations":                                  s.userOrganizations,
		"GET /organizations/{organization}/provisionerdaemons":             s.provisioners,
		"GET /organizations/{organization}/members/{user}/workspace-quota": s.quota,
	}
}

func (s *Server) organizations(r request) (int, any, error) {
	answer := []codersdk.Organization{}
	for _, org := range s.world.Organizations(r.actor) {
		answer = append(answer, toOrganization(org))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) organization(r request) (int, any, error) {
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	return http.StatusOK, toOrganization(org), err
}

func (s *Server) userOrganizations(r request) (int, any, error) {
	u, err := s.world.User(r.actor, s.userOf(r))
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.Organization{}
	for _, m := range u.Memberships {
		answer = append(answer, toOrganization(m.Organization))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) members(r request) (int, any, error) {
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	if err != nil {
		return 0, nil, err
	}
	users, err := s.world.Members(r.actor, org.ID.String())
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.OrganizationMemberWithUserData{}
	for _, u := range users {
		for _, m := range u.Memberships {
			if m.Organization.ID == org.ID {
				answer = append(answer, toMember(u, m))
			}
		}
	}
	return http.StatusOK, answer, nil
}

func (s *Server) member(r request) (int, any, error) {
	u, m, err := s.world.MemberIn(r.actor, r.PathValue("organization"), s.userOf(r))
	return http.StatusOK, toMember(u, m), err
}

func toOrganization(org world.Organization) codersdk.Organization {
	return codersdk.Organization{
		MinimalOrganization: codersdk.MinimalOrganization{ID: org.ID, Name: org.Name, DisplayName: org.Name},
		IsDefault:           org.IsDefault, DefaultOrgMemberRoles: list(org.DefaultRoles),
	}
}

func toMember(u world.User, m world.Membership) codersdk.OrganizationMemberWithUserData {
	return codersdk.OrganizationMemberWithUserData{
		Username: u.Username, Email: u.Email, Status: codersdk.UserStatus(u.Status), LoginType: codersdk.LoginType(u.LoginType),
		IsServiceAccount: u.ServiceAccount, GlobalRoles: slimRoles(u.SiteRoles, [16]byte{}), UserCreatedAt: u.CreatedAt,
		OrganizationMember: codersdk.OrganizationMember{
			UserID: u.ID, OrganizationID: m.Organization.ID, CreatedAt: u.CreatedAt, UpdatedAt: u.CreatedAt,
			Roles: slimRoles(m.Roles, m.Organization.ID),
		},
	}
}
