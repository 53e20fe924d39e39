package cli_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// asAdmin has the next runs use the token of a user with the site role.
func (s *stage) asAdmin(role string) {
	admin := s.AddUser(world.UserSpec{Username: "admin-" + role, SiteRoles: []string{role}})
	s.env["CODER_SESSION_TOKEN"] = s.MintToken(admin.ID)
}

func TestTesterCreate(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		s.asAdmin(world.RoleOwner)
		o := s.run("tester", "create", "ci-tester", "--org", "coder")
		user, ok := s.UserNamed("ci-tester")
		if !ok || user.Status != world.UserActive || len(user.SiteRoles) != 0 || user.LoginType != "password" {
			t.Fatalf("user %+v", user)
		}
		o.want(t, 0, "", "made ci-tester", "it was not there")
		if o.stdout != user.ID.String()+"\n" {
			t.Errorf("%q is printed, want the ID alone", o.stdout)
		}
		s.run(testActive("--owner", user.ID.String())...).want(t, 0, "PASSED", "", "it may own test workspaces")
		o = s.run("tester", "create", "ci-tester", "--org", "coder")
		o.want(t, 0, user.ID.String(), "was there already, nothing to do", "it can be repeated")

		s.ChangeUser(user.ID, world.UserSpec{Status: world.UserDormant})
		o = s.run("tester", "create", "ci-tester", "--org", "Coder", "--output", "json")
		o.want(t, 0, "", "dormant: activated it", "Coder lets users fall asleep")
		document := o.document(t)
		if document["id"] != user.ID.String() || document["created"] != false || document["activated"] != true ||
			document["name"] != "ci-tester" || document["serviceAccount"] != false {
			t.Errorf("document %v", document)
		}
		if list, _ := document["organizations"].([]any); len(list) != 1 || list[0] != "coder" {
			t.Errorf("organizations %v, want coder by the name that Coder has", document["organizations"])
		}
	})
}

func TestTesterCreateIsRefused(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(s *stage)
		args []string
		code int
		says string
		why  string
	}{
		{"privileged", func(s *stage) {
			s.AddUser(world.UserSpec{Username: "ci-tester", SiteRoles: []string{"auditor"}})
		}, []string{"ci-tester", "--org", "coder"}, 3, "has the site role auditor", "it has other rights"},
		{"in another organization", func(s *stage) {
			s.AddUser(world.UserSpec{Username: "ci-tester", Organizations: []uuid.UUID{s.AddOrganization("acme").ID}})
		}, []string{"ci-tester", "--org", "coder"}, 3, "add it to organization coder", "nobody is moved about"},
		{"by a user who may not", func(s *stage) {
			s.env["CODER_SESSION_TOKEN"] = s.token
		}, []string{"ci-tester", "--org", "coder"}, 3, "use the token of a site owner or user admin", "what is missing is told"},
		{"unknown organization", func(*stage) {}, []string{"ci-tester", "--org", "nowhere"}, 3, `--org: no organization "nowhere"`, "a typing mistake"},
		{"bad token", func(s *stage) {
			s.env["CODER_SESSION_TOKEN"] = "aaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbb"
		}, []string{"ci-tester", "--org", "coder"}, 3, "does not accept the token", "as everywhere"},
		{"no organization", func(*stage) {}, []string{"ci-tester"}, 2, "--org: missing", "none is guessed"},
		{"no name", func(*stage) {}, []string{"--org", "coder"}, 2, "takes the name of one tester, got 0", "none is guessed"},
		{"bad name", func(*stage) {}, []string{"ci_tester", "--org", "coder"}, 2, `NAME: "ci_tester": must have`, "Coder would refuse it"},
		{"long name", func(*stage) {}, []string{strings.Repeat("a", 33), "--org", "coder"}, 2, "NAME: ", "Coder would refuse it"},
		{"me", func(*stage) {}, []string{"me", "--org", "coder"}, 2, `not be "me"`, "it means somebody else"},
		{"an ID", func(*stage) {}, []string{uuid.NewString(), "--org", "coder"}, 2, "NAME: ", "it would be looked up as one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.asAdmin(world.RoleOwner)
				row.edit(s)
				before := len(s.Changes())
				o := s.run(append([]string{"tester", "create"}, row.args...)...)
				o.want(t, row.code, "", row.says, row.why)
				for _, change := range s.ChangesSince(before) {
					if change.Refused == nil {
						t.Errorf("%+v: something was changed: %s", change, row.why)
					}
				}
				if o.stdout != "" {
					t.Errorf("%q is printed: a script would take it for an ID", o.stdout)
				}
				if s.clock.Monotonic() > time.Second {
					t.Errorf("it took %v: what is refused is not asked again", s.clock.Monotonic())
				}
			})
		})
	}
}

