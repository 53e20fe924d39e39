package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/fakes/world"
)

// suiteFile writes a suite file and returns its path.
func (s *stage) suiteFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(s.dir, "suite.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// zoo has a template for each way a test can go.
func (s *stage) zoo() {
	s.template("good", good())
	s.template("nobuild", world.BuildPlan{Run: time.Second, Outcome: world.Fails})
	s.template("noquota", world.BuildPlan{Run: time.Second, Outcome: world.Fails, ErrorCode: "INSUFFICIENT_QUOTA"})
	s.template("slow", world.BuildPlan{Run: time.Hour})
}

// told is what a JSON document tells of one test.
type told struct {
	Case, Verdict, Reason string
	Attempt, ExitCode     int
	Met                   *bool
}

// tests are those of a run's JSON document.
func (o outcome) tests(t *testing.T) []told {
	t.Helper()
	var run struct{ Tests []told }
	if err := json.Unmarshal([]byte(o.stdout), &run); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	return run.Tests
}

func TestSeveralVersionsAndTemplates(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		began := s.clock.Now()
		o := s.run("run", "--template", "coder.good", "--template", "coder.nobuild", "--version", "active", "--version", "v1")
		o.want(t, 1, "coder.nobuild active  FAILED   BuildFailed", "coder.good v1: create  CreatingWorkspace", "each version of each template is tested, and each line names its test")
		o.want(t, 1, "4 tests in 38s: 2 passed, 2 failed; exit code 1", "", "they run side by side")
		if took := s.clock.Now().Sub(began); took >= 2*38*time.Second {
			t.Errorf("they took %v", took)
		}
		s.leavesNothing(t)
	})
}

func TestSuite(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		file := s.suiteFile(t, `
name: nightly
defaults: {timeout: 2m}
tests:
  - template: coder.good
  - {name: bad image, template: coder.nobuild, version: v1, expect: BuildFailed}
  - {name: any failure, template: coder.nobuild, expect: TemplateFailed}
  - {name: wrong reason, template: coder.nobuild, expect: NoAgents}
  - {name: fails no more, template: coder.good, versions: [v1], expect: BuildFailed}
  - {name: too slow, template: coder.slow, expect: DeadlineExceeded}
`)
		o := s.run("run", "--suite", file, "--output", "json")
		o.want(t, 1, `"name": "nightly"`, "", "two went otherwise than expected")
		yes, no := true, false
		want := []told{
			{Case: "coder.good active", Verdict: "PASSED", Reason: "Succeeded"},
			{Case: "bad image", Verdict: "FAILED", Reason: "BuildFailed", Met: &yes},
			{Case: "any failure", Verdict: "FAILED", Reason: "BuildFailed", Met: &yes},
			{Case: "wrong reason", Verdict: "FAILED", Reason: "BuildFailed", Met: &no, ExitCode: 1},
			{Case: "fails no more", Verdict: "PASSED", Reason: "Succeeded", Met: &no, ExitCode: 1},
			{Case: "too slow", Verdict: "FAILED", Reason: "DeadlineExceeded", Met: &yes},
		}
		if diff := cmp.Diff(want, o.tests(t)); diff != "" {
			t.Error(diff)
		}
		s.leavesNothing(t)
	})
}

