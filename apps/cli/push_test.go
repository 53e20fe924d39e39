package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/cli"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
)

// withPusher adds a template admin, whose token is ASSAY_PUSH_TOKEN, a template "docker"
// with the active version v1, and a folder to push.
func (s *stage) withPusher(t *testing.T, start world.BuildPlan) (admin world.User, folder string) {
	t.Helper()
	s.template("docker", good())
	admin = s.AddUser(world.UserSpec{Username: "pusher", SiteRoles: []string{"template-admin"}})
	s.env["ASSAY_PUSH_TOKEN"] = s.MintToken(admin.ID)
	s.PlanVersions(func(string, []byte) world.VersionSpec {
		return world.VersionSpec{
			Import: world.ImportPlan{Queue: time.Second, Run: 2 * time.Second, Log: "Plan: 1 to add"},
			Start:  []world.BuildPlan{start}, Delete: []world.BuildPlan{{Run: time.Second}},
		}
	})
	return admin, s.folder(t, map[string]string{"main.tf": "# a template"})
}

// folder makes a folder with files in the stage's own.
func (s *stage) folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(s.dir, "template")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// written makes a file in the stage's folder and returns its path.
func (s *stage) written(t *testing.T, name, content string) string {
	t.Helper()
	s.file(name, content)
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// docker is the template "docker" as it is.
func (s *stage) docker(t *testing.T) (template world.Template, active string) {
	t.Helper()
	template, err := s.TemplateByName(s.tester.ID, s.tester.Memberships[0].Organization.ID, "docker")
	if err != nil {
		t.Fatal(err)
	}
	version, err := s.TemplateVersion(s.tester.ID, template.ActiveVersion)
	if err != nil {
		t.Fatal(err)
	}
	return template, version.Name
}

// isActive fails unless the version is the template's active one.
func (s *stage) isActive(t *testing.T, want string) {
	t.Helper()
	if _, active := s.docker(t); active != want {
		t.Errorf("%q is active, want %q", active, want)
	}
}

// pushArgs push the folder as "v2".
func pushArgs(folder string, more ...string) []string {
	return append([]string{"push", folder, "--template", "coder.docker", "--name", "v2", "--message", "why"}, more...)
}

func TestPush(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		admin, folder := s.withPusher(t, good())
		o := s.run(pushArgs(folder)...)
		template, _ := s.docker(t)
		made, ok := s.VersionNamed(template.ID, "v2")
		if !ok || made.CreatedBy != admin.ID || made.Message != "why" {
			t.Fatalf("version %+v, found: %v\n%s", made, ok, o.stderr)
		}
		o.want(t, 0, "v2 "+made.ID.String()+"\n", "packed 1 files", "the output names the version alone")
		o.want(t, 0, "", "  == Detecting persistent resources\n  | Initializing the backend...\n", "the log is shown with its stages")
		o.want(t, 0, "", "  | Plan: 1 to add\n", "to its end")
		s.isActive(t, "v1")
		if strings.Contains(o.stdout+o.stderr, s.env["ASSAY_PUSH_TOKEN"]) {
			t.Error("the token is shown")
		}
	})
}

func TestPushAsJSON(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		document := s.run(pushArgs(folder, "-o", "json")...).document(t)
		version, _ := document["version"].(map[string]any)
		before, _ := document["activeBefore"].(map[string]any)
		if version["name"] != "v2" || before["name"] != "v1" || document["import"] != "succeeded" || document["exitCode"] != 0.0 {
			t.Errorf("document %v", document)
		}
		document = s.run(pushArgs(folder, "-o", "json")...).document(t)
		if text, _ := document["error"].(string); !strings.Contains(text, `"v2"`) || document["exitCode"] != 2.0 {
			t.Errorf("document of a name that is taken: %v", document)
		}
	})
}

