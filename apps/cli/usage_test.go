package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/fakes/world"
)

func TestUsageErrors(t *testing.T) {
	for _, row := range []struct {
		args   []string
		stderr string
		why    string
	}{
		{[]string{"rum"}, `"assay" has no command "rum": do you mean run?`, "a typo"},
		{[]string{"run"}, "--template is missing", "nothing is asked for"},
		{[]string{"run", "--template", "coder.docker"}, "--version is missing", "no default may choose a version"},
		{testActive("extra"), `takes flags only, got the argument "extra"`, "an argument without its flag"},
		{testActive("--unknown"), "unknown flag: --unknown", "a flag that does not exist"},
		{testActive("--timeout", "soon"), `invalid argument "soon"`, "no duration"},
		{testActive("--timeout", "30s"), `--timeout: "30s": must be 60 to 7200 seconds`, "below the bound"},
		{testActive("--timeout", "0"), "--timeout: \"0s\"", "zero is no default"},
		{testActive("--timeout", "90500ms"), "--timeout: 1m30.5s: must be whole seconds", "records count seconds"},
		{testActive("--inputs-timeout", "20m"), `--inputs-timeout: "20m0s": must be 1 second to --timeout`, "it bounds a part of the run"},
		{testActive("--cleanup-timeout", "0"), "--cleanup-timeout: 0s: must be more than 0", "a cleanup takes time"},
		{testActive("--output", "yaml"), "must be text, json or ndjson", "no such form"},
		{testActive("--param", "secret-without-name"), "--param: number 1 of 1: must be NAME=VALUE", "the value is not shown"},
		{testActive("--param", "a=1", "--param", "a=2"), `--param: "a": is given twice`, "names are unique"},
		{testActive("--template", "docker"), `--template: "docker": must be "<organization>.<template>"`, "the organization is part of the name"},
		{testActive("--template", "coder.new"), `its template name must not be "new"`, "coder reserves it"},
		{testActive("--version", "a b"), `--version: "a b": must be 1 to 64`, "no version can be named so"},
		{testActive("--url", "coder.example.com"), "http", "the way out is in the message"},
		{testActive("--url", "http://coder.example.com"), "--insecure-http", "the token would travel in plain text"},
		{testActive("--token-file", "missing.token"), "--token-file: open missing.token", "a file that is not there"},
		{testActive("--ca-file", "missing.pem"), "--ca-file: open missing.pem", "a file that is not there"},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				o := s.run(row.args...)
				o.want(t, 2, "", row.stderr, row.why)
				if strings.Contains(o.stderr, "secret-without-name") {
					t.Error("the value was shown")
				}
				s.storedNothing(t, "usage errors store nothing")
			})
		})
	}
}

func TestEveryBrokenRuleIsTold(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		o := s.run("run", "--template", "docker", "--version", "a b", "--timeout", "1s")
		for _, flag := range []string{"--template:", "--version:", "--timeout:"} {
			if !strings.Contains(o.stderr, flag) {
				t.Errorf("%s is not told:\n%s", flag, o.stderr)
			}
		}
	})
}

func TestHelpTeaches(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.run().want(t, 2, "", "assay run --template coder.docker --version active", "no arguments is a question, and no test that passed")
		s.run("frobnicate").want(t, 2, "", `"assay" has no command "frobnicate": it has completion, demo, doctor,`, "nothing is similar")
		s.run("tester", "creat").want(t, 2, "", `"assay tester" has no command "creat": do you mean create?`, "a typo")
		help := s.run("run", "--help")
		for _, want := range []string{"Exit codes:", "130  interrupted", "Examples:", "CODER_SESSION_TOKEN", "--cleanup-timeout"} {
			help.want(t, 0, want, "", "the help tells it")
		}
		s.run("completion", "bash").want(t, 0, "__start_assay", "", "shells complete it")
		s.run("version").want(t, 0, "assay ", "", "bug reports need it")
	})
}

