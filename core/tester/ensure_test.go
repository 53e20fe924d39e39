package tester_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/tester"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
)

// scene is a Coder in memory with a site owner who makes testers.
type scene struct {
	*world.World
	*runner.Runner
	acme core.Organization
	wish tester.Wish
	// lost has the answer to the next create get lost, after or before it took effect.
	lost, arrives bool
	// meanwhile happens right before the next create.
	meanwhile func()
}

func newScene() *scene {
	w := world.New(clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	admin := w.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
	acme := w.AddOrganization("acme")
	s := &scene{World: w, Runner: runner.New(w, admin.ID), acme: core.Organization{ID: acme.ID, Name: acme.Name}}
	s.wish = tester.Wish{Username: "ci-tester", Organizations: []core.Organization{s.acme}}
	return s
}

// CreateUser is a create request that things happen to.
func (s *scene) CreateUser(ctx context.Context, user core.NewUser) (uuid.UUID, error) {
	if s.meanwhile != nil {
		s.meanwhile()
	}
	if !s.lost {
		return s.Runner.CreateUser(ctx, user)
	}
	s.lost = false
	if s.arrives {
		if _, err := s.Runner.CreateUser(ctx, user); err != nil {
			return uuid.Nil, err
		}
	}
	return uuid.Nil, &core.Failure{Class: core.FailureUncertain, Op: "make a user", Message: "no answer"}
}

func (s *scene) ensure(t *testing.T) (tester.Made, error) {
	t.Helper()
	return tester.Ensure(t.Context(), s, s.wish, rand.NewChaCha8([32]byte{}))
}

func (s *scene) add(spec world.UserSpec) {
	spec.Username = s.wish.Username
	spec.Organizations = []uuid.UUID{s.acme.ID}
	s.AddUser(spec)
}

func TestEnsure(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(s *scene)
		// problem is what makes the user unfit, "" for a tester.
		problem            string
		created, activated bool
		why                string
	}{
		{"nobody of the name", func(*scene) {}, "", true, false, "it is made active"},
		{"it is there", func(s *scene) { s.add(world.UserSpec{}) }, "", false, false, "nothing is to be done"},
		{"its name in capitals", func(s *scene) { s.add(world.UserSpec{}); s.wish.Username = "CI-Tester" }, "", false, false, "Coder ignores case"},
		{"it is dormant", func(s *scene) { s.add(world.UserSpec{Status: world.UserDormant}) }, "", false, true, "Coder lets users fall asleep"},
		{"it is suspended", func(s *scene) { s.add(world.UserSpec{Status: world.UserSuspended}) }, "status is suspended", false, false, "somebody wanted that"},
		{"it has a site role", func(s *scene) { s.add(world.UserSpec{SiteRoles: []string{"auditor"}}) }, "site role auditor", false, false, "its token is worth something"},
		{"it has a role and is dormant", func(s *scene) {
			s.add(world.UserSpec{SiteRoles: []string{"auditor"}, Status: world.UserDormant})
		}, "site role auditor", false, false, "a person's account is not woken up"},
		{"it is a person", func(s *scene) { s.add(world.UserSpec{LoginType: "github"}) }, "logs in by github", false, false, "its token is a person's"},
		{"it is not in the organization", func(s *scene) {
			s.AddUser(world.UserSpec{Username: "ci-tester"})
		}, "add it to organization acme", false, false, "nobody is moved about"},
		{"made meanwhile", func(s *scene) { s.meanwhile = func() { s.add(world.UserSpec{}) } }, "", false, false, "a conflict is no error if it fits"},
		{"made meanwhile with a role", func(s *scene) {
			s.meanwhile = func() { s.add(world.UserSpec{SiteRoles: []string{"auditor"}}) }
		}, "site role auditor", false, false, "as if it had been there"},
		{"the answer is lost", func(s *scene) { s.lost, s.arrives = true, true }, "", false, false, "it was made all the same"},
		{"the organization grants roles", func(s *scene) {
			s.SetDefaultRoles(s.acme.ID, "organization-template-admin")
		}, "organization acme grants every member", true, false, "no tester can be made there; one was, all the same"},
		{"the organization grants roles, and it is there", func(s *scene) {
			s.add(world.UserSpec{})
			s.SetDefaultRoles(s.acme.ID, "organization-template-admin")
		}, "organization acme grants every member", false, false, "nothing was made"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScene()
			row.edit(s)
			made, err := s.ensure(t)
			var unfit *tester.UnfitError
			switch {
			case row.problem == "" && err != nil:
				t.Fatalf("error %v: %s", err, row.why)
			case row.problem != "":
				if !errors.As(err, &unfit) || !strings.Contains(unfit.Error(), row.problem) {
					t.Errorf("error %v, want that it is unfit for %q: %s", err, row.problem, row.why)
				}
				if unfit != nil && (unfit.Created != row.created || strings.Contains(unfit.Error(), "was made") != row.created) {
					t.Errorf("created %v, error %v, want %v: %s", unfit.Created, unfit, row.created, row.why)
				}
				for _, change := range s.Changes() {
					if strings.HasPrefix(change.Op, "set user") {
						t.Errorf("%s: an unfit user was changed", change.Op)
					}
				}
				return
			}
			if made.Created != row.created || made.Activated != row.activated {
				t.Errorf("created %v, activated %v, want %v, %v: %s", made.Created, made.Activated, row.created, row.activated, row.why)
			}
			user, _ := s.UserNamed("ci-tester")
			if user.ID != made.User.ID || user.Status != world.UserActive || len(user.SiteRoles) != 0 {
				t.Errorf("user %+v, made %s", user, made.User.ID)
			}
			again, err := s.ensure(t)
			if err != nil || again.Created || again.Activated || again.User.ID != made.User.ID {
				t.Errorf("the second time: %+v, error %v; want nothing done", again, err)
			}
		})
	}
}

