package pipelines_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const actionFolder = repository + "/.github/actions/assay"

// actionName is how workflows name the action.
const actionName = "assay-dev/assay/.github/actions/assay@v1"

// action is what action.yml says.
type action struct {
	Inputs map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description string }
	Runs    struct {
		Using, Main, Post string
		PostIf            string `yaml:"post-if"`
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(actionFolder, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// githubJob plays GitHub's runner for the steps of a job: it sets the environment, and
// reads the files and the commands of steps.
type githubJob struct {
	*site
	env map[string]string
	// secrets and variables are the repository's.
	secrets, variables map[string]string
	// outputs are those of the steps that have an ID.
	outputs map[string]map[string]string
	posts   []*githubAction
	// killed jobs may lack what they were to keep.
	killed bool
}

func newGitHubJob(s *site) *githubJob {
	return &githubJob{
		site:    s,
		env:     map[string]string{"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKSPACE": s.checkout, "RUNNER_TEMP": s.temp},
		secrets: map[string]string{"ASSAY_TESTER_TOKEN": s.tester, "ASSAY_PUSH_TOKEN": s.admin},
		// What GitHub keeps for the repository.
		variables: map[string]string{"CODER_URL": s.url},
		outputs:   map[string]map[string]string{},
	}
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z]+)\.([A-Za-z_]+)(?:\.outputs\.([a-z-]+))? *\}\}`)

// evaluate puts in what the expressions of a text name.
func (j *githubJob) evaluate(text string) string {
	j.t.Helper()
	return expression.ReplaceAllStringFunc(text, func(one string) string {
		part := expression.FindStringSubmatch(one)
		var value string
		var known bool
		switch part[1] {
		case "secrets":
			value, known = j.secrets[part[2]]
		case "vars":
			value, known = j.variables[part[2]]
		case "runner":
			value, known = j.temp, part[2] == "temp"
		case "steps":
			value, known = j.outputs[part[2]][part[3]]
			known = known || j.killed
		}
		if !known {
			j.t.Errorf("%s names nothing", one)
		}
		return value
	})
}

// files makes the files of a step and names them in its environment.
func (j *githubJob) files() map[string]string {
	files, dir := map[string]string{}, j.t.TempDir()
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"} {
		files[name] = j.file(filepath.Join(dir, name), "", 0o600)
	}
	return files
}

// script is a step with a script. The runner sends signals to the shell alone.
func (j *githubJob) script(text string) *process {
	j.t.Helper()
	path := j.file(filepath.Join(j.t.TempDir(), "script.sh"), text, 0o600)
	return j.start(j.environment(j.env, j.files()), "bash", "--noprofile", "--norc", "-eo", "pipefail", path)
}

// githubAction is a step with the action.
type githubAction struct {
	job  *githubJob
	node string
	with map[string]string
	main *process
	// mainFiles and postFiles are the files of the two steps.
	mainFiles, postFiles map[string]string
}

// requireNode is the program that runs actions. Tests need it in CI.
func requireNode(t *testing.T) string {
	t.Helper()
	if os.Getenv("ASSAY_E2E") != "1" {
		t.Skip("needs Node.js: set ASSAY_E2E=1")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("%v: .ci/setup installs it", err)
	}
	return node
}

// action begins the main step of the action. Its end is the job's: see post.
func (j *githubJob) action(with map[string]string) *githubAction {
	j.t.Helper()
	node, described := requireNode(j.t), readAction(j.t)
	a := &githubAction{job: j, node: node, with: map[string]string{}, mainFiles: j.files(), postFiles: j.files()}
	for name, input := range described.Inputs {
		a.with[name] = input.Default
	}
	for name, value := range with {
		if _, known := described.Inputs[name]; !known {
			j.t.Errorf("the action has no input %q", name)
		}
		a.with[name] = value
	}
	a.main = a.step(described.Runs.Main, a.mainFiles, nil)
	j.posts = append(j.posts, a)
	return a
}

func (a *githubAction) step(file string, files, state map[string]string) *process {
	a.job.t.Helper()
	path, err := filepath.Abs(filepath.Join(actionFolder, file))
	if err != nil {
		a.job.t.Fatal(err)
	}
	inputs := map[string]string{}
	for name, value := range a.with {
		inputs["INPUT_"+strings.ToUpper(name)] = value
	}
	return a.job.start(a.job.environment(a.job.env, inputs, files, state), a.node, path)
}

// post is the end of the job.
func (a *githubAction) post() *process {
	a.job.t.Helper()
	state := map[string]string{}
	for name, value := range a.kept() {
		state["STATE_"+name] = value
	}
	return a.step(readAction(a.job.t).Runs.Post, a.postFiles, state)
}

func (a *githubAction) outputs() map[string]string {
	return readEntries(a.job.t, a.mainFiles["GITHUB_OUTPUT"])
}

// kept is what the main step keeps for the post step.
func (a *githubAction) kept() map[string]string {
	return readEntries(a.job.t, a.mainFiles["GITHUB_STATE"])
}

// readEntries reads a file of names and values as the runner does.
func readEntries(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] == "" {
			continue
		}
		name, delimiter, found := strings.Cut(lines[i], "<<")
		if !found {
			t.Fatalf("%s: no entry begins with %q", path, lines[i])
		}
		var value []string
		for i++; i < len(lines) && lines[i] != delimiter; i++ {
			value = append(value, lines[i])
		}
		entries[name] = strings.Join(value, "\n")
	}
	return entries
}

// obeyed are the commands in an output that the runner obeys.
func obeyed(output string) []string {
	var commands []string
	stopped := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case strings.HasPrefix(line, "::stop-commands::"):
			stopped = strings.TrimPrefix(line, "::stop-commands::")
		case strings.HasPrefix(line, "::") || strings.Contains(line, "##["):
			commands = append(commands, line)
		}
	}
	return commands
}

// workflow is the part of a workflow that the examples use.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Env   map[string]string
		Steps []workflowStep
	}
}

type workflowStep struct {
	ID, Name, If, Run, Uses string
	With, Env               map[string]string
}

// provided are actions that need GitHub itself; the site has what they bring.
var provided = map[string]bool{"actions/checkout@v4": true, "actions/setup-go@v5": true}

// readWorkflow reads a workflow of one job.
func readWorkflow(t *testing.T, name string) (env map[string]string, steps []workflowStep) {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(readExample(t, name)), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 1 || len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Fatalf("%s has %d jobs with the permissions %v", name, len(w.Jobs), w.Permissions)
	}
	for _, job := range w.Jobs {
		env, steps = job.Env, job.Steps
	}
	return env, steps
}

// run runs a workflow. disturb, if not nil, is called with each process of the step
// "Test"; the exit codes are by the names of the steps.
func (j *githubJob) run(name string, disturb func(*process)) map[string]int {
	j.t.Helper()
	env, steps := readWorkflow(j.t, name)
	for name, value := range env {
		j.env[name] = j.evaluate(value)
	}
	codes, failed := map[string]int{}, false
	for _, step := range steps {
		if step.If != "" && step.If != "always()" {
			j.t.Errorf("if: %q: this test does not know it", step.If)
		}
		if failed && step.If == "" {
			continue
		}
		code := j.step(step, disturb)
		failed = failed || code != 0
		codes[step.Name] = code
	}
	for i, a := range j.posts {
		codes[fmt.Sprintf("post %d", i)] = a.post().wait()
	}
	return codes
}

func (j *githubJob) step(step workflowStep, disturb func(*process)) int {
	j.t.Helper()
	if strings.Contains(step.Run, "${{") {
		j.t.Errorf("%s: a script with an expression runs whatever its value says", step.Name)
	}
	with := maps.Clone(step.With)
	for name, value := range with {
		with[name] = j.evaluate(value)
	}
	var p *process
	switch {
	case step.Run != "":
		p = j.script(step.Run)
	case step.Uses == actionName:
		a := j.action(with)
		defer func() { j.outputs[step.ID] = a.outputs() }()
		p = a.main
	case step.Uses == "actions/upload-artifact@v4":
		for _, path := range strings.Fields(with["path"]) {
			j.keeps([]string{path}, !j.killed)
		}
		return 0
	case provided[step.Uses]:
		return 0
	default:
		j.t.Fatalf("uses: %q: this test does not know it", step.Uses)
	}
	if step.Name == "Test" && disturb != nil {
		disturb(p)
	}
	code := p.wait()
	for _, command := range obeyed(p.output()) {
		if !strings.HasPrefix(command, "::add-mask::") && !strings.HasPrefix(command, "::error title=assay") {
			j.t.Errorf("%s: the runner obeys %s", step.Name, command)
		}
	}
	return code
}
