package coderd

import (
	"net"
	"net/http"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) userRoutes() map[string]handler {
	return map[string]handler{
		"GET /users":                        s.users,
		"POST /users":                       s.createUser,
		"GET /users/{user}":                 s.user,
		"GET /users/{user}/roles":           s.userRoles,
		"PUT /users/{user}/status/activate": s.setStatus(world.UserActive),
		"PUT /users/{user}/status/suspend":  s.setStatus(world.UserSuspended),
		"POST /users/{user}/keys/tokens":    s.createToken,
		"POST /users/{user}/keys":           s.createToken,
		"GET /users/{user}/keys/{key}":      s.key,
		"POST /authcheck":                   s.authCheck,
		"GET /entitlements":                 s.entitlements,
	}
}

func (s *Server) buildInfo(rw http.ResponseWriter, r *http.Request) {
	deployment := s.world.Deployment()
	write(rw, http.StatusOK, codersdk.BuildInfoResponse{
		Version: deployment.Version, DeploymentID: deployment.ID, DashboardURL: "http://" + r.Host,
		ExternalURL: "https://github.com/coder/coder/tree/" + deployment.Version, AgentAPIVersion: "2.0", ProvisionerAPIVersion: "1.0",
	})
}

func (s *Server) hasFirstUser(rw http.ResponseWriter, _ *http.Request) {
	if !s.world.HasUsers() {
		write(rw, http.StatusNotFound, codersdk.Response{Message: "The initial user has not been created!"})
		return
	}
	write(rw, http.StatusOK, codersdk.Response{Message: "The initial user has already been created!"})
}

func (s *Server) createFirstUser(rw http.ResponseWriter, r *http.Request) {
	asked, err := body[codersdk.CreateFirstUserRequest](r)
	if err != nil {
		refuse(rw, err)
		return
	}
	u, err := s.world.CreateFirstUser(world.UserSpec{Username: asked.Username, Email: asked.Email, Password: asked.Password})
	if err != nil {
		refuse(rw, err)
		return
	}
	write(rw, http.StatusCreated, codersdk.CreateFirstUserResponse{UserID: u.ID, OrganizationID: u.Memberships[0].Organization.ID})
}

func (s *Server) login(rw http.ResponseWriter, r *http.Request) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	if _, err := s.world.Admit(address, "/users/login"); err != nil {
		refuse(rw, err)
		return
	}
	asked, err := body[codersdk.LoginWithPasswordRequest](r)
	if err != nil {
		refuse(rw, err)
		return
	}
	session, err := s.world.Login(asked.Email, asked.Password)
	if err != nil {
		refuse(rw, err)
		return
	}
	write(rw, http.StatusCreated, codersdk.LoginWithPasswordResponse{SessionToken: session})
}

