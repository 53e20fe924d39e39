package pipelines_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onDocker are inputs that test the template docker.
func (j *githubJob) onDocker(more map[string]string) map[string]string {
	with := map[string]string{"url": j.url, "token": j.tester, "template": "coder.docker", "version": "active"}
	maps.Copy(with, more)
	return with
}

func TestActionPasses(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	a := j.action(j.onDocker(nil))
	a.main.want(0, "PASSED  coder.docker version v1")
	out := a.outputs()
	var tests []string
	if err := json.Unmarshal([]byte(out["tests"]), &tests); err != nil || len(tests) != 1 {
		t.Errorf("tests: %v, %q", err, out["tests"])
	}
	report, err := os.ReadFile(out["report"])
	if err != nil || !strings.Contains(string(report), tests[0]) {
		t.Errorf("the report does not tell of the test: %v\n%s", err, report)
	}
	if out["exit-code"] != "0" || out["verdict"] != "passed" {
		t.Errorf("outputs %v", out)
	}
	if diff := cmp.Diff([]string{"::add-mask::" + j.tester}, obeyed(a.main.output())); diff != "" {
		t.Errorf("commands of a pass (-want +got):\n%s", diff)
	}
	if said := strings.Replace(a.main.output(), "::add-mask::"+j.tester, "", 1); strings.Contains(said, j.tester) {
		t.Error("the token is printed")
	}
	a.post().want(0, "left nothing")
	j.leavesNothing()
}

// TestActionObeysNoTemplate tests a template whose script prints commands for the runner.
func TestActionObeysNoTemplate(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	a := j.action(j.onDocker(map[string]string{"template": "coder.broken"}))
	a.main.want(1, "FAILED  coder.broken version v1", "::error title=forged::forged")
	commands := obeyed(a.main.output())
	if len(commands) != 2 || !strings.HasPrefix(commands[1], "::error title=assay%3A coder.broken active::AgentStartError: ") {
		t.Errorf("the runner obeys %q", commands)
	}
	if out := a.outputs(); out["verdict"] != "failed" || out["exit-code"] != "1" {
		t.Errorf("outputs %v", out)
	}
	a.post().want(0)
	j.leavesNothing()
}

// TestActionAfterAKill kills everything at once, so that the test's lease stands.
func TestActionAfterAKill(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	a := j.action(j.onDocker(map[string]string{"template": "coder.slow"}))
	j.killRun(a)
	if len(j.world.Live()) != 1 {
		t.Fatalf("workspaces %v, want the one that the kill left", j.world.Live())
	}
	a.post().want(0, "workspace ktt-", "deleted", "Nothing is left.")
	j.leavesNothing()
}

// killRun kills the action and assay while there is a workspace.
func (j *githubJob) killRun(a *githubAction) {
	j.t.Helper()
	j.workspaces(1)
	pid, err := strconv.Atoi(a.kept()["pid"])
	if err != nil {
		j.t.Fatal(err)
	}
	a.main.killAll()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		j.t.Fatal(err)
	}
}