func TestPushHidesValues(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.PlanVersions(func(string, []byte) world.VersionSpec {
			return world.VersionSpec{
				Variables: []string{"image", "password", "keys", "size"},
				Import: world.ImportPlan{
					Run: time.Second, Ends: core.JobFailed, Error: "the registry refuses hunter2-secret",
					Log: "pulling debian-image with hunter2-secret and " + s.env["ASSAY_PUSH_TOKEN"] + " first-key",
				},
			}
		})
		file := s.written(t, "variables.yaml", "password: hunter2-secret\nkeys: [first-key, second-key]\nsize: 010\nimage: overridden\n")
		o := s.run(pushArgs(folder, "--variable", "image=debian-image", "--variables-file", file)...)
		o.want(t, 1, "", "pulling *** with *** and *** ***\n", "a failed import is the template's")
		o.want(t, 1, "", "the import failed: version \"v2\": the registry refuses ***", "the end says why")
		if o.stdout != "" {
			t.Errorf("a version that cannot be used is printed: %s", o.stdout)
		}
		document := s.run(pushArgs(folder, "--name", "v3", "--variables-file", file, "-o", "json")...)
		for _, secret := range []string{"hunter2", "first-key", s.env["ASSAY_PUSH_TOKEN"]} {
			if strings.Contains(o.stderr+document.stdout+document.stderr, secret) {
				t.Errorf("%q is shown", secret)
			}
		}
		document.want(t, 1, `"importError": "the registry refuses ***"`, "", "the document says it too")
	})
}

func TestPushRefusals(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		twice := s.written(t, "twice.yaml", "password: hunter2\npassword: hunter3\n")
		null := s.written(t, "null.yaml", "password:\n")
		list := s.written(t, "list.yaml", "- hunter2\n")
		for _, row := range []struct {
			why  string
			args []string
			code int
			says string
		}{
			{"no folder", []string{"push", "--template", "coder.docker"}, 2, "name one folder to push"},
			{"no template", []string{"push", folder}, 2, "--template is missing"},
			{"half a template", []string{"push", folder, "--template", "docker"}, 2, `--template: "docker": must be`},
			{"a folder without Terraform", []string{"push", filepath.Dir(folder), "--template", "coder.docker"}, 2, "has no file *.tf"},
			{"a folder that is not there", []string{"push", folder + "x", "--template", "coder.docker"}, 2, "no such file"},
			{"a bad name", pushArgs(folder, "--name", "a b"), 2, `--name: "a b": must be letters and digits`},
			{"a bad variable", pushArgs(folder, "--variable", "hunter2"), 2, "--variable: number 1 of 1: must be NAME=VALUE"},
			{"a variable twice", pushArgs(folder, "--variable", "a=hunter2", "--variable", "a=3"), 2, `--variable: "a" is given twice`},
			{"a variable twice in the file", pushArgs(folder, "--variables-file", twice), 2, "line 2"},
			{"a variable without a value", pushArgs(folder, "--variables-file", null), 2, `has no value for "password"`},
			{"a list of variables", pushArgs(folder, "--variables-file", list), 2, "holds no names with values"},
			{"no file of variables", pushArgs(folder, "--variables-file", list+"x"), 2, "--variables-file: open"},
			{"a bad tag", pushArgs(folder, "--provisioner-tag", "gpu"), 2, "must be KEY=VALUE"},
			{"no time", pushArgs(folder, "--import-timeout", "0s"), 2, "--import-timeout: 0s"},
			{"a name that is taken", pushArgs(folder, "--name", "v1"), 2, `"v1": choose another name`},
			{"no such template", pushArgs(folder, "--template", "coder.podman"), 3, `no template "podman"`},
			{"no such token file", pushArgs(folder, "--push-token-file", folder+"x"), 2, "--push-token-file: open"},
		} {
			o := s.run(row.args...)
			o.want(t, row.code, "", row.says, row.why)
			if strings.Contains(o.stdout+o.stderr, "hunter") {
				t.Errorf("%s: a value is shown:\n%s", row.why, o.stderr)
			}
		}
		template, _ := s.docker(t)
		if versions, _ := s.Versions(s.tester.ID, template.ID); len(versions) != 1 {
			t.Errorf("%d versions were made", len(versions)-1)
		}
	})
}