func TestSuiteMultiplies(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", world.BuildPlan{Run: time.Second, Agents: good().Agents}, func(v *world.VersionSpec) {
			v.Parameters = []world.ParameterSpec{{Name: "region", Default: "us", Options: []string{"us", "eu"}}, {Name: "size", Default: "1"}}
		})
		file := s.suiteFile(t, `
defaults: {parameters: {size: 2}}
tests:
  - name: docker
    template: coder.docker
    parameterSets:
      eu: {region: eu}
      mars: {region: mars}
`)
		o := s.run("run", "--suite", file, "--version", "v1", "--version", "active", "--output", "json")
		want := []told{
			{Case: "docker v1 eu", Verdict: "PASSED", Reason: "Succeeded"},
			{Case: "docker v1 mars", Verdict: "FAILED", Reason: "ParametersInvalid", ExitCode: 1},
			{Case: "docker active eu", Verdict: "PASSED", Reason: "Succeeded"},
			{Case: "docker active mars", Verdict: "FAILED", Reason: "ParametersInvalid", ExitCode: 1},
		}
		if diff := cmp.Diff(want, o.tests(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestBadSuites gives files that describe nothing. Nothing is stored or asked.
func TestBadSuites(t *testing.T) {
	for _, row := range []struct{ why, file, want string }{
		{"nothing in it", "", "is empty: it must list tests"},
		{"no tests", "name: x", "tests: must list at least one test"},
		{"no YAML", "tests: [", "line 1"},
		{"an unknown field", "tests:\n  - {template: coder.docker, parametres: {a: b}}", "line 2: field parametres is not known in a test"},
		{"an unknown field of the file", "test: []", "line 1: field test is not known"},
		{"two documents", "tests: [{template: coder.docker}]\n---\ntests: []", "holds a second document"},
		{"no template", "tests: [{version: active}]", "tests[0]: template: "},
		{"a template without its organization", "tests: [{template: docker}]", `tests[0]: template: "docker": `},
		{"two kinds of versions", "tests: [{template: coder.docker, version: a, versions: [b]}]", "version and versions"},
		{"a version that can be none", "tests: [{template: coder.docker, version: a b}]", `tests[0]: version: "a b": `},
		{"a time without a unit", "tests: [{template: coder.docker, timeout: 90}]", `line 1: "90": a duration must be a number with a unit`},
		{"a time that is too short", "tests: [{template: coder.docker, timeout: 5s}]", `tests[0]: timeout: "5s": must be`},
		{"half a second", "tests: [{template: coder.docker, timeout: 60500ms}]", "must be whole seconds"},
		{"waits longer than the whole test", "defaults: {inputsTimeout: 20m}\ntests: [{template: coder.docker}]", `tests[0]: inputsTimeout: "20m0s": must be`},
		{"a verdict that is none", "tests: [{template: coder.docker, expect: WaitingForBuild}]", `expect: "WaitingForBuild" is no verdict`},
		{"a parameter without a value", "tests: [{template: coder.docker, parameters: {region: }}]", `the value of the parameter "region" must be a text`},
		{"a parameter that is named twice", "tests: [{template: coder.docker, parameters: {a: b, a: c}}]", `the parameter "a" is named twice`},
		{"parameters that are none", "tests: [{template: coder.docker, parameters: token=abc}]", "parameters must be names with values"},
		{"a text in place of a list", "tests: hunter2", "line 1: a value is of the wrong kind"},
		{"a name of two lines", `tests: [{name: "a\n::error::b", template: coder.docker}]`, "tests[0]: name: must be one line"},
		{"a set's name of two lines", `tests: [{template: coder.docker, parameterSets: {"a\nb": {}}}]`, "tests[0]: parameterSets: a name must be one line"},
		{"a list as a parameter", "tests: [{template: coder.docker, parameters: {a: [b]}}]", "write a list as JSON in quotes"},
		{"a parameter without a name", `tests: [{template: coder.docker, parameters: {"": secret}}]`, `tests[0]: parameters: `},
		{"the same test twice", "tests: [{template: coder.docker}, {template: coder.Docker}]", `"coder.Docker active" is asked for twice`},
		{"too many", "tests: [{template: coder.docker, versions: [" + strings.Repeat("v,", 1001) + "]}]", "1001 tests are asked for, 1000 at most"},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.run("run", "--suite", s.suiteFile(t, row.file)).want(t, 2, "", row.want, row.why)
				s.storedNothing(t, row.why)
			})
		})
	}
}

func TestParallelIsBounded(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		most := 0
		for second := range 200 {
			s.at[time.Duration(second)*time.Second] = func() { most = max(most, len(s.Live())) }
		}
		file := s.suiteFile(t, "tests: [{template: coder.good, parameterSets: {a: {}, b: {}, c: {}, d: {}}}]")
		s.run("run", "--suite", file, "--parallel", "2").want(t, 0, "4 passed", "", "two after two")
		if most != 2 {
			t.Errorf("%d workspaces existed at once, want 2", most)
		}
	})
}

