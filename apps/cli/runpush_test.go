package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// runPushArgs push the folder as "v2", test it and promote it.
func runPushArgs(folder string, more ...string) []string {
	return append([]string{"run", "--push", folder, "--template", "coder.docker", "--name", "v2"}, more...)
}

// promotes has somebody else promote a new version so long after assay began.
func (s *stage) promotes(t *testing.T, after time.Duration) {
	t.Helper()
	template, _ := s.docker(t)
	other := s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v9"})
	s.at[after] = func() {
		if err := s.People(uuid.Nil).Promote(template.ID, other.ID); err != nil {
			t.Error(err)
		}
	}
}

func TestPushTestPromote(t *testing.T) {
	failing := world.BuildPlan{Run: time.Second, Outcome: world.Fails, Log: "Error: no such image"}
	for _, row := range []struct {
		why    string
		start  world.BuildPlan
		args   []string
		stage  func(t *testing.T, s *stage)
		code   int
		stdout []string
		stderr string
		active string
	}{
		{
			why: "a pass is promoted", start: good(), args: []string{"--promote"}, active: "v2",
			stdout: []string{"pushed coder.docker version v2 (inactive)\nPASSED  coder.docker version v2 in ", "\npromoted coder.docker version v2 (was v1)\n"},
		},
		{
			why: "only if that is asked for", start: good(), active: "v1",
			stdout: []string{"pushed coder.docker version v2 (inactive)\nPASSED  coder.docker version v2 in "},
		},
		{
			why: "a failure is not", start: failing, args: []string{"--promote"}, code: 1, active: "v1",
			stdout: []string{"FAILED  coder.docker version v2", "\nnot promoted: the test did not pass\n"}, stderr: "Error: no such image",
		},
		{
			why: "somebody else promotes during the test", start: good(), args: []string{"--promote"}, code: 5, active: "v9",
			stage:  func(t *testing.T, s *stage) { t.Helper(); s.promotes(t, 20*time.Second) },
			stdout: []string{"PASSED  coder.docker version v2", `not promoted: version "v9" is active and not "v1" as expected: somebody else promoted it`},
		},
		{
			why: "somebody else promotes during the import", start: good(), args: []string{"--promote"}, code: 5, active: "v9",
			stage:  func(t *testing.T, s *stage) { t.Helper(); s.promotes(t, 2*time.Second) },
			stdout: []string{"PASSED", `not promoted: version "v9" is active`},
		},
		{
			why: "the import fails: nothing is tested", start: good(), args: []string{"--promote"}, code: 1, active: "v1",
			stage: func(_ *testing.T, s *stage) {
				s.PlanVersions(func(string, []byte) world.VersionSpec {
					return world.VersionSpec{Import: world.ImportPlan{Run: time.Second, Ends: core.JobFailed, Log: "Error: bad template"}}
				})
			},
			stdout: []string{"NOT STARTED  coder.docker version v2", "the push failed: the import failed", "\nnot promoted: the version was not tested\n"},
			stderr: "  | Error: bad template\n",
		},
		{
			why: "without the right nothing is pushed", start: good(), args: []string{"--promote"}, code: 3, active: "v1",
			stage:  func(_ *testing.T, s *stage) { delete(s.env, "ASSAY_PUSH_TOKEN") },
			stdout: []string{"NOT STARTED", "not promoted: "}, stderr: `"tester" may not make versions of this template`,
		},
		{
			why: "a signal during the import", start: good(), args: []string{"--promote"}, code: 130, active: "v1",
			stage:  func(_ *testing.T, s *stage) { s.signalAt(2*time.Second, os.Interrupt) },
			stdout: []string{"NOT STARTED", "not promoted: "}, stderr: "remains, inactive; its import is canceled",
		},
		{
			why: "a signal during the test", start: good(), args: []string{"--promote"}, code: 143, active: "v1",
			stage:  func(_ *testing.T, s *stage) { s.signalAt(20*time.Second, syscall.SIGTERM) },
			stdout: []string{"INTERRUPTED", "not promoted: the test did not pass"},
		},
		{
			why: "nobody can say whether it was promoted when the right is lost", start: good(), args: []string{"--promote"}, code: 5, active: "v1",
			stage: func(_ *testing.T, s *stage) {
				s.at[20*time.Second] = func() {
					pusher, _ := s.UserNamed("pusher")
					s.ChangeUser(pusher.ID, world.UserSpec{SiteRoles: []string{}})
				}
			},
			stdout: []string{"PASSED", "not promoted: ", `"pusher" may not promote versions of this template`},
		},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				_, folder := s.withPusher(t, row.start)
				if row.stage != nil {
					row.stage(t, s)
				}
				o := s.run(runPushArgs(folder, row.args...)...)
				for _, text := range row.stdout {
					o.want(t, row.code, text, row.stderr, row.why)
				}
				s.isActive(t, row.active)
				s.leavesNothing(t)
			})
		})
	}
}

