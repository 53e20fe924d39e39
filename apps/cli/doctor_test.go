package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// diagnosed are the states of the checks that are not ok, and the document.
func (o outcome) diagnosed(t *testing.T) (notOK map[string]string, document map[string]any) {
	t.Helper()
	document = o.document(t)
	notOK = map[string]string{}
	checks, _ := document["checks"].([]any)
	if len(checks) == 0 {
		t.Errorf("the document has no checks:\n%s", o.stdout)
	}
	for _, one := range checks {
		check, _ := one.(map[string]any)
		if state := fmt.Sprint(check["state"]); state != "ok" {
			notOK[fmt.Sprint(check["name"])] = state
		}
	}
	return notOK, document
}

func TestDoctorOnAHealthySetUp(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		o := s.run("doctor", "--template", "coder.docker", "--version", "active")
		o.want(t, 0, "A test could run (1 skipped).", "", "all is well; a member may not see provisioners")
		for _, line := range []string{
			"ok       state-file      " + s.stateFile() + " is going to be made\n",
			"ok       connection      " + address + " answers: deployment ",
			"ok       coder-version   v2.36.1\n",
			"ok       token           is accepted: it is of the user \"tester\"\n",
			"ok       token-lifetime  a session, whose end moves on while it is used\n",
			"ok       owner           \"tester\" is active, and a plain member\n",
			"ok       version         \"v1\" is imported\n",
			"skipped  provisioners    not readable by this user; builds of the version ask for the tags scope=organization\n",
		} {
			if !strings.Contains(o.stdout, line) {
				t.Errorf("%q is not said:\n%s", line, o.stdout)
			}
		}
		if lines := strings.Count(o.stdout, "\n"); lines > 24 {
			t.Errorf("%d lines do not fit on a screen", lines)
		}
		if strings.Contains(o.stdout+o.stderr, s.token) {
			t.Error("the token is shown")
		}
		s.storedNothing(t, "the doctor only looks")
		if _, err := os.Stat(filepath.Join(s.dir, ".local")); err == nil {
			t.Error("the folder of the state file was made")
		}
		if changes := s.Changes(); len(changes) > 0 {
			t.Errorf("something was changed in Coder: %+v", changes)
		}
	})
}

