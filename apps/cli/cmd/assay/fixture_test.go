package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/apps/cli"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

// program is a command that TestMain knows.
type program string

const (
	// assay is the binary as it is shipped.
	assay program = "assay"
	// impatient is the same but for its engine's timings: it looks more often.
	impatient program = "assay-impatient"
	// repeated runs as many command lines as it is given, in one process: starting one
	// takes most of the time of a run that is refused.
	repeated program = "assay-repeated"
)

// runImpatiently is the main function of impatient.
func runImpatiently() {
	env := cli.SystemEnv(os.Args[1:])
	const often = 50 * time.Millisecond
	env.Options = lifecycle.Options{
		SettleWindow: 2 * time.Second, RunningPoll: often, InputsPoll: often, CleanupPoll: often,
		// Who answers is looked at in each step, as after a minute.
		IdentityMaxAge: time.Nanosecond,
	}
	os.Exit(cli.Run(context.Background(), env))
}

// line is a command line for repeated, and what its environment adds.
type line struct {
	Args []string
	Env  map[string]string
}

// runRepeatedly is the main function of repeated: it reads lines and writes results.
func runRepeatedly() {
	var lines []line
	if err := json.NewDecoder(os.Stdin).Decode(&lines); err != nil {
		panic(err)
	}
	results := make([]result, 0, len(lines))
	for _, line := range lines {
		var stdout, stderr bytes.Buffer
		env := cli.SystemEnv(line.Args)
		env.Stdout, env.Stderr = &stdout, &stderr
		env.LookupEnv = func(name string) (string, bool) {
			if value, ok := line.Env[name]; ok {
				return value, true
			}
			return os.LookupEnv(name)
		}
		code := cli.Run(context.Background(), env)
		results = append(results, result{code, stdout.String(), stderr.String()})
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		panic(err)
	}
}

// trial is a Coder deployment, and a place to run assay against it in a process of its
// own. When the test ends, no workspace may be left.
type trial struct {
	t       *testing.T
	program program
	world   *world.World
	tokens  map[string]string
	// env is the environment of the process; nothing else is handed on to it.
	env map[string]string
	// secrets must not be printed.
	secrets []string
	// creates counts the create requests that came, those that a proxy kept included.
	creates atomic.Int64
	// alerts are called once the standard error shows their text.
	alerts map[string]func(*os.Process)
}

// between is something that stands between assay and Coder.
type between func(coder http.Handler) http.Handler

func newTrial(t *testing.T) *trial {
	t.Helper()
	w, tokens := newWorld()
	tr := &trial{
		t: t, program: assay, world: w, tokens: tokens, secrets: slices.Collect(maps.Values(tokens)),
		env:    map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "CODER_SESSION_TOKEN": tokens["tester"]},
		alerts: map[string]func(*os.Process){},
	}
	t.Cleanup(func() {
		if left := w.EveryLive(); len(left) > 0 {
			t.Errorf("%d workspaces are left", len(left))
		}
	})
	return tr
}

// coder is the deployment behind what stands between, the first one outermost.
func (tr *trial) coder(all ...between) http.Handler {
	var handler http.Handler = coderd.New(tr.world, systemclock.New())
	for _, one := range slices.Backward(all) {
		handler = one(handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCreate(r) {
			tr.creates.Add(1)
		}
		handler.ServeHTTP(w, r)
	})
}

// serve has the handler answer at CODER_URL.
func (tr *trial) serve(handler http.Handler) *httptest.Server {
	server := httptest.NewServer(handler)
	tr.t.Cleanup(server.Close)
	tr.env["CODER_URL"] = server.URL
	return server
}

// quietly keeps a server's complaints about its callers out of the test's output.
func quietly(server *httptest.Server) *httptest.Server {
	server.Config.ErrorLog = log.New(new(bytes.Buffer), "", 0)
	return server
}

func isCreate(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/workspaces")
}

// isLook tells reads and streams of a workspace that is known by its ID.
func isLook(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/api/v2/workspaces/")
}

// file makes a file in the trial's folder.
func (tr *trial) file(name, content string, mode fs.FileMode) string {
	tr.t.Helper()
	path := filepath.Join(tr.env["HOME"], name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		tr.t.Fatal(err)
	}
	return path
}

// result is how a run of assay ended.
type result struct {
	Code           int
	Stdout, Stderr string
}

// run runs the program to its end.
func (tr *trial) run(args ...string) result {
	tr.t.Helper()
	r := tr.execute(tr.program, nil, args...)
	tr.check(args, r)
	return r
}