func TestEnsureWhereNothingWasMade(t *testing.T) {
	s := newScene()
	s.lost = true
	if _, err := s.ensure(t); core.AsFailure(err).Class != core.FailureUncertain {
		t.Errorf("error %v, want that nobody knows", err)
	}
	if made, err := s.ensure(t); err != nil || !made.Created {
		t.Errorf("made %+v, error %v; want it made by the repetition", made, err)
	}

	s = newScene()
	member := s.AddUser(world.UserSpec{Username: "member"})
	s.Runner = runner.New(s.World, member.ID)
	if _, err := s.ensure(t); core.AsFailure(err).Class != core.FailureForbidden {
		t.Errorf("error %v, want that a member may not", err)
	}
	if _, err := tester.Ensure(t.Context(), newScene(), s.wish, strings.NewReader("short")); err == nil {
		t.Error("a user was made with a password of five bytes")
	}
}

func TestEnsureMakesAServiceAccountWhereThereAreSome(t *testing.T) {
	for _, licensed := range []bool{true, false} {
		s := newScene()
		if licensed {
			s.License()
		}
		made, err := s.ensure(t)
		if err != nil || made.User.ServiceAccount != licensed {
			t.Fatalf("licensed %v: %+v, error %v", licensed, made, err)
		}
		user, _ := s.UserNamed("ci-tester")
		want := "password"
		if licensed {
			want = world.LoginNone
		}
		if user.LoginType != want || len(user.Memberships) != 1 || user.Memberships[0].Organization.ID != s.acme.ID {
			t.Errorf("licensed %v: user %+v, want login type %s and acme alone", licensed, user, want)
		}
	}
}

func TestCheck(t *testing.T) {
	acme := core.Organization{ID: uuid.New(), Name: "acme"}
	fit := core.User{
		Status: "active", LoginType: "password", SiteRoles: []string{"member"},
		Memberships: []core.Membership{{OrganizationID: acme.ID, OrganizationName: "acme", Roles: []string{"organization-member"}}},
	}
	for _, row := range []struct {
		name          string
		edit          func(u *core.User)
		organizations []core.Organization
		// broken is the rule that does not hold, "" for none.
		broken string
	}{
		{"fit", func(*core.User) {}, []core.Organization{acme}, ""},
		{"dormant", func(u *core.User) { u.Status = "dormant" }, []core.Organization{acme}, "is active"},
		{"person", func(u *core.User) { u.LoginType = "oidc" }, []core.Organization{acme}, "is no person's login"},
		{"site role", func(u *core.User) { u.SiteRoles = []string{"owner"} }, []core.Organization{acme}, "has no site role"},
		{"organization role", func(u *core.User) {
			u.Memberships = []core.Membership{{OrganizationID: acme.ID, Roles: []string{"organization-admin"}}}
		}, []core.Organization{acme}, "has no role in an organization"},
		{"default role", func(u *core.User) {
			u.Memberships = []core.Membership{{OrganizationID: acme.ID, DefaultRoles: []string{"organization-admin"}}}
		}, []core.Organization{acme}, "gets no role from an organization"},
		{"another organization", func(*core.User) {}, []core.Organization{acme, {ID: uuid.New(), Name: "other"}}, "is a member of organization other"},
		{"no organization", func(*core.User) {}, nil, "is a member of an organization"},
	} {
		user := fit
		row.edit(&user)
		findings := tester.Check(user, row.organizations)
		for _, finding := range findings {
			if (finding.Problem != "") != (finding.Rule == row.broken) {
				t.Errorf("%s: rule %q: problem %q, want only %q broken", row.name, finding.Rule, finding.Problem, row.broken)
			}
		}
		if (tester.Problems(findings) == "") != (row.broken == "") {
			t.Errorf("%s: problems %q", row.name, tester.Problems(findings))
		}
	}
}