// TestDoctorAndRunAgree breaks one thing at a time. The doctor must name the reason that a
// test waits or ends with, and end with the same exit code.
func TestDoctorAndRunAgree(t *testing.T) {
	for _, row := range []struct {
		name   string
		broken func(s *stage)
		// args can name the version v1 of the template other as OTHER.
		args   []string
		reason core.Reason
		notOK  map[string]string
	}{
		{
			"unauthorized token", func(s *stage) { s.RevokeTokens(s.tester.ID) }, nil, core.ReasonOperatorAccessNotReady,
			map[string]string{"token": "failed"},
		},
		{
			"unknown owner", func(*stage) {},
			[]string{"--owner", "00000000-0000-4000-8000-00000000dead"},
			core.ReasonOwnerNotEligible,
			map[string]string{"owner": "failed"},
		},
		{
			"owner with a role", func(s *stage) {
				s.ChangeUser(s.tester.ID, world.UserSpec{Username: "tester", SiteRoles: []string{"template-admin"}})
			}, nil, core.ReasonOwnerNotEligible, map[string]string{"owner": "failed", "provisioners": "ok"},
		},
		{
			"personal owner", func(s *stage) { s.ChangeUser(s.tester.ID, world.UserSpec{Username: "tester", LoginType: "oidc"}) }, nil,
			core.ReasonOwnerNotEligible,
			map[string]string{"owner": "failed", "parameters": "ok"},
		},
		{
			"owner of another organization", func(s *stage) {
				other := s.AddOrganization("acme")
				s.AddMember(other.ID, s.tester.ID)
				s.RemoveMember(s.tester.Memberships[0].Organization.ID, s.tester.ID)
			}, nil, core.ReasonTemplateNotFound, map[string]string{"organization": "failed", "template": "skipped"},
		},
		{
			"unknown organization", func(*stage) {},
			[]string{"--template", "acme.docker"},
			core.ReasonTemplateNotFound,
			map[string]string{"organization": "failed", "template": "skipped"},
		},
		{
			"unknown template", func(*stage) {},
			[]string{"--template", "coder.other"},
			core.ReasonTemplateNotFound,
			map[string]string{"template": "failed", "version": "skipped"},
		},
		{
			"deprecated template", func(s *stage) { s.deprecate("docker") }, nil, core.ReasonTemplateDeprecated,
			map[string]string{"template": "failed", "version": "ok"},
		},
		{
			"unknown version", func(*stage) {},
			[]string{"--version", "v9"},
			core.ReasonVersionNotFound,
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{
			"archived version", func(s *stage) {
				v := s.second(world.VersionSpec{})
				_ = s.People(uuid.Nil).Archive(v.ID)
			},
			[]string{"--version", "v2"},
			core.ReasonVersionArchived,
			map[string]string{"version": "failed", "parameters": "ok"},
		},
		{
			"import failed", func(s *stage) { s.second(world.VersionSpec{Import: world.ImportPlan{Ends: core.JobFailed}}) },
			[]string{"--version", "v2"},
			core.ReasonVersionImportFailed,
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{
			"import that nobody takes", func(s *stage) { s.second(world.VersionSpec{Tags: map[string]string{"pool": "gpu"}}) },
			[]string{"--version", "v2"},
			core.ReasonVersionImporting,
			map[string]string{"version": "warning", "provisioners": "failed"},
		},
		{
			"version of another template", func(s *stage) { s.template("other", good()) },
			[]string{"--version", "OTHER"},
			core.ReasonVersionMismatch,
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{
			"unknown parameter", func(*stage) {},
			[]string{"--param", "regoin=hunter2hunter2"},
			core.ReasonParametersInvalid,
			map[string]string{"parameters": "failed"},
		},
		{
			"unknown preset", func(*stage) {},
			[]string{"--preset", "large"},
			core.ReasonParametersInvalid,
			map[string]string{"parameters": "failed"},
		},
		{
			"missing external authentication", func(s *stage) {
				s.second(world.VersionSpec{ExternalAuth: []world.ExternalAuth{{Provider: "github"}}})
			}, []string{"--version", "v2"}, core.ReasonExternalAuthRequired, map[string]string{"external-auth": "failed"},
		},
		{
			"external agent", func(s *stage) { s.second(world.VersionSpec{HasExternalAgent: true}) },
			[]string{"--version", "v2"},
			core.ReasonExternalAgentUnsupported,
			map[string]string{"external-agent": "failed"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				row.broken(s)
				args := append([]string{"--output", "json"}, row.args...)
				for _, flag := range [][]string{{"--template", "coder.docker"}, {"--version", "active"}, {"--owner", s.tester.ID.String()}} {
					if !slices.Contains(args, flag[0]) {
						args = append(args, flag...)
					}
				}
				if i := slices.Index(args, "OTHER"); i >= 0 {
					args[i] = s.versionOf("other")
				}
				diagnosis := s.run(append([]string{"doctor"}, args...)...)
				notOK, document := diagnosis.diagnosed(t)
				if document["reason"] != string(row.reason) {
					t.Errorf("the doctor foresees %v, want %s:\n%s", document["reason"], row.reason, diagnosis.stdout)
				}
				for check, want := range row.notOK {
					if got := notOK[check]; got != want && (want != "ok" || got != "") {
						t.Errorf("the check %s is %q, want %q", check, got, want)
					}
				}
				if strings.Contains(diagnosis.stdout+diagnosis.stderr, "hunter2") {
					t.Errorf("a parameter's value is shown:\n%s", diagnosis.stdout)
				}
				s.storedNothing(t, "the doctor only looks")

				test := s.run(append([]string{"run"}, args...)...)
				verdict := test.document(t)
				met := verdict["reason"]
				if met == string(core.ReasonDeadlineExceeded) {
					met = verdict["lastWaitReason"]
				}
				if met != string(row.reason) {
					t.Errorf("a test meets %v, the doctor foresaw %s", met, row.reason)
				}
				if test.code != diagnosis.code {
					t.Errorf("a test exits with %d, the doctor with %d", test.code, diagnosis.code)
				}
				if document["exitCode"] != float64(diagnosis.code) || document["ok"] != false {
					t.Errorf("the document says ok %v and exit code %v, the doctor exited with %d", document["ok"], document["exitCode"], diagnosis.code)
				}
			})
		})
	}
}

// TestDoctorForeseesThatNobodyBuilds has the provisioners come back in time to delete.
func TestDoctorForeseesThatNobodyBuilds(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		organization := s.tester.Memberships[0].Organization.ID
		s.ChangeUser(s.tester.ID, world.UserSpec{SiteRoles: []string{"template-admin"}})
		s.SetProvisioners(organization, world.Provisioner{Name: "gpu", Tags: map[string]string{"pool": "gpu"}})
		args := []string{"--template", "coder.docker", "--version", "active", "--allow-privileged-owner", "--timeout", "2m"}
		o := s.run(append([]string{"doctor"}, args...)...)
		o.want(t, 3, "failed   provisioners    none takes builds with the tags scope=organization\n", "", "its only provisioner wants jobs for its pool")
		o.want(t, 3, "A test would not pass: NoMatchingProvisioner (1 failed, 1 warning).", "", "the waiver is worth a warning")

		s.at[time.Minute] = func() { s.SetProvisioners(organization, world.Provisioner{Name: "plain"}) }
		verdict := s.run(append([]string{"run", "--output", "json"}, args...)...).document(t)
		if verdict["lastWaitReason"] != string(core.ReasonNoMatchingProvisioner) || verdict["exitCode"] != 3.0 {
			t.Errorf("a test waits with %v and exits with %v", verdict["lastWaitReason"], verdict["exitCode"])
		}
		s.leavesNothing(t)
	})
}