// A line of the import's log can hold carriage returns, which would begin lines.
func TestPushObeysNothing(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.PlanVersions(func(string, []byte) world.VersionSpec {
			return world.VersionSpec{Import: world.ImportPlan{
				Run: time.Second, Ends: core.JobFailed, Error: "no\r::error::x", Log: "x\r::set-output name=a::b\r\r::error::c",
			}}
		})
		for _, github := range []string{"", "true"} {
			s.env["GITHUB_ACTIONS"] = github
			o := s.run(pushArgs(folder, "--name", "v2"+github)...)
			o.want(t, 1, "", "  | x\n  | ::set-output name=a::b\n  | ::error::c\n", "each line has its bar")
			var commands []string
			for line := range strings.Lines(o.stderr) {
				if strings.HasPrefix(line, "::") {
					commands = append(commands, line)
				}
			}
			switch {
			case github == "" && len(commands) > 0:
				t.Errorf("commands %q", commands)
			case github != "" && (len(commands) != 2 || "::"+strings.TrimPrefix(commands[0], "::stop-commands::") != strings.Replace(commands[1], "::\n", "\n", 1)):
				t.Errorf("commands %q", commands)
			}
		}
		s.run("promote", "--template", "coder.docker", "--version", "v1").want(t, 0, "", "::stop-commands::", "promote shows what Coder says too")
	})
}

// hastyClock lets a second pass between two looks at it, so that two signals are two.
type hastyClock struct {
	*clock.Clock
	now atomic.Int64
}

func (c *hastyClock) Monotonic() time.Duration { return time.Duration(c.now.Add(int64(time.Second))) }

// It is no stage's: there no time passes while the system has to answer.
func TestPackingIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	// Nobody writes into the pipe: what is read of it never comes.
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	directory := runner.NewDirectory()
	directory.Put(address, world.New(virtual))
	variables := map[string]string{"HOME": dir, "CODER_URL": address, "CODER_SESSION_TOKEN": "token"}
	for _, args := range [][]string{pushArgs(dir), runPushArgs(dir)} {
		signals := make(chan os.Signal, 2)
		signals <- os.Interrupt
		signals <- os.Interrupt
		var stdout, stderr lockedBuffer
		code := cli.Run(t.Context(), cli.Env{
			Args: append(args, "--variables-file", pipe), Stdout: &stdout, Stderr: &stderr, GOOS: "linux", Signals: signals,
			LookupEnv: func(name string) (string, bool) { value, ok := variables[name]; return value, ok },
			Clock:     &hastyClock{Clock: virtual}, Random: randomness(1), Process: "process 1", Dial: directory.Dial,
		})
		outcome{code, stdout.String(), stderr.String()}.want(t, 130, "", "interrupted before anything was started", "reading ends with the signals")
	}
}

func TestPushTokens(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		token := s.written(t, "pusher.token", s.env["ASSAY_PUSH_TOKEN"]+"\n")
		delete(s.env, "ASSAY_PUSH_TOKEN")
		s.run(pushArgs(folder)...).want(t, 3, "", `"tester" may not make versions of this template: it needs the role "template admin"`, "the tester's token has no right")
		s.run(pushArgs(folder, "--push-token-file", token)...).want(t, 0, "v2 ", "", "a token of its own has")
		s.run(pushArgs(folder, "--name", "v3", "--token-file", token)...).want(t, 0, "v3 ", "", "the ordinary token counts without another")
		s.env["ASSAY_PUSH_TOKEN"] = "bad-token"
		s.run(pushArgs(folder, "--name", "v4")...).want(t, 3, "", "coder does not accept the token for push and promote", "the variable wins over the ordinary one")
		s.run(pushArgs(folder, "--name", "v4", "--push-token-file", token)...).want(t, 0, "v4 ", "", "and the flag over the variable")
		delete(s.env, "CODER_SESSION_TOKEN")
		s.run(pushArgs(folder, "--name", "v5", "--push-token-file", token)...).want(t, 0, "v5 ", "", "no other token is needed")
	})
}

func TestPushIsInterrupted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.signalAt(2*time.Second, syscall.SIGTERM)
		o := s.run(pushArgs(folder)...)
		o.want(t, 143, "", "remains, inactive; its import is canceled", "it says what is left")
		template, _ := s.docker(t)
		if version, _ := s.VersionNamed(template.ID, "v2"); version.Import.Status != core.JobCanceled {
			t.Errorf("the import is %s", version.Import.Status)
		}
	})
}