func TestConnections(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(s *stage)
		args   []string
		code   int
		stderr string
		why    string
	}{
		{
			"token file", func(s *stage) { delete(s.env, "CODER_SESSION_TOKEN"); s.file("t", s.token+"\n") },
			[]string{"--token-file", "t"},
			0, "", "a line end is no part of the token",
		},
		{
			"empty token file", func(s *stage) { s.file("t", "\n") },
			[]string{"--token-file", "t"},
			2, "is empty", "an empty secret of a CI system",
		},
		{
			"coder login", func(s *stage) { clear(s.env); s.env["HOME"] = s.dir; s.login(".config/coderv2", address) }, nil,
			0, "", "the coder command's files are enough",
		},
		{"coder login elsewhere", func(s *stage) {
			delete(s.env, "CODER_SESSION_TOKEN")
			s.env["CODER_CONFIG_DIR"] = filepath.Join(s.dir, "cfg")
			s.login("cfg", address+"/")
		}, nil, 0, "", "CODER_CONFIG_DIR names the folder"},
		{"login of another deployment", func(s *stage) {
			delete(s.env, "CODER_SESSION_TOKEN")
			s.login(".config/coderv2", "https://other.example.com")
		}, nil, 2, "stored one for https://other.example.com", "a token is not sent to a stranger"},
		{
			"no deployment", func(s *stage) { delete(s.env, "CODER_URL") }, nil,
			2, "no Coder deployment is named", "the ways to name one are told",
		},
		{
			"no token", func(s *stage) { delete(s.env, "CODER_SESSION_TOKEN") }, nil,
			2, "no token: give --token-file", "the ways to give one are told",
		},
		{
			"wrong token", func(s *stage) { s.env["CODER_SESSION_TOKEN"] = "wrong" }, nil,
			3, "coder does not accept the token", "the environment is wrong, and nothing was judged",
		},
		{
			"nobody answers", func(s *stage) { s.env["CODER_URL"] = "https://nobody.example.com" }, nil,
			3, "nothing was started", "the environment is wrong, and nothing was judged",
		},
		{
			"no state folder", func(s *stage) { delete(s.env, "HOME") }, nil,
			2, "no place for the state file", "the ways to name one are told",
		},
		{
			"state file that is none", func(s *stage) { s.file("notes", strings.Repeat("notes\n", 200)) },
			[]string{"--state", "notes"},
			3, "choose another file", "it must not be overwritten",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				t.Chdir(s.dir)
				s.template("docker", good())
				row.change(s)
				s.run(testActive(row.args...)...).want(t, row.code, "", row.stderr, row.why)
				if row.code != 0 {
					s.storedNothing(t, row.why)
				}
			})
		})
	}
}

func TestCoderIsWaitedFor(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.env["CODER_URL"] = "https://nobody.example.com"
		s.run(testActive("--inputs-timeout", "10s")...).want(t, 3, "", "nothing was started", "nobody answers")
		if waited := s.clock.Monotonic(); waited < 8*time.Second || waited > 10*time.Second {
			t.Errorf("it gave up after %v, want within the last 2 s of --inputs-timeout", waited)
		}
	})
}

func TestInterruptedBeforeAnythingWasStarted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.env["CODER_URL"] = "https://nobody.example.com"
		s.signalAt(3*time.Second, syscall.SIGTERM)
		s.run(testActive()...).want(t, 143, "", "interrupted before anything was started", "there is nothing to clean up")
		s.storedNothing(t, "it was interrupted")
	})
}

func TestOwners(t *testing.T) {
	admin := func(s *stage) world.User {
		u := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
		s.env["CODER_SESSION_TOKEN"] = s.MintToken(u.ID)
		return u
	}
	person := func(s *stage) world.User {
		u := s.AddUser(world.UserSpec{Username: "jane", LoginType: "oidc"})
		s.env["CODER_SESSION_TOKEN"] = s.MintToken(u.ID)
		return u
	}
	for _, row := range []struct {
		name   string
		change func(s *stage) world.User
		args   func(s *stage) []string
		code   int
		stderr string
		why    string
	}{
		{"admin as itself", admin, nil, 3, "There are three ways out:", "its token would go to Terraform"},
		{"admin as itself, accepted", admin, func(*stage) []string { return []string{"--allow-privileged-owner"} }, 0, "", "the risk is accepted"},
		{"admin for a tester", admin, func(s *stage) []string { return []string{"--owner", s.tester.ID.String()} }, 0, "", "an admin makes workspaces for others"},
		{"person as itself", person, nil, 3, "--allow-personal-owner", "a person's token would go to Terraform"},
		{"person as itself, accepted", person, func(*stage) []string { return []string{"--allow-personal-owner"} }, 0, "", "the risk is accepted"},
		{
			"tester for an admin", func(s *stage) world.User { return s.AddUser(world.UserSpec{Username: "boss"}) },
			func(s *stage) []string { u, _ := s.UserNamed("boss"); return []string{"--owner", u.ID.String()} },
			3, "no user", "a plain member reads no other user",
		},
		{
			"a name that nobody has", admin, func(*stage) []string { return []string{"--owner", "nobody"} },
			3, `--owner: no user "nobody"`, "Coder knows no such user",
		},
		{
			"an ID that nobody has", admin, func(*stage) []string { return []string{"--owner", "00000000-0000-4000-8000-00000000dead"} },
			3, "OwnerNotEligible", "the lifecycle judges owners, and waits for them",
		},
		{
			"an admin for another admin", admin, func(s *stage) []string {
				u := s.AddUser(world.UserSpec{Username: "boss", SiteRoles: []string{"template-admin"}})
				return []string{"--owner", u.ID.String()}
			},
			3, "There are three ways out:", "the lifecycle judges owners",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				row.change(s)
				var args []string
				if row.args != nil {
					args = row.args(s)
				}
				s.run(testActive(args...)...).want(t, row.code, "", row.stderr, row.why)
				s.leavesNothing(t)
			})
		})
	}
}

// file makes a file in the stage's folder.
func (s *stage) file(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// login leaves the files that "coder login" leaves.
func (s *stage) login(dir, url string) {
	s.file(dir+"/url", url)
	s.file(dir+"/session", s.token)
}