// runDocument is the JSON document of a run as a whole.
func (o outcome) runDocument(t *testing.T) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &document); err != nil {
		t.Fatalf("stdout is no JSON document: %v\n%s", err, o.stdout)
	}
	return document
}

func TestPushTestPromoteAsJSON(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		file := filepath.Join(s.dir, "run.json")
		document := s.run(runPushArgs(folder, "--promote", "-o", "json", "--json", file)...).runDocument(t)
		push, _ := document["push"].(map[string]any)
		promotion, _ := document["promotion"].(map[string]any)
		if promotion["active"] != true || promotion["changed"] != true || push["import"] != "succeeded" || document["exitCode"] != 0.0 {
			t.Errorf("document %v", document)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	})
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.promotes(t, 20*time.Second)
		document := s.run(runPushArgs(folder, "--promote", "-o", "json")...).runDocument(t)
		promotion, _ := document["promotion"].(map[string]any)
		now, _ := promotion["now"].(map[string]any)
		if promotion["active"] != false || now["name"] != "v9" || document["exitCode"] != 5.0 {
			t.Errorf("document %v", document)
		}
	})
}

// lateSignal is a way to Coder on which the signal comes when the import just succeeded.
type lateSignal struct {
	*runner.Runner
	signals chan<- os.Signal
}

func (l *lateSignal) ImportLog(ctx context.Context, version uuid.UUID, after int64) ([]core.LogLine, error) {
	if found, err := l.PublishedVersion(ctx, version); err == nil && found.Import == core.JobSucceeded {
		l.signals <- os.Interrupt
		<-ctx.Done()
	}
	return l.Runner.ImportLog(ctx, version, after)
}

func TestASignalBetweenPushAndTest(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		s.wrap = func(inner ports.CodeRunner) ports.CodeRunner {
			coder, ok := inner.(*runner.Runner)
			if !ok {
				t.Fatalf("the way to Coder is a %T", inner)
			}
			return &lateSignal{coder, s.signals}
		}
		o := s.run(runPushArgs(folder, "--promote", "-o", "json")...)
		o.want(t, 130, `"interrupted before the test"`, "remains, inactive and not tested", "the push went well")
		if strings.Contains(o.stdout+o.stderr, "the push failed") {
			t.Errorf("a push that went well is told to have failed:\n%s%s", o.stdout, o.stderr)
		}
		s.isActive(t, "v1")
	})
}

func TestTheTestHidesTheVariables(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, world.BuildPlan{Run: time.Second, Outcome: world.Fails, Log: "Error: login with hunter2-secret failed"})
		s.written(t, "variables.yaml", "password: hunter2-secret\n")
		s.run(runPushArgs(folder, "--variables-file", filepath.Join(s.dir, "variables.yaml"))...).
			want(t, 1, "FAILED", "Error: login with *** failed", "the build's log can hold them")
	})
}

func TestPromoteWhatWasTested(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.withPusher(t, good())
		template, _ := s.docker(t)
		s.AddVersion(world.VersionSpec{Template: template.ID, Name: "v2", Start: []world.BuildPlan{good()}})
		s.run("run", "--template", "coder.docker", "--version", "v2", "--promote").
			want(t, 0, "promoted coder.docker version v2 (was v1)\n", "", "a version that is there already")
		s.isActive(t, "v2")
		s.forgetState(t)
		s.run("run", "--template", "coder.docker", "--version", "v2", "--promote", "-o", "ndjson").
			want(t, 0, `"PASSED"`, "coder.docker version v2 is active already\n", "the lines are the tests'")
		s.forgetState(t)
		s.run("run", "--template", "coder.podman", "--version", "v2", "--promote").
			want(t, 3, "not promoted: the version was not tested", `no template "podman"`, "there is nothing to promote")
	})
}

func TestRunPushRefusals(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		_, folder := s.withPusher(t, good())
		suite := s.written(t, "suite.yaml", "tests: [{template: coder.docker}]\n")
		for _, row := range []struct {
			args []string
			says string
		}{
			{runPushArgs(folder, "--version", "v1"), "--push: makes the version to test: leave out --version"},
			{runPushArgs(folder, "--template", "coder.podman"), "name one --template"},
			{[]string{"run", "--suite", suite, "--promote"}, "not those of a --suite"},
			{testActive("--promote"), `"active" is active already`},
			{testActive("--name", "v2"), "--name: is for --push DIR"},
			{testActive("--variable", "a=b"), "--variable: is for --push DIR"},
			{[]string{"run", "--push", folder}, "--template is missing"},
			{[]string{"run", "--push", folder + "x", "--template", "coder.docker"}, "--push: open the folder"},
			{runPushArgs(folder, "--parallel", "0"), "--parallel: 0"},
		} {
			s.run(row.args...).want(t, 2, "", row.says, "a mistake is told before anything is made")
		}
		template, _ := s.docker(t)
		if versions, _ := s.Versions(s.tester.ID, template.ID); len(versions) != 1 {
			t.Errorf("%d versions were made", len(versions)-1)
		}
		s.storedNothing(t, "nothing was tested")
	})
}