func TestFailFast(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		file := s.suiteFile(t, "tests: [{template: coder.slow}, {template: coder.nobuild}, {template: coder.good}]")
		o := s.run("run", "--suite", file, "--parallel", "2", "--fail-fast", "--output", "json")
		o.want(t, 1, "", "", "the one that failed decides")
		want := []told{
			{Case: "coder.slow active", Verdict: "STOPPED", Reason: "WaitingForBuild", ExitCode: 3},
			{Case: "coder.nobuild active", Verdict: "FAILED", Reason: "BuildFailed", ExitCode: 1},
			{Case: "coder.good active", Verdict: "NOT STARTED", ExitCode: 3},
		}
		if diff := cmp.Diff(want, o.tests(t)); diff != "" {
			t.Error(diff)
		}
		s.leavesNothing(t)
		s.run("list").want(t, 0, "BuildFailed", "", "what failed keeps its record")
	})
}

func TestRetryInconclusive(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		quota := world.BuildPlan{Run: time.Second, Outcome: world.Fails, ErrorCode: "INSUFFICIENT_QUOTA"}
		bad := s.template("flaky", quota)
		better := s.AddVersion(world.VersionSpec{
			Template: bad.Template, Name: "v2", Start: []world.BuildPlan{good()}, Delete: []world.BuildPlan{{Run: time.Second}},
		})
		admin := s.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}})
		s.at[500*time.Millisecond] = func() {
			if err := s.Promote(admin.ID, bad.Template, better.ID); err != nil {
				t.Error(err)
			}
		}
		file := s.suiteFile(t, "tests: [{template: coder.flaky}, {template: coder.noquota}, {template: coder.nobuild, expect: BuildFailed}]")
		o := s.run("run", "--suite", file, "--retry-inconclusive", "2", "--output", "json")
		o.want(t, 3, "", "", "one stays inconclusive")
		yes := true
		want := []told{
			{Case: "coder.flaky active", Verdict: "INCONCLUSIVE", Reason: "BuildFailed", ExitCode: 3, Attempt: 1},
			{Case: "coder.flaky active", Verdict: "PASSED", Reason: "Succeeded", Attempt: 2},
			{Case: "coder.noquota active", Verdict: "INCONCLUSIVE", Reason: "BuildFailed", ExitCode: 3, Attempt: 1},
			{Case: "coder.noquota active", Verdict: "INCONCLUSIVE", Reason: "BuildFailed", ExitCode: 3, Attempt: 2},
			{Case: "coder.noquota active", Verdict: "INCONCLUSIVE", Reason: "BuildFailed", ExitCode: 3, Attempt: 3},
			{Case: "coder.nobuild active", Verdict: "FAILED", Reason: "BuildFailed", Met: &yes},
		}
		if diff := cmp.Diff(want, o.tests(t)); diff != "" {
			t.Error(diff)
		}
		s.forgetState(t)
		file = s.suiteFile(t, "tests: [{template: coder.noquota, expect: BuildFailed}]")
		s.run("run", "--suite", file).want(t, 3, "not as expected: it should have been BuildFailed", "", "a quota says nothing about the version")
		s.forgetState(t)
		file = s.suiteFile(t, "tests: [{template: coder.noquota, expect: Inconclusive}]")
		s.run("run", "--suite", file, "--retry-inconclusive", "2").want(t, 0, "as expected: Inconclusive", "", "what is expected is not repeated")
	})
}

// TestSignalStopsAll ends a run while some tests run and others wait for their turn.
func TestSignalStopsAll(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		s.signalAt(10*time.Second, syscall.SIGTERM)
		o := s.run("run", "--template", "coder.nobuild", "--template", "coder.slow", "--template", "coder.good",
			"--version", "active", "--parallel", "2", "--output", "json")
		s.leavesNothing(t)
		want := []told{
			{Case: "coder.nobuild active", Verdict: "FAILED", Reason: "BuildFailed", ExitCode: 1},
			{Case: "coder.slow active", Verdict: "INTERRUPTED", Reason: "WaitingForBuild", ExitCode: 143},
			{Case: "coder.good active", Verdict: "INTERRUPTED", Reason: "WaitingForBuild", ExitCode: 143},
		}
		if diff := cmp.Diff(want, o.tests(t)); diff != "" {
			t.Error(diff)
		}
		o.want(t, 143, "", "", "interrupted is worse than failed")
	})
}