func (s *Server) users(r request) (int, any, error) {
	all := s.world.Users(r.actor)
	answer := codersdk.GetUsersResponse{Users: []codersdk.User{}, Count: len(all)}
	for _, u := range page(r, all) {
		answer.Users = append(answer.Users, toUser(u))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) createUser(r request) (int, any, error) {
	asked, err := body[codersdk.CreateUserRequestWithOrgs](r.Request)
	if err != nil {
		return 0, nil, err
	}
	spec := world.UserSpec{
		Username: asked.Username, Email: asked.Email, Password: asked.Password, LoginType: string(asked.UserLoginType),
		ServiceAccount: asked.ServiceAccount, SiteRoles: asked.Roles, Organizations: asked.OrganizationIDs,
	}
	if asked.UserStatus != nil {
		spec.Status = string(*asked.UserStatus)
	}
	u, err := s.world.CreateUser(r.actor, spec)
	return http.StatusCreated, toUser(u), err
}

func (s *Server) entitlements(request) (int, any, error) {
	licensed := s.world.Licensed()
	entitled := codersdk.EntitlementNotEntitled
	if licensed {
		entitled = codersdk.EntitlementEntitled
	}
	return http.StatusOK, codersdk.Entitlements{
		HasLicense: licensed, Warnings: []string{}, Errors: []string{},
		Features: map[codersdk.FeatureName]codersdk.Feature{
			codersdk.FeatureServiceAccounts: {Entitlement: entitled, Enabled: licensed},
		},
	}, nil
}

// userOf finds the user that the path names by ID, by name or as "me".
func (s *Server) userOf(r request) uuid.UUID { return s.world.UserID(r.actor, r.PathValue("user")) }

func (s *Server) user(r request) (int, any, error) {
	u, err := s.world.User(r.actor, s.userOf(r))
	return http.StatusOK, toUser(u), err
}

func (s *Server) userRoles(r request) (int, any, error) {
	u, err := s.world.User(r.actor, s.userOf(r))
	if err != nil {
		return 0, nil, err
	}
	roles := codersdk.UserRoles{Roles: list(u.SiteRoles), OrganizationRoles: map[uuid.UUID][]string{}}
	for _, m := range u.Memberships {
		roles.OrganizationRoles[m.Organization.ID] = list(m.Roles)
	}
	return http.StatusOK, roles, nil
}

func (s *Server) setStatus(status string) handler {
	return func(r request) (int, any, error) {
		u, err := s.world.SetUserStatus(r.actor, s.userOf(r), status)
		return http.StatusOK, toUser(u), err
	}
}

func (s *Server) createToken(r request) (int, any, error) {
	key, err := s.world.CreateToken(r.actor, s.userOf(r))
	return http.StatusCreated, codersdk.GenerateAPIKeyResponse{Key: key}, err
}

func (s *Server) key(r request) (int, any, error) {
	if s.userOf(r) != r.actor {
		return http.StatusNotFound, codersdk.Response{Message: "Resource not found or you do not have access to this resource"}, nil
	}
	key, err := s.world.Key(r.actor, r.PathValue("key"))
	return http.StatusOK, codersdk.APIKey{
		ID: key.ID, UserID: key.User, ExpiresAt: key.ExpiresAt, LifetimeSeconds: int64(key.Lifetime / time.Second),
		LoginType: codersdk.LoginType(key.LoginType),
	}, err
}

// authCheck knows the checks that assay asks for; it grants no other.
func (s *Server) authCheck(r request) (int, any, error) {
	asked, err := body[codersdk.AuthorizationRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	answer := codersdk.AuthorizationResponse{}
	for name, check := range asked.Checks {
		owner, _ := uuid.Parse(check.Object.OwnerID)
		organization, _ := uuid.Parse(check.Object.OrganizationID)
		template, _ := uuid.Parse(check.Object.ResourceID)
		where := organization != uuid.Nil || check.Object.AnyOrgOwner
		switch check.Object.ResourceType {
		case codersdk.ResourceTemplate:
			answer[name] = (check.Action == codersdk.ActionCreate || check.Action == codersdk.ActionUpdate) &&
				s.world.TemplateRights(r.actor, template)
		case codersdk.ResourceWorkspace, codersdk.ResourceWorkspaceDormant:
			answer[name] = where && s.world.MayWorkspaces(r.actor, string(check.Action), owner, organization)
		default:
			answer[name] = false
		}
	}
	return http.StatusOK, answer, nil
}

func toUser(u world.User) codersdk.User {
	user := codersdk.User{
		ReducedUser: codersdk.ReducedUser{
			MinimalUser: codersdk.MinimalUser{ID: u.ID, Username: u.Username},
			Email:       u.Email, CreatedAt: u.CreatedAt, UpdatedAt: u.CreatedAt, Status: codersdk.UserStatus(u.Status),
			LoginType: codersdk.LoginType(u.LoginType), IsServiceAccount: u.ServiceAccount,
		},
		OrganizationIDs: []uuid.UUID{}, Roles: slimRoles(u.SiteRoles, uuid.Nil),
	}
	for _, m := range u.Memberships {
		user.OrganizationIDs = append(user.OrganizationIDs, m.Organization.ID)
	}
	return user
}

func slimRoles(names []string, organization uuid.UUID) []codersdk.SlimRole {
	roles := []codersdk.SlimRole{}
	for _, name := range names {
		role := codersdk.SlimRole{Name: name, DisplayName: name}
		if organization != uuid.Nil {
			role.OrganizationID = organization.String()
		}
		roles = append(roles, role)
	}
	return roles
}

// list is never nil: Coder writes [] where there is nothing.
func list[T any](elements []T) []T {
	if elements == nil {
		return []T{}
	}
	return elements
}