func TestActionWithoutItsState(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	a := j.action(j.onDocker(map[string]string{"template": "coder.slow", "owner": "tester"}))
	j.killRun(a)
	if err := os.RemoveAll(filepath.Dir(a.kept()["state"])); err != nil {
		t.Fatal(err)
	}
	p := a.post()
	sweep := "assay sweep --url " + j.url + " --owner tester --older-than 2h"
	p.want(1, "are gone", sweep)
	if commands := obeyed(p.output()); len(commands) != 1 || !strings.HasPrefix(commands[0], "::error title=assay%3A a workspace can still exist::") {
		t.Errorf("annotations %q", commands)
	}
	summary, err := os.ReadFile(a.postFiles["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.Contains(string(summary), sweep) {
		t.Errorf("the summary lacks the way out: %v\n%s", err, summary)
	}
}

// TestActionEndsBeforeATest kills the run during the import of what it pushed.
func TestActionEndsBeforeATest(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	j.folder("slow import")
	a := j.action(j.onDocker(map[string]string{"push": "docker", "version": "", "push-token": j.admin}))
	a.main.says("inactive; Coder imports it")
	a.main.killAll()
	a.post().want(0, "ended before any test began")
	j.tested(0)
}

// TestActionBesideItself has two steps of a job: neither touches the other's tests.
func TestActionBesideItself(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	slow := j.action(j.onDocker(map[string]string{"template": "coder.slow"}))
	j.workspaces(1)
	quick := j.action(j.onDocker(nil))
	quick.main.want(0)
	quick.post().want(0)
	if len(j.world.Live()) != 1 {
		t.Errorf("the other step's workspace is gone")
	}
	slow.main.signal(syscall.SIGINT)
	slow.main.want(130)
	if out := slow.outputs(); out["verdict"] != "interrupted" {
		t.Errorf("outputs %v", out)
	}
	slow.post().want(0)
	j.leavesNothing()
}

// TestActionAfterAnOrphanEndsByItself has the assay that outlived its step be gone when
// the post step is about to end it.
func TestActionAfterAnOrphanEndsByItself(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	a := j.action(j.onDocker(map[string]string{"template": "coder.slow"}))
	j.workspaces(1)
	a.main.killAll()
	j.env["NODE_OPTIONS"] = "--require=" + j.file(filepath.Join(t.TempDir(), "gone.cjs"), tooLate, 0o600)
	a.post().want(0, "workspace ktt-", "deleted", "Nothing is left.")
	j.leavesNothing()
}

// tooLate has each process end right before it is sent a signal.
const tooLate = `
const kill = process.kill.bind(process)
process.kill = (pid) => {
  kill(pid, 'SIGKILL')
  throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH', syscall: 'kill' })
}
`

// TestActionWritesOneStream has assay say things to the end on both of its streams: the
// runner reads the action's two as they come, so commands that assay shows are held by
// the words around them only in the same one.
func TestActionWritesOneStream(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	var err error
	if j.stderr, err = os.Create(filepath.Join(t.TempDir(), "stderr")); err != nil {
		t.Fatal(err)
	}
	defer j.stderr.Close()
	j.env["LAST"] = "::error::forged"
	a := j.action(j.onDocker(map[string]string{"assay-path": j.stub("4", "3", "[]")}))
	a.main.want(4, "argument <run>", "::error::forged")
	p := a.post()
	p.want(0, "argument <resume>", "::error::forged")
	for _, command := range obeyed(a.main.output() + p.output()) {
		if strings.Contains(command, "forged") {
			t.Errorf("the runner obeys %q", command)
		}
	}
	if stray, err := os.ReadFile(j.stderr.Name()); err != nil || len(stray) > 0 {
		t.Errorf("error %v; on the standard error:\n%s", err, stray)
	}
}

// stub is an assay that tells how it is called, and ends as the environment says.
const stub = `#!/bin/sh
printf 'argument <%s>\n' "$@" >&2
env | sed -n 's/^\(INPUT_.*\|CODER_.*\|ASSAY_PUSH.*\)/environment <\1>/p' >&2
if [ -n "$LAST" ]; then echo "$LAST" >&2; fi
case "$1" in
  run)
    if [ -z "$NOT_BEGUN" ]; then for a; do case "$a" in --state=*) : >"${a#--state=}" ;; esac; done; fi
    exit "$RUN_CODE" ;;
  resume) exit "$RESUME_CODE" ;;
  list) printf '%s' "$LISTED" ;;
esac
`

func (j *githubJob) stub(runCode, resumeCode, listed string) string {
	j.env["RUN_CODE"], j.env["RESUME_CODE"], j.env["LISTED"] = runCode, resumeCode, listed
	return j.file(filepath.Join(j.t.TempDir(), "assay"), stub, 0o700)
}

func TestActionHandsTheInputsOn(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	if err := os.Mkdir(filepath.Join(j.checkout, "-templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	j.file(filepath.Join(j.checkout, "ca.pem"), "", 0o600)
	j.file(filepath.Join(j.checkout, "values.yaml"), "", 0o600)
	a := j.action(map[string]string{
		"url": j.url, "token": " " + j.tester + "\n", "push-token": j.admin, "template": "$(touch x)", "param": "a=$b\nc='d e'\n",
		"owner": "--debug", "push": "-templates", "variables-file": "values.yaml", "promote": "true", "parallel": "8", "retry-inconclusive": "0", "timeout": "1h30m",
		"ca-file": "ca.pem", "artifacts": "out/logs", "junit": "out/junit.xml", "html": "out/pages/run.html", "assay-path": j.stub("0", "0", "[]"),
	})
	a.main.want(0)
	var arguments, environment []string
	for line := range strings.Lines(a.main.output()) {
		if text, ok := strings.CutPrefix(line, "argument <"); ok {
			arguments = append(arguments, strings.TrimSuffix(text, ">\n"))
		} else if text, ok := strings.CutPrefix(line, "environment <"); ok {
			environment = append(environment, strings.TrimSuffix(text, ">\n"))
		}
	}
	folder := filepath.Dir(a.kept()["state"])
	want := []string{
		"run", "--url=" + j.url, "--ca-file=ca.pem", "--template=$(touch x)", "--param=a=$b", "--param=c='d e'", "--owner=--debug",
		"--push=-templates", "--variables-file=values.yaml", "--promote", "--parallel=8", "--retry-inconclusive=0", "--timeout=1h30m",
		"--artifacts=out/logs", "--junit=out/junit.xml", "--html=out/pages/run.html",
		"--state=" + folder + "/state.db", "--json=" + folder + "/report.json",
	}
	if diff := cmp.Diff(want, arguments); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	slices.Sort(environment)
	if diff := cmp.Diff([]string{"ASSAY_PUSH_TOKEN=" + j.admin, "CODER_SESSION_TOKEN=" + j.tester}, environment); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if out := a.outputs(); out["report"] != "" || out["tests"] != "[]" {
		t.Errorf("a report that is not there is put out: %v", out)
	}
	for _, made := range []string{"out", "out/pages"} {
		if _, err := os.Stat(filepath.Join(j.checkout, made)); err != nil {
			t.Error(err)
		}
	}
	if !strings.HasPrefix(folder, j.temp) {
		t.Errorf("the state is in %s, not in the job's own folder", folder)
	}
}

func TestActionExplainsItsEnd(t *testing.T) {
	t.Parallel()
	requireNode(t)
	for _, row := range []struct {
		why, run, resume, listed string
		verdict                  string
		post                     int
		says                     string
	}{
		{"a crash, or a refusal after the records were opened", "2", "3", `[]`, "usage", 0, "Nothing is left."},
		{"a crash that left something", "2", "4", `[{"workspace":{"name":"ktt-1","state":"unknown"}}]`, "usage", 1, "ktt-1"},
		{"a wrapper whose program was killed", "137", "4", `[{"workspace":{"name":"ktt-1","state":"exists"}}]`, "killed", 1, "ktt-1"},
		{"a wrapper that failed", "125", "3", `[]`, "killed", 0, "Nothing is left."},
		{"a version is at fault", "1", "4", "", "failed", 0, "left nothing"},
		{"nothing was judged", "3", "", "", "inconclusive", 0, "left nothing"},
		{"the version is not promoted", "5", "", "", "not-promoted", 0, "left nothing"},
		{"terminated", "143", "", "", "interrupted", 0, "left nothing"},
		{"a leak that the end of the job heals", "4", "3", `[]`, "leak-risk", 0, "Nothing is left."},
		{
			"a leak that stays", "4", "4", `[{"workspace":{"name":"ktt-1","state":"exists","message":"50%\nsee"}}]`,
			"leak-risk", 1, "workspace ktt-1: 50%25%0Asee",
		},
		{"a record that another process holds", "4", "0", `[{"workspace":{"name":"ktt-1","state":"unknown"}}]`, "leak-risk", 1, "ktt-1"},
		{"what is kept because somebody asked", "4", "0", `[{"workspace":{"name":"ktt-1","state":"retained"}}]`, "leak-risk", 0, "Nothing is left."},
		{"records that cannot be read", "4", "3", ``, "leak-risk", 1, "could not be read"},
		{"an end that nobody knows", "77", "3", `[]`, "killed", 0, "Nothing is left."},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			j := newGitHubJob(newSite(t))
			a := j.action(j.onDocker(map[string]string{"assay-path": j.stub(row.run, row.resume, row.listed)}))
			code, err := strconv.Atoi(row.run)
			if err != nil {
				t.Fatal(err)
			}
			a.main.want(code, "::error title=assay")
			if out := a.outputs(); out["verdict"] != row.verdict || out["exit-code"] != row.run {
				t.Errorf("outputs %v", out)
			}
			a.post().want(row.post, row.says)
		})
	}
}

// TestActionTellsARefusal has assay end with the code of a refusal, which is a crash's too.
func TestActionTellsARefusal(t *testing.T) {
	t.Parallel()
	requireNode(t)
	for _, row := range []struct{ why, notBegun, says, post string }{
		{"no records: no test can have begun", "yes", "nothing was started", "ended before any test began"},
		{"records: one can", "", "or assay crashed", "Nothing is left."},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			j := newGitHubJob(newSite(t))
			j.env["NOT_BEGUN"] = row.notBegun
			a := j.action(j.onDocker(map[string]string{"assay-path": j.stub("2", "3", "[]")}))
			a.main.want(2, row.says)
			if strings.Contains(a.main.output(), "nothing was started") != (row.notBegun != "") {
				t.Errorf("%s: it promises too much or too little", row.why)
			}
			a.post().want(0, row.post)
		})
	}
}