func TestAVersionWithoutGitHasAName(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.env["GIT_CEILING_DIRECTORIES"] = s.dir
		s.run("push", folder, "--template", "coder.docker").want(t, 0, "push-", "", "it is made up")
	})
}

func TestTfvarsAreLeftOut(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.written(t, "template/terraform.tfvars", "password = \"hunter2\"")
		s.PlanVersions(func(_ string, tar []byte) world.VersionSpec {
			if strings.Contains(string(tar), "hunter2") {
				t.Error("the file was pushed")
			}
			return world.VersionSpec{}
		})
		s.run(pushArgs(folder)...).want(t, 0, "", "terraform.tfvars is left out: give its values with --variables-file", "its author must know")
	})
}

func TestPromote(t *testing.T) {
	for _, row := range []struct {
		why   string
		args  []string
		stage func(t *testing.T, s *stage, template world.Template)
		// v2 and v3 are versions that can be promoted.
		code           int
		stdout, stderr string
		active         string
	}{
		{why: "by name", args: []string{"--version", "v2"}, stdout: "promoted coder.docker version v2 (was v1)\n", active: "v2"},
		{why: "as expected", args: []string{"--version", "v2", "--expect-active", "v1"}, stdout: "promoted coder.docker version v2 (was v1)\n", active: "v2"},
		{why: "active already", args: []string{"--version", "v1"}, stdout: "coder.docker version v1 is active already\n", active: "v1"},
		{
			why: "another one is active", args: []string{"--version", "v2", "--expect-active", "v3"}, code: 5, active: "v1",
			stdout: `not promoted: version "v1" is active and not "v3" as expected: somebody else promoted it`,
		},
		{why: "as JSON", args: []string{"--version", "v2", "-o", "json"}, stdout: `"changed": true`, active: "v2"},
		{why: "no such version", args: []string{"--version", "v9"}, code: 3, stderr: `has no version "v9"`, active: "v1"},
		{why: "no such version by ID", args: []string{"--version", uuid.NewString()}, code: 3, stderr: "no version", active: "v1"},
		{why: "no such expected version", args: []string{"--version", "v2", "--expect-active", "v9"}, code: 3, stderr: `has no version "v9"`, active: "v1"},
		{why: "the active one", args: []string{"--version", "active"}, code: 2, stderr: `"active" is active already`, active: "v1"},
		{why: "no version", code: 2, stderr: "--version is missing", active: "v1"},
		{
			why: "archived", args: []string{"--version", "v2"}, code: 5, stdout: "not promoted: ", stderr: `version "v2" is archived: unarchive it first`, active: "v1",
			stage: func(t *testing.T, s *stage, template world.Template) {
				t.Helper()
				v2, _ := s.VersionNamed(template.ID, "v2")
				if err := s.People(uuid.Nil).Archive(v2.ID); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			why: "not imported", args: []string{"--version", "broken"}, code: 5, stderr: `version "broken" was not imported (failed)`, active: "v1",
			stage: func(_ *testing.T, s *stage, template world.Template) {
				s.AddVersion(world.VersionSpec{Template: template.ID, Name: "broken", Import: world.ImportPlan{Ends: core.JobFailed}})
			},
		},
		{
			why: "without the right", args: []string{"--version", "v2"}, code: 3, stderr: `"tester" may not promote versions of this template`, active: "v1",
			stage: func(_ *testing.T, s *stage, _ world.Template) { delete(s.env, "ASSAY_PUSH_TOKEN") },
		},
	} {
		onStage(t, func(t *testing.T, s *stage) {
			s.withPusher(t, good())
			template, _ := s.docker(t)
			s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v2"})
			s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v3"})
			if row.stage != nil {
				row.stage(t, s, template)
			}
			s.run(append([]string{"promote", "--template", "coder.docker"}, row.args...)...).want(t, row.code, row.stdout, row.stderr, row.why)
			s.isActive(t, row.active)
		})
	}
}
