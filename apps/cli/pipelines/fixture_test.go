package pipelines_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/apps/cli"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

const (
	repository = "../../.."
	examples   = repository + "/docs/how-to/pipelines"
	// placeholder is the address that the examples name.
	placeholder = "https://coder.example.com"
	// patience bounds each wait for what must happen.
	patience = 90 * time.Second
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"assay": func() { os.Exit(cli.Run(context.Background(), cli.SystemEnv(os.Args[1:]))) }})
}

// hostile is what the script of the template broken prints: commands for GitHub's runner.
const hostile = "::set-output name=verdict::passed\n::error title=forged::forged\n::add-path::/forged"

// site is a Coder deployment, and a folder with a checkout of templates:
//
//	coder.docker  works                      coder.slow   its build takes an hour
//	coder.broken  its startup script fails   coder.stuck  as slow, and canceling it takes seconds
type site struct {
	t             *testing.T
	world         *world.World
	url           string
	tester, admin string
	// checkout is where the steps run, temp the platform's folder for this job alone.
	checkout, temp string
	answered       chan struct{}
	// stderr takes the standard error of processes, nil to have it in their output.
	stderr *os.File
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		t: t, world: world.New(systemclock.New()), checkout: t.TempDir(), temp: t.TempDir(), answered: make(chan struct{}, 1),
	}
	tester := s.world.AddUser(world.UserSpec{Username: "tester"})
	s.tester = s.world.MintToken(tester.ID)
	s.admin = s.world.MintToken(s.world.AddUser(world.UserSpec{Username: "admin", SiteRoles: []string{world.RoleOwner}}).ID)
	const short = 10 * time.Millisecond
	failing := world.FailingAgent("main", short, short)
	failing.Scripts = []world.ScriptLog{{DisplayName: "install", Text: hostile}}
	for name, start := range map[string]world.BuildPlan{
		"docker": {Run: short, Agents: []world.AgentPlan{world.ReadyAgent("main", short, short)}},
		"broken": {Run: short, Agents: []world.AgentPlan{failing}},
		"slow":   {Run: time.Hour},
		"stuck":  {Run: time.Hour, Cancel: 2 * time.Second},
	} {
		template := s.world.AddTemplate(world.TemplateSpec{Organization: tester.Memberships[0].Organization.ID, Name: name})
		s.world.AddVersion(world.VersionSpec{
			Template: template.ID, Name: "v1", Start: []world.BuildPlan{start}, Delete: []world.BuildPlan{{Run: short}},
			Parameters: []world.ParameterSpec{{Name: "region", Default: "us"}},
		})
	}
	s.world.PlanVersions(func(_ string, tar []byte) world.VersionSpec {
		agent := world.ReadyAgent("main", short, short)
		if bytes.Contains(tar, []byte("# broken")) {
			agent = failing
		}
		slow := time.Duration(bytes.Count(tar, []byte("# slow import"))) * time.Hour
		return world.VersionSpec{
			Import: world.ImportPlan{Run: short + slow}, Delete: []world.BuildPlan{{Run: short}},
			Start: []world.BuildPlan{{Run: short, Agents: []world.AgentPlan{agent}}},
		}
	})
	coder := coderd.New(s.world, systemclock.New())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		coder.ServeHTTP(w, r)
		select {
		case s.answered <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	s.suite("docker")
	return s
}

// suite has the checkout's suite test a template of the site.
func (s *site) suite(template string) {
	s.t.Helper()
	text := strings.ReplaceAll(readExample(s.t, "suite.yaml"), "coder.docker", "coder."+template)
	s.file(filepath.Join(s.checkout, "suite.yaml"), text, 0o600)
}