func TestActionRefuses(t *testing.T) {
	t.Parallel()
	requireNode(t)
	const push = "push-token: is for push and promote"
	for _, row := range []struct {
		why  string
		with map[string]string
		says []string
	}{
		{"nothing", map[string]string{"url": "", "token": "", "template": ""}, []string{"url: is missing", "token: is missing", "forks", "template: is missing"}},
		{"no version", map[string]string{"version": ""}, []string{"version: is missing"}},
		{"no scheme", map[string]string{"url": "coder.example.com"}, []string{"url: must begin with https://"}},
		{"a suite and a template", map[string]string{"suite": "suite.yaml"}, []string{"template: does not go with suite"}},
		{"a suite that is not there", map[string]string{"suite": "none.yaml", "template": ""}, []string{"suite: there is no file none.yaml", "check out"}},
		{"a folder that is a file", map[string]string{"push": "suite.yaml", "version": ""}, []string{"push: there is no folder suite.yaml"}},
		{"push and a version", map[string]string{"push": "."}, []string{"version: does not go with push"}},
		{"push for two templates", map[string]string{"push": ".", "version": "", "template": "a.b\na.c"}, []string{"push: makes a version of one template"}},
		{"promotion of two versions", map[string]string{"promote": "true", "version": "a\nb"}, []string{"promote: takes"}},
		{"promotion that is neither", map[string]string{"promote": "yes"}, []string{`promote: must be "true" or "false"`}},
		{"values for nothing", map[string]string{"variables-file": "suite.yaml"}, []string{"variables-file: is for push"}},
		{"a token for nothing", map[string]string{"push-token": "x"}, []string{push}},
		{"a parameter without a name", map[string]string{"param": "a=b\n=hunter2"}, []string{"param: line 2 must be NAME=VALUE"}},
		{"numbers", map[string]string{"parallel": "0", "retry-inconclusive": "eleven"}, []string{"parallel: must be a number from 1 to 100", "retry-inconclusive: must be a number from 0 to 10"}},
		{"a time without a unit", map[string]string{"timeout": "15"}, []string{"timeout: must be a number with a unit"}},
		{"two lines", map[string]string{"junit": "a\nb"}, []string{"junit: must be one line"}},
		{"a program that is not there", map[string]string{"assay-path": "bin/assay"}, []string{"assay-path: bin/assay is no program"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			j := newGitHubJob(newSite(t))
			a := j.action(j.onDocker(row.with))
			a.main.want(2, row.says...)
			if strings.Contains(a.main.output(), "hunter2") {
				t.Error("a value is printed")
			}
			if out := a.outputs(); out["verdict"] != "usage" || out["exit-code"] != "2" {
				t.Errorf("outputs %v", out)
			}
			a.post().want(0, "Nothing was started.")
			if asked := j.world.Requests(); len(asked) > 0 {
				t.Errorf("Coder was asked: %v", asked)
			}
		})
	}
}