// second adds the version v2, which is not active, to the template docker.
func (s *stage) second(spec world.VersionSpec) world.TemplateVersion {
	template, _ := s.templateNamed("docker")
	spec.Template, spec.Name, spec.Start = template, "v2", []world.BuildPlan{good()}
	return s.AddVersion(spec)
}

func (s *stage) templateNamed(name string) (uuid.UUID, bool) {
	for _, template := range s.Templates(s.tester.ID, uuid.Nil) {
		if template.Name == name {
			return template.ID, true
		}
	}
	return uuid.Nil, false
}

// versionOf is the ID of the version v1 of a template.
func (s *stage) versionOf(name string) string {
	template, _ := s.templateNamed(name)
	version, _ := s.VersionNamed(template, "v1")
	return version.ID.String()
}

func (s *stage) deprecate(name string) {
	if template, ok := s.templateNamed(name); ok {
		_ = s.People(uuid.Nil).Deprecate(template, "use another one")
	}
}

func TestDoctorLooksAtTheSetUp(t *testing.T) {
	for _, row := range []struct {
		name   string
		broken func(t *testing.T, s *stage)
		args   []string
		code   int
		says   string
		why    string
	}{
		{
			"nothing named", nil, nil, 0, "skipped  template        no template is named",
			"what is not named is not looked at, and that is said",
		},
		{
			"template alone", nil,
			[]string{"--template", "coder.docker"},
			0, "skipped  parameters      no version is named",
			"what is not named is not looked at, and that is said",
		},
		{
			"personal user", func(_ *testing.T, s *stage) {
				s.ChangeUser(s.tester.ID, world.UserSpec{Username: "tester", LoginType: "github"})
			}, nil, 3, "--allow-personal-owner waives this\n                         to do: use a tester (its own token, or --owner): ",
			"the way out is told in flags",
		},
		{
			"owner that nobody knows", nil, []string{"--owner", "nobody"}, 3, `no user "nobody"`, "names are looked up",
		},
		{
			"owner of somebody else", func(_ *testing.T, s *stage) {
				s.ChangeUser(s.tester.ID, world.UserSpec{Username: "tester", SiteRoles: []string{"user-admin"}})
				s.AddUser(world.UserSpec{Username: "second"})
			},
			[]string{"--owner", "second"},
			3, "failed   rights          the token's user may not create, read, delete workspaces of the owner",
			"a user admin reads users, and makes no workspaces for them",
		},
		{
			"token that ends", func(_ *testing.T, s *stage) {
				s.env["CODER_SESSION_TOKEN"] = s.MintTokenFor(s.tester.ID, 5*time.Minute)
			}, nil, 3, "failed   token-lifetime  ends at 2026-03-01T12:05:00Z, within the 15m0s", "a test may outlive the token",
		},
		{
			"token that ends soon", func(_ *testing.T, s *stage) {
				s.env["CODER_SESSION_TOKEN"] = s.MintTokenFor(s.tester.ID, 24*time.Hour)
			}, nil, 0, "warning  token-lifetime  ends soon", "it is enough for today",
		},
		{
			"quota", func(_ *testing.T, s *stage) {
				s.SetQuota(s.tester.Memberships[0].Organization.ID, s.tester.ID, world.Budget{Consumed: 10, Limit: 10})
			}, []string{"--template", "coder.docker"}, 0, "warning  quota           the owner has consumed 10 of 10", "a template may cost nothing",
		},
		{
			"state file in a file", func(t *testing.T, s *stage) {
				if err := os.WriteFile(filepath.Join(s.dir, "file"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				s.env["XDG_STATE_HOME"] = filepath.Join(s.dir, "file")
			}, nil, 3, "failed   state-file", "no folder can be made there",
		},
		{
			"state file that is none", func(t *testing.T, s *stage) {
				if err := os.WriteFile(filepath.Join(s.dir, "tests.db"), []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
					t.Fatal(err)
				}
			}, []string{"--state", "DIR/tests.db"}, 3, "failed   state-file", "it is told before a test is lost in it",
		},
		{
			"nobody answers", nil,
			[]string{"--url", "https://elsewhere.example.com"},
			3,
			"to do: check the address (--url, CODER_URL) and the network", "the first cause is told, and once",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				if row.broken != nil {
					row.broken(t, s)
				}
				args := append([]string{"doctor"}, row.args...)
				for i := range args {
					args[i] = strings.Replace(args[i], "DIR", s.dir, 1)
				}
				s.run(args...).want(t, row.code, row.says, "", row.why)
			})
		})
	}
}