func TestLines(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		s.width = 80
		o := s.run("run", "--template", "coder.good", "--template", "coder.nobuild", "--version", "v1", "--output", "ndjson")
		var got []told
		for line := range strings.Lines(o.stdout) {
			var one told
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			got = append(got, one)
		}
		want := []told{
			{Case: "coder.nobuild v1", Verdict: "FAILED", Reason: "BuildFailed", ExitCode: 1},
			{Case: "coder.good v1", Verdict: "PASSED", Reason: "Succeeded"},
		}
		if diff := cmp.Diff(want, got); diff != "" || o.code != 1 {
			t.Errorf("exit code %d: %s", o.code, diff)
		}
		s.forgetState(t)
		s.signalAt(5*time.Second, syscall.SIGINT)
		o = s.run("run", "--template", "coder.slow", "--template", "coder.good", "--version", "v1", "--parallel", "1", "--output", "ndjson")
		o.want(t, 130, `"verdict":"INTERRUPTED"`, "", "a line tells what the exit code tells")
		o.want(t, 130, `"verdict":"NOT STARTED"`, "", "a test that has not begun has a line too")
		if strings.Contains(o.stderr, "\x1b[J") {
			t.Error("lines are redrawn between the documents")
		}
	})
}

// TestReportFile writes a report beside the verdict.
func TestReportFile(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		path := filepath.Join(s.dir, "report.json")
		args := []string{"run", "--template", "coder.good", "--version", "v1", "--json"}
		s.run(append(args, filepath.Join(s.dir, "missing", "report.json"))...).
			want(t, 2, "", "name a file in a folder that exists", "it is told before anything is started")
		s.run(append(args, s.dir)...).want(t, 2, "", "is no regular file", "a folder is not replaced")
		s.storedNothing(t, "the flag is wrong")
		s.run(append(args, path)...).want(t, 0, "PASSED", "", "the text stays")
		content, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(content), `"verdict": "PASSED"`) {
			t.Errorf("%v: %s", err, content)
		}
		if left, _ := filepath.Glob(filepath.Join(s.dir, ".report*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestNamesAreOneLine gives a parameter whose name would speak to a pipeline.
func TestNamesAreOneLine(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		o := s.run(testActive("--param", "a\n::set-output name=x::y\x1b[2J=1")...)
		o.want(t, 1, "ParametersInvalid: ", "", "the parameter is unknown")
		for line := range strings.Lines(o.stdout + o.stderr) {
			if strings.HasPrefix(line, "::") || strings.Contains(line, "\x1b") {
				t.Errorf("a line of its own: %q", line)
			}
		}
	})
}

// TestSignalKeepsWhatIsKept stops a run in which one test has failed and is kept.
func TestSignalKeepsWhatIsKept(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		s.signalAt(10*time.Second, syscall.SIGINT)
		o := s.run("run", "--template", "coder.nobuild", "--template", "coder.slow", "--version", "v1", "--keep-on-failure")
		o.want(t, 130, "retained", "", "one failed before the signal")
		if len(s.live()) != 1 {
			t.Errorf("workspaces %v, want the one that is kept", s.live())
		}
		s.run("list").want(t, 0, "retained", "", "its record names it")
	})
}

// TestOneSignalTwice is stopped as GNU timeout does it: it signals the process, and then
// the group that it is in.
func TestOneSignalTwice(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.zoo()
		s.signalAt(10*time.Second, syscall.SIGTERM)
		s.signalAt(10*time.Second+time.Millisecond, syscall.SIGTERM)
		s.run("run", "--template", "coder.slow", "--version", "v1").want(t, 143, ": deleted", "", "the cleanup is waited for")
		s.leavesNothing(t)
	})
}
