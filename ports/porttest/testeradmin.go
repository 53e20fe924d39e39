package porttest

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// testers is what an account may do about users.
func testers(t *testing.T, account Account) ports.TesterAdmin {
	t.Helper()
	admin, ok := account.Runner.(ports.TesterAdmin)
	if !ok {
		Unsupported(t, "the CodeRunner makes no users")
	}
	return admin
}

// newTester is a user of a new name.
func (s stage) newTester(t *testing.T) core.NewUser {
	name := "tester-" + strings.ToLower(rand.Text()[:12])
	return core.NewUser{
		Username: name, Email: name + "@assay.invalid", Password: core.NewSecret(rand.Text()),
		Organizations: []uuid.UUID{s.Template(t, NoAgents).OrganizationID},
	}
}

func testerMade(t *testing.T, s stage) {
	asked := s.newTester(t)
	id, err := testers(t, s.admin).CreateUser(t.Context(), asked)
	fine(t, "make a user", err)
	user, err := s.admin.Runner.Owner(t.Context(), id)
	fine(t, "read it", err)
	equal(t, "name", user.Username, asked.Username)
	equal(t, "status", user.Status, "active")
	equal(t, "login type", user.LoginType, "password")
	equal(t, "service account", user.ServiceAccount, false)
	equal(t, "memberships", len(user.Memberships), 1)
	membership, ok := user.MemberOf(asked.Organizations[0])
	equal(t, "membership in the organization", ok, true)
	if roles := append(special(user.SiteRoles), special(membership.Roles)...); len(roles) > 0 {
		t.Errorf("it has the roles %v", roles)
	}
}

func testerTaken(t *testing.T, s stage) {
	first := s.newTester(t)
	_, err := testers(t, s.admin).CreateUser(t.Context(), first)
	fine(t, "make a user", err)
	second := s.newTester(t)
	second.Username = strings.ToUpper(first.Username)
	_, err = testers(t, s.admin).CreateUser(t.Context(), second)
	refused(t, "make a user of a taken name", err, core.FailureConflict)
	third := s.newTester(t)
	third.Email = first.Email
	_, err = testers(t, s.admin).CreateUser(t.Context(), third)
	refused(t, "make a user of a taken email address", err, core.FailureConflict)
}

func testerForbidden(t *testing.T, s stage) {
	_, err := testers(t, s.member(t)).CreateUser(t.Context(), s.newTester(t))
	refused(t, "make a user", err, core.FailureForbidden)
}

func testerActivated(t *testing.T, s stage) {
	dormant := s.NewUser(t, UserSpec{}).User
	for range 2 {
		fine(t, "activate", testers(t, s.admin).ActivateUser(t.Context(), dormant.ID))
		user, err := s.admin.Runner.Owner(t.Context(), dormant.ID)
		fine(t, "read it", err)
		equal(t, "status", user.Status, "active")
	}
	refused(t, "activate by a member", testers(t, s.member(t)).ActivateUser(t.Context(), dormant.ID), core.FailureNotFound)
	refused(t, "activate nobody", testers(t, s.admin).ActivateUser(t.Context(), uuid.New()), core.FailureNotFound)
}

func testerFound(t *testing.T, s stage) {
	asked := s.newTester(t)
	id, err := testers(t, s.admin).CreateUser(t.Context(), asked)
	fine(t, "make a user", err)
	for _, name := range []string{asked.Username, strings.ToUpper(asked.Username)} {
		found, err := testers(t, s.admin).FindUser(t.Context(), name)
		fine(t, "find "+name, err)
		equal(t, "ID", found.ID, id)
	}
	_, err = testers(t, s.admin).FindUser(t.Context(), s.newTester(t).Username)
	refused(t, "find nobody", err, core.FailureNotFound)
}

func testerServiceAccount(t *testing.T, s stage) {
	licensed, err := testers(t, s.admin).ServiceAccounts(t.Context())
	fine(t, "read the license", err)
	if licensed {
		Unsupported(t, "the deployment has service accounts")
	}
	asked := s.newTester(t)
	asked.ServiceAccount, asked.Email, asked.Password = true, "", core.Secret{}
	_, err = testers(t, s.admin).CreateUser(t.Context(), asked)
	refused(t, "make a service account", err, core.FailureForbidden)
	_, err = testers(t, s.member(t)).ServiceAccounts(t.Context())
	fine(t, "read the license by a member", err)
}