func TestDoctorKnowsTheStateFile(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		s.run(testActive()...).want(t, 0, "PASSED", "", "a test is in the state file")
		s.run("doctor").want(t, 0, "can be used; it has 1 tests", "", "it is read, not made")
	})
}

func TestDoctorUsage(t *testing.T) {
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"--version", "v1"}, "--template is missing"},
		{[]string{"--param", "region=eu"}, "--template is missing"},
		{[]string{"--template", "coder.docker", "--preset", "small"}, "--version is missing"},
		{[]string{"--template", "docker"}, `--template: "docker": must be "<organization>.<template>"`},
		{[]string{"--template", "coder.docker", "--version", "new/er"}, `--version: "new/er"`},
		{[]string{"--timeout", "1s"}, "--timeout"},
		{[]string{"--output", "yaml"}, "must be text or json"},
		{[]string{"docker"}, "takes flags only"},
	} {
		onStage(t, func(t *testing.T, s *stage) {
			s.run(append([]string{"doctor"}, row.args...)...).want(t, 2, "", row.says, "what is given must be right")
			if asked := s.Requests(); len(asked) > 0 {
				t.Errorf("%v: Coder was asked: %v", row.args, asked)
			}
		})
	}
}

func TestDoctorInterrupted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.around = func(dial ports.Dialer) ports.Dialer {
			return func(connection core.Connection) (ports.CodeRunner, error) {
				inner, err := dial(connection)
				return silent{inner}, err
			}
		}
		s.signalAt(5*time.Second, syscall.SIGINT)
		o := s.run("doctor")
		o.want(t, 130, "", "waiting for Coder's answer about: connection", "it is told what takes so long")
	})
}

// silent is a Coder that does not answer.
type silent struct{ ports.CodeRunner }

func (silent) Deployment(ctx context.Context) (core.Deployment, error) {
	<-ctx.Done()
	return core.Deployment{}, &core.Failure{Class: core.FailureUnavailable, Op: "read deployment", Message: ctx.Err().Error()}
}