func TestActionSaysHowToGetAssay(t *testing.T) {
	t.Parallel()
	requireNode(t)
	j := newGitHubJob(newSite(t))
	j.env["PATH"] = t.TempDir()
	a := j.action(j.onDocker(nil))
	a.main.want(2, "there is no assay in PATH", "go install github.com/assay-dev/assay/apps/cli/cmd/assay@")
}

// TestActionDescribesItself holds action.yml against the code and the page.
func TestActionDescribesItself(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	files, err := filepath.Glob(filepath.Join(actionFolder, "*.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no code: %v", err)
	}
	read, put := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`\b(?:input|flag|lines|list)\('([a-z-]+)'\)`).FindAllStringSubmatch(string(text), -1) {
			read[call[1]] = true
		}
		for _, call := range regexp.MustCompile(`setOutput\('([a-z-]+)'`).FindAllStringSubmatch(string(text), -1) {
			put[call[1]] = true
		}
		if foreign := regexp.MustCompile(`from '([^.n]|n[^o])[^']*'`).FindString(string(text)); foreign != "" {
			t.Errorf("%s imports %s, which the runner does not bring", file, foreign)
		}
	}
	if diff := cmp.Diff(keysOf(a.Inputs), keysOf(read)); diff != "" {
		t.Errorf("inputs (-described +read):\n%s", diff)
	}
	if diff := cmp.Diff(keysOf(a.Outputs), keysOf(put)); diff != "" {
		t.Errorf("outputs (-described +put out):\n%s", diff)
	}
	for name, input := range a.Inputs {
		if input.Description == "" || input.Required != (name == "url" || name == "token") {
			t.Errorf("%s: required: %v, %q", name, input.Required, input.Description)
		}
	}
	page, err := os.ReadFile(filepath.Join(examples, "..", "pipelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(keysOf(a.Inputs), keysOf(a.Outputs)...) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not tell of %s", name)
		}
	}
	if a.Runs.Using != "node24" || a.Runs.PostIf != "always()" {
		t.Errorf("runs %+v", a.Runs)
	}
	for _, file := range []string{a.Runs.Main, a.Runs.Post} {
		if _, err := os.Stat(filepath.Join(actionFolder, file)); err != nil {
			t.Error(err)
		}
	}
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