// TestTesterCreateTellsWhatItMade has the new user be unfit.
func TestTesterCreateTellsWhatItMade(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.asAdmin(world.RoleOwner)
		s.SetDefaultRoles(s.tester.Memberships[0].Organization.ID, "organization-template-admin")
		create := []string{"tester", "create", "ci-tester", "--org", "coder"}
		o := s.run(create...)
		o.want(t, 3, "", "made it just now", "somebody has to know that there is a new user")
		if strings.Contains(o.stderr, "exists") || strings.Contains(o.stderr, "left as it is") {
			t.Errorf("a user that was made is told as one that was there:\n%s", o.stderr)
		}
		s.run(create...).want(t, 3, "", "left as it is", "now it was there")
	})
}

func TestTesterCreateMakesNothingKnown(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.asAdmin("user-admin")
		o := s.run("tester", "create", "ci-tester", "--org", "coder", "--output", "json")
		o.want(t, 0, `"created": true`, "", "a user admin is enough")
		if user, _ := s.UserNamed("ci-tester"); user.Email != "ci-tester@assay.invalid" {
			t.Errorf("email %s, want one that no mail reaches", user.Email)
		}
		// The password is made of what the process reads as random.
		if strings.Contains(o.stdout+o.stderr, "YXNzYXkg") || strings.Contains(o.stdout, "assword") {
			t.Errorf("a password is shown: %s%s", o.stdout, o.stderr)
		}
		s.storedNothing(t, "it is no test")
	})
}

func TestTesterCreateIsInterrupted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.env["CODER_URL"] = "https://other.example.com"
		s.signalAt(5*time.Second, syscall.SIGINT)
		s.run("tester", "create", "ci-tester", "--org", "coder").want(t, 130, "", "interrupted before anything was started", "nobody waits for ever")
	})
}

// oddAdmin is a Coder whose answers about users are changed.
type oddAdmin struct {
	ports.CodeRunner
	ports.TesterAdmin
	// find and owner stand for the answers; nil leaves them.
	find, owner func(core.User, error) (core.User, error)
}

func (a oddAdmin) FindUser(ctx context.Context, name string) (core.User, error) {
	user, err := a.TesterAdmin.FindUser(ctx, name)
	if a.find != nil {
		return a.find(user, err)
	}
	return user, err
}

// Organization answers whatever became of the context: an answer can be on its way.
func (a oddAdmin) Organization(ctx context.Context, name string) (core.Organization, error) {
	return a.CodeRunner.Organization(context.WithoutCancel(ctx), name)
}

func (a oddAdmin) Owner(ctx context.Context, id uuid.UUID) (core.User, error) {
	user, err := a.CodeRunner.Owner(ctx, id)
	if a.owner != nil {
		return a.owner(user, err)
	}
	return user, err
}

// TestTesterCreateTellsNoNilID has Coder answer with a user that has no ID.
func TestTesterCreateTellsNoNilID(t *testing.T) {
	for _, output := range []string{"text", "json"} {
		onStage(t, func(t *testing.T, s *stage) {
			s.asAdmin(world.RoleOwner)
			s.wrap = func(inner ports.CodeRunner) ports.CodeRunner {
				return oddAdmin{CodeRunner: inner, TesterAdmin: inner.(ports.TesterAdmin), owner: func(user core.User, err error) (core.User, error) {
					user.ID = uuid.Nil
					return user, err
				}}
			}
			o := s.run("tester", "create", "ci-tester", "--org", "coder", "--output", output)
			o.want(t, 3, "", "told no ID", "a script would test with it")
			if o.stdout != "" {
				t.Errorf("%q is printed", o.stdout)
			}
		})
	}
}