// repeat runs command lines of which none comes as far as to ask Coder or to store
// anything.
func (tr *trial) repeat(lines []line) []result {
	tr.t.Helper()
	input, err := json.Marshal(lines)
	if err != nil {
		tr.t.Fatal(err)
	}
	all := tr.execute(repeated, input)
	var results []result
	if err := json.Unmarshal([]byte(all.Stdout), &results); err != nil || len(results) != len(lines) {
		tr.t.Fatalf("%d results for %d lines: %v\n%s", len(results), len(lines), err, all.Stderr)
	}
	for i, r := range results {
		tr.check(lines[i].Args, r)
	}
	tr.storedNothing()
	if asked := tr.world.Requests(); len(asked) > 0 {
		tr.t.Errorf("Coder was asked: %v", asked)
	}
	return results
}

func (tr *trial) execute(what program, input []byte, args ...string) result {
	tr.t.Helper()
	ctx, cancel := context.WithTimeout(tr.t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, string(what), args...)
	command.Dir = tr.env["HOME"]
	for name, value := range tr.env {
		command.Env = append(command.Env, name+"="+value)
	}
	var stdout bytes.Buffer
	stderr := &alarm{command: command, alerts: maps.Clone(tr.alerts)}
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		tr.t.Fatalf("run assay: %v", err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.text.String()}
}

// check logs how a run ended and looks for secrets in what it printed.
func (tr *trial) check(args []string, r result) {
	tr.t.Helper()
	tr.t.Logf("assay %.300q: exit code %d\n%s%s", args, r.Code, r.Stdout, r.Stderr)
	for _, secret := range tr.secrets {
		if strings.Contains(r.Stdout+r.Stderr, secret) {
			tr.t.Errorf("a secret was printed: %.300q", args)
		}
	}
}

// alarm is a standard error that is watched. The process writes to it from one
// goroutine, and it is read after that has ended.
type alarm struct {
	text    bytes.Buffer
	command *exec.Cmd
	alerts  map[string]func(*os.Process)
}

func (a *alarm) Write(b []byte) (int, error) {
	n, err := a.text.Write(b)
	for text, call := range a.alerts {
		if strings.Contains(a.text.String(), text) {
			delete(a.alerts, text)
			call(a.command.Process)
		}
	}
	return n, err
}

// want fails unless the run ended with the code and said all of this.
func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	said := r.Stdout + r.Stderr
	lacks := slices.DeleteFunc(slices.Clone(says), func(text string) bool { return strings.Contains(said, text) })
	if r.Code != code || len(lacks) > 0 {
		t.Errorf("exit code %d, want %d; it does not say %q:\n%s", r.Code, code, lacks, said)
	}
}

// storedNothing fails when there is a state file.
func (tr *trial) storedNothing() {
	tr.t.Helper()
	path := filepath.Join(tr.env["HOME"], ".local", "state", "assay", "assay.db")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		tr.t.Errorf("there is a state file: %v", err)
	}
}

// created fails unless Coder was asked so many times to create a workspace.
func (tr *trial) created(times int64) {
	tr.t.Helper()
	if got := tr.creates.Load(); got != times {
		tr.t.Errorf("%d create requests, want %d", got, times)
	}
}

// testActive are the arguments that test the active version of the template docker.
func testActive(more ...string) []string {
	return append([]string{"run", "--template", "coder.docker", "--version", "active"}, more...)
}

// inParallel runs the rows of a table at the same time, named by why they are there.
func inParallel[R any](t *testing.T, rows []R, why func(R) string, check func(t *testing.T, row R)) {
	t.Helper()
	for _, row := range rows {
		t.Run(strings.ReplaceAll(why(row), " ", "-"), func(t *testing.T) {
			t.Parallel()
			check(t, row)
		})
	}
}

// refusal is a command line that is wrong.
type refusal struct {
	why  string
	line line
	says []string
}

// refuse has assay refuse all the lines, each with what it says.
func (tr *trial) refuse(t *testing.T, rows []refusal) {
	t.Helper()
	lines := make([]line, len(rows))
	for i, row := range rows {
		lines[i] = row.line
	}
	for i, r := range tr.repeat(lines) {
		t.Run(strings.ReplaceAll(rows[i].why, " ", "-"), func(t *testing.T) {
			r.want(t, 2, append(rows[i].says, "assay: ", "--help")...)
		})
	}
}

// once calls f for the first request that matches.
func once(matches func(*http.Request) bool, f func()) between {
	return func(coder http.Handler) http.Handler {
		var first sync.Once
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if matches(r) {
				first.Do(f)
			}
			coder.ServeHTTP(w, r)
		})
	}
}