// folder puts a template into the folder docker of the checkout. A version that is made of
// it works, is "broken", or has a "slow import".
func (s *site) folder(kind string) {
	s.t.Helper()
	if err := os.Mkdir(filepath.Join(s.checkout, "docker"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.file(filepath.Join(s.checkout, "docker", "main.tf"), "# "+kind+"\n", 0o600)
}

// active is the active version of coder.docker.
func (s *site) active() string {
	s.t.Helper()
	admin, _ := s.world.UserNamed("admin")
	for _, template := range s.world.Templates(admin.ID, admin.Memberships[0].Organization.ID) {
		if template.Name != "docker" {
			continue
		}
		version, err := s.world.TemplateVersion(admin.ID, template.ActiveVersion)
		if err != nil {
			s.t.Fatal(err)
		}
		return version.Name
	}
	s.t.Fatal("there is no template docker")
	return ""
}

func readExample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *site) file(path, text string, mode os.FileMode) string {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// workspaces waits until there are so many.
func (s *site) workspaces(want int) {
	s.t.Helper()
	late := time.After(patience)
	for len(s.world.Live()) != want {
		select {
		case <-s.answered:
		case <-late:
			s.t.Fatalf("there are %d workspaces, want %d", len(s.world.Live()), want)
		}
	}
}

// leavesNothing fails when there is a workspace now.
func (s *site) leavesNothing() {
	s.t.Helper()
	if left := s.world.EveryLive(); len(left) > 0 {
		s.t.Errorf("%d workspaces are left", len(left))
	}
}

// tested fails unless so many workspaces were made.
func (s *site) tested(times int) {
	s.t.Helper()
	if got := len(s.world.All()); got != times {
		s.t.Errorf("%d workspaces were made, want %d", got, times)
	}
}

// environment is what every platform's steps have.
func (s *site) environment(more ...map[string]string) map[string]string {
	env := map[string]string{"HOME": s.t.TempDir(), "PATH": os.Getenv("PATH")}
	for _, m := range more {
		maps.Copy(env, m)
	}
	return env
}

// process is a step that runs.
type process struct {
	t       *testing.T
	command *exec.Cmd
	mu      sync.Mutex
	text    bytes.Buffer
	// wrote holds something after each write that nobody looked for yet.
	wrote chan struct{}
	ended chan struct{}
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.text.Write(b)
	select {
	case p.wrote <- struct{}{}:
	default:
	}
	return n, err
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// start begins a process in the site's checkout, in a process group of its own.
func (s *site) start(env map[string]string, name string, args ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, command: exec.Command(name, args...), wrote: make(chan struct{}, 1), ended: make(chan struct{})}
	p.command.Dir = s.checkout
	for name, value := range env {
		p.command.Env = append(p.command.Env, name+"="+value)
	}
	p.command.Stdout, p.command.Stderr = p, p
	if s.stderr != nil {
		p.command.Stderr = s.stderr
	}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// One that was killed can leave a child that holds its output.
	p.command.WaitDelay = time.Second
	if err := p.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { defer close(p.ended); _ = p.command.Wait() }()
	s.t.Cleanup(func() { _ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) })
	return p
}

// says waits until the process has printed the text.
func (p *process) says(text string) {
	p.t.Helper()
	late := time.After(patience)
	for !strings.Contains(p.output(), text) {
		select {
		case <-p.wrote:
		case <-late:
			p.t.Fatalf("it does not say %q:\n%s", text, p.output())
		}
	}
}

// signal sends a signal to the process alone.
func (p *process) signal(signal os.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// killAll kills the process and those of its group.
func (p *process) killAll() {
	p.t.Helper()
	if err := syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	p.wait()
}

// wait is the exit code, -1 after a signal.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not end:\n%s", p.command.Path, p.output())
	}
	code := p.command.ProcessState.ExitCode()
	p.t.Logf("%s: exit code %d\n%s", p.command, code, p.output())
	return code
}

// want fails unless the process ends with the code and has printed all of this.
func (p *process) want(code int, says ...string) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
	for _, text := range says {
		if !strings.Contains(p.output(), text) {
			p.t.Errorf("it does not say %q", text)
		}
	}
}