// TestTesterCreateIsLeftBehind has signals come while Coder looks for the user: a
// race detector sees what the work that is left behind shares with the command.
func TestTesterCreateIsLeftBehind(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.asAdmin(world.RoleOwner)
		asked, answer := make(chan struct{}), make(chan struct{})
		s.wrap = func(inner ports.CodeRunner) ports.CodeRunner {
			return oddAdmin{CodeRunner: inner, TesterAdmin: inner.(ports.TesterAdmin), find: func(found core.User, err error) (core.User, error) {
				close(asked)
				<-answer
				return found, err
			}}
		}
		s.signals <- syscall.SIGINT
		s.signalAt(time.Second, syscall.SIGINT)
		o := s.run("tester", "create", "ci-tester", "--org", "coder")
		<-asked
		close(answer)
		if o.code != 130 || o.stdout != "" {
			t.Errorf("exit code %d, %q is printed; want 130 and nothing", o.code, o.stdout)
		}
	})
}

func TestTesterCheck(t *testing.T) {
	for _, row := range []struct {
		name string
		spec world.UserSpec
		args []string
		code int
		// stdout and stderr are shown.
		stdout, stderr string
		why            string
	}{
		{"fit", world.UserSpec{}, []string{"checked"}, 0, "  ok  is a member of organization coder\n", "", "a tester"},
		{"fit, by org", world.UserSpec{}, []string{"checked", "--org", "coder"}, 0, "may own test workspaces:\n  ok  is active\n", "", "a tester"},
		{"fit, as JSON", world.UserSpec{}, []string{"checked", "--output", "json"}, 0, `"eligible": true`, "", "a tester"},
		{"other organization", world.UserSpec{}, []string{"checked", "--org", "acme"}, 3, "failed  is a member of organization acme", "", "it cannot own workspaces there"},
		{"dormant", world.UserSpec{Status: world.UserDormant}, []string{"checked"}, 3, "failed  is active", "", "Coder refuses its agents"},
		{
			"two rules",
			world.UserSpec{SiteRoles: []string{"auditor"}, LoginType: "oidc"},
			[]string{"checked", "--output", "json"},
			3, "logs in by oidc", "", "each rule is told, not only the first",
		},
		{"privileged", world.UserSpec{SiteRoles: []string{"auditor"}}, []string{"Checked"}, 3, "may not own test workspaces", "", "names ignore case"},
		{"nobody", world.UserSpec{}, []string{"nobody"}, 3, "", `no user "nobody" that the token's user can read`, "a typing mistake"},
		{"nobody by ID", world.UserSpec{}, []string{uuid.NewString()}, 3, "", "that the token's user can read", "a typing mistake"},
		{"unknown organization", world.UserSpec{}, []string{"checked", "--org", "nowhere"}, 3, "", `no organization "nowhere"`, "a typing mistake"},
		{"two users", world.UserSpec{}, []string{"checked", "tester"}, 2, "", "one user, got 2", "the result would be unclear"},
		{"the token's own", world.UserSpec{}, nil, 3, "has no site role", "", "the operator is a site owner"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.AddOrganization("acme")
				s.asAdmin(world.RoleOwner)
				row.spec.Username = "checked"
				s.AddUser(row.spec)
				s.run(append([]string{"tester", "check"}, row.args...)...).want(t, row.code, row.stdout, row.stderr, row.why)
				s.storedNothing(t, "nothing is changed")
			})
		})
	}
}

func TestTesterCheckByItself(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		o := s.run("tester", "check", "--output", "json")
		o.want(t, 0, `"name": "tester"`, "", "a member reads itself")
		rules, _ := o.document(t)["rules"].([]any)
		if len(rules) != 6 {
			t.Errorf("rules %v, want the five about its rights and one about coder", rules)
		}
		o = s.run("tester")
		o.want(t, 2, "", "create", "the help of both")
	})
}
