package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-dev/assay/apps/cli"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

const (
	address = "https://coder.example.com"
	// testID is the ID that every run makes of the stage's randomness, and
	// workspaceName the name that follows from it.
	testID        = "61737361-7920-4465-b374-206279746573"
	workspaceName = "ktt-6173736179204465b37420627974"
)

// stage is a Coder deployment in memory with a tester and a template, and the place
// where assay runs against it. It lives in a synctest bubble: only the virtual clock
// lets time pass, and it does whenever everybody waits.
type stage struct {
	*world.World
	t       *testing.T
	clock   *clock.Clock
	tester  world.User
	token   string
	env     map[string]string
	dir     string
	signals chan os.Signal
	width   int
	// at are the things that happen at a time after assay began.
	at map[time.Duration]func()
	// runs counts the runs: each is another process.
	runs int
	// killAt is when the next run ends without doing anything more, 0 for never.
	killAt time.Duration
	// around, if it is set, wraps what assay dials.
	around func(ports.Dialer) ports.Dialer
	// stdout takes the verdict of the next run instead of its outcome.
	stdout io.Writer
	// wrap stands between the next run and Coder; nil for nothing.
	wrap func(ports.CodeRunner) ports.CodeRunner
}

func onStage(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		s := &stage{
			World: world.New(virtual), t: t, clock: virtual, dir: dir,
			signals: make(chan os.Signal, 2), at: map[time.Duration]func(){},
		}
		s.tester = s.AddUser(world.UserSpec{Username: "tester"})
		s.token = s.MintToken(s.tester.ID)
		s.env = map[string]string{
			"HOME": dir, "CODER_URL": address, "CODER_SESSION_TOKEN": s.token,
		}
		f(t, s)
	})
}

// template adds a template with one version, which is active.
func (s *stage) template(name string, start world.BuildPlan, more ...func(*world.VersionSpec)) world.TemplateVersion {
	template := s.AddTemplate(world.TemplateSpec{Organization: s.tester.Memberships[0].Organization.ID, Name: name})
	spec := world.VersionSpec{
		Template: template.ID, Name: "v1", Active: true, Start: []world.BuildPlan{start},
		Delete: []world.BuildPlan{{Queue: time.Second, Run: 4 * time.Second}},
	}
	for _, change := range more {
		change(&spec)
	}
	return s.AddVersion(spec)
}

// good is a start build whose agent gets ready.
func good() world.BuildPlan {
	return world.BuildPlan{
		Queue: time.Second, Run: 20 * time.Second,
		Agents: []world.AgentPlan{world.ReadyAgent("main", 2*time.Second, 10*time.Second)},
	}
}

// outcome is what a run of assay left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run executes assay to its end, with time passing as fast as nobody has anything to
// do.
func (s *stage) run(args ...string) outcome {
	s.t.Helper()
	directory := runner.NewDirectory()
	directory.Put(address, s.World)
	var stdout, stderr lockedBuffer
	s.runs++
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	if s.killAt > 0 {
		s.at[s.killAt] = kill
		s.killAt = 0
	}
	env := cli.Env{
		Args: args, Stdout: &stdout, Stderr: &stderr, GOOS: "linux", Signals: s.signals,
		LookupEnv: func(name string) (string, bool) { value, ok := s.env[name]; return value, ok },
		Clock:     s.clock,
		Random:    randomness(s.runs % 10),
		Process:   "process 1",
		Dial:      s.dialer(directory.Dial),
	}
	if s.width > 0 {
		columns := s.width
		env.TerminalSize = func() (int, int) { return columns, 24 }
	}
	if s.around != nil {
		env.Dial = s.around(env.Dial)
	}
	if s.stdout != nil {
		env.Stdout, s.stdout = s.stdout, nil
	}
	for after, call := range s.at {
		s.clock.AfterFunc(after, call)
	}
	clear(s.at)
	done := make(chan int, 1)
	go func() { done <- cli.Run(ctx, env) }()
	for {
		synctest.Wait()
		select {
		case code := <-done:
			return outcome{code, stdout.String(), stderr.String()}
		default:
		}
		next, ok := s.clock.NextTimer()
		if !ok {
			s.t.Fatalf("assay waits for nothing\nstdout: %s\nstderr: %s", stdout.String(), stderr.String())
		}
		if s.clock.Monotonic() > 24*time.Hour {
			s.t.Fatalf("assay does not end\nstdout: %s\nstderr: %s", stdout.String(), stderr.String())
		}
		s.clock.AdvanceTo(next)
	}
}

// dialer puts what wraps the next run around its connection.
func (s *stage) dialer(dial ports.Dialer) ports.Dialer {
	wrap := s.wrap
	s.wrap = nil
	if wrap == nil {
		return dial
	}
	return func(connection core.Connection) (ports.CodeRunner, error) {
		inner, err := dial(connection)
		if err != nil {
			return nil, err
		}
		return wrap(inner), nil
	}
}

// randomness is what a process reads as random: its own number, the bytes that a test's ID
// is made of, then other bytes for each ID that follows.
func randomness(process int) io.Reader {
	var text strings.Builder
	fmt.Fprintf(&text, "process number %dassay test bytes", process)
	for i := range 1000 {
		fmt.Fprintf(&text, "%06d-process-%d", i, process)
	}
	return &lockedReader{reader: strings.NewReader(text.String())}
}

// lockedReader is read by the program's goroutines.
type lockedReader struct {
	mu     sync.Mutex
	reader io.Reader
}

func (r *lockedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader.Read(p)
}

// want fails unless the run ended with the code and its streams say what they must.
func (o outcome) want(t *testing.T, code int, stdout, stderr string, why string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) {
		t.Errorf("exit code %d, want %d with %q and %q: %s\nstdout:\n%s\nstderr:\n%s",
			o.code, code, stdout, stderr, why, o.stdout, o.stderr)
	}
}

// document is the JSON document of a run's only test, or of a test that is shown.
func (o outcome) document(t *testing.T) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &document); err != nil {
		t.Fatalf("stdout is no JSON document: %v\n%s", err, o.stdout)
	}
	if tests, ok := document["tests"].([]any); ok {
		if len(tests) != 1 {
			t.Fatalf("%d tests are told of, want 1\n%s", len(tests), o.stdout)
		}
		document, _ = tests[0].(map[string]any)
	}
	return document
}

// live lists the workspaces that still exist.
func (s *stage) live() []string {
	var names []string
	for _, workspace := range s.Live() {
		names = append(names, workspace.Name)
	}
	return names
}

func (s *stage) stateFile() string {
	return filepath.Join(s.dir, ".local", "state", "assay", "assay.db")
}

// leavesNothing fails when a workspace of the tester still exists.
func (s *stage) leavesNothing(t *testing.T) {
	t.Helper()
	if live := s.live(); len(live) > 0 {
		t.Errorf("workspaces %v are left", live)
	}
}

// forgetState removes the state file: every run of a stage has the same ID.
func (s *stage) forgetState(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Dir(s.stateFile())); err != nil {
		t.Fatal(err)
	}
}

// signalAt sends a signal to the next run, so long after it began.
func (s *stage) signalAt(after time.Duration, signal os.Signal) {
	s.at[after] = func() { s.signals <- signal }
}

func (s *stage) storedNothing(t *testing.T, why string) {
	t.Helper()
	if _, err := os.Stat(s.stateFile()); err == nil {
		t.Errorf("a state file was made: %s", why)
	}
	if live := s.live(); len(live) > 0 {
		t.Errorf("workspaces %v were made: %s", live, why)
	}
}

// lockedBuffer is a buffer that the program's goroutines share.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
