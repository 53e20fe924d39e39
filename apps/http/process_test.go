package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	server "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// envServer has the test binary be assay-server; its value is the settle window, where
// waiting out the real one would take too long.
const envServer = "ASSAY_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if settle, ok := os.LookupEnv(envServer); ok {
		os.Exit(runAsServer(settle))
	}
	os.Exit(m.Run())
}

// runAsServer is assay-server's main function with the engine option that the environment
// asks for.
func runAsServer(settle string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	env := server.SystemEnv(os.Args[1:])
	if settle != "" {
		window, err := time.ParseDuration(settle)
		if err != nil {
			panic(err)
		}
		env.Options = lifecycle.Options{SettleWindow: window}
	}
	return server.Run(ctx, env)
}

// patience ends a test that would hang.
const patience = 3 * time.Minute

// setUp is what servers that belong together share.
type setUp struct {
	// planes is the text of the file of control planes.
	planes string
	// databaseURL is that of a PostgreSQL database; without it each server has an SQLite
	// file in home.
	databaseURL string
	home        string
	settle      time.Duration
	args        []string
}

// process is a running server.
type process struct {
	t       *testing.T
	command *exec.Cmd
	log     lockedBuffer
	ended   chan error
	// URL is where it listens.
	URL string
}

// start starts a server and returns once it listens. It is killed with the test.
func (s *setUp) start(t *testing.T) *process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.home, "planes.yaml")
	if err := os.WriteFile(file, []byte(s.planes), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, ended: make(chan error, 1)}
	p.command = exec.CommandContext(t.Context(), path, append([]string{"--control-planes", file, "--listen", "127.0.0.1:0"}, s.args...)...)
	settle := ""
	if s.settle > 0 {
		settle = s.settle.String()
	}
	p.command.Env = []string{"HOME=" + s.home, envServer + "=" + settle}
	if s.databaseURL != "" {
		p.command.Env = append(p.command.Env, "ASSAY_DATABASE_URL="+s.databaseURL)
	}
	p.command.Stderr = &p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	p.URL = p.address()
	return p
}

// address waits for the line that says where the server listens.
func (p *process) address() string {
	p.t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		lines := bufio.NewScanner(strings.NewReader(p.log.String()))
		for lines.Scan() {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				return line.Address
			}
		}
		select {
		case <-tick.C:
		case err := <-p.ended:
			p.t.Fatalf("the server ended (%v) before it listened:\n%s", err, p.log.String())
		case <-limit:
			p.t.Fatalf("the server does not listen:\n%s", p.log.String())
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the server as kill -9 does, and returns when it is no more.
func (p *process) kill() {
	p.t.Helper()
	p.signal(os.Kill)
	if err := <-p.ended; err == nil {
		p.t.Fatalf("the server ended by itself before it was killed:\n%s", p.log.String())
	}
}

// stop asks the server to end, and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
	case <-time.After(patience):
		p.t.Fatalf("the server does not end:\n%s", p.log.String())
	}
	return p.command.ProcessState.ExitCode()
}

// test is the part of the API's test that the tests look at.
type test struct {
	ID           string
	Phase        core.Phase
	Reason       core.Reason
	OutcomeClass core.OutcomeClass
	Verdict      string
	Finished     bool
	LeakRisk     bool
	Workspace    struct{ State string }
}

// call does a request, and decodes the answer into into unless that is nil.
func (p *process) call(method, path string, body, into any) (status int, problem string) {
	p.t.Helper()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		text = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.URL+path, text)
	if err != nil {
		p.t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.log.String())
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if into != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(answer, into); err != nil {
			p.t.Fatalf("%s %s: %v: %s", method, path, err, answer)
		}
	}
	return response.StatusCode, string(answer)
}

// begin starts a test of the template's active version.
func (p *process) begin(template string, parameters map[string]string) test {
	p.t.Helper()
	body := map[string]any{"template": template, "version": map[string]any{"active": true}}
	var list []map[string]string
	for name, value := range parameters {
		list = append(list, map[string]string{"name": name, "value": value})
	}
	if list != nil {
		body["parameters"] = list
	}
	var begun test
	if status, problem := p.call(http.MethodPost, "/api/v1/tests", body, &begun); status != http.StatusCreated {
		p.t.Fatalf("start a test: %d: %s", status, problem)
	}
	return begun
}

// errStop ends a stream from within.
var errStop = errors.New("enough")

// watch follows a stream of events until on returns an error, and returns that, or why the
// stream ended.
func (p *process) watch(ctx context.Context, path string, after int64, on func(event string, transition core.TestTransition) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return err
	}
	if after >= 0 {
		request.Header.Set("Last-Event-ID", fmt.Sprint(after))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	event := ""
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			var transition core.TestTransition
			if err := json.Unmarshal([]byte(value), &transition); err != nil {
				return err
			}
			if err := on(event, transition); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// awaitEnd watches a test until nothing more happens by itself, over reconnects.
func (p *process) awaitEnd(id string) test {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	err := p.watch(ctx, "/api/v1/tests/"+id+"/events", -1, func(_ string, transition core.TestTransition) error {
		if transition.Stage == core.StageDone.String() {
			return errStop
		}
		return nil
	})
	if !errors.Is(err, errStop) {
		p.t.Fatalf("test %s has no end: %v\n%s", id, err, p.log.String())
	}
	var ended test
	if status, problem := p.call(http.MethodGet, "/api/v1/tests/"+id, nil, &ended); status != http.StatusOK {
		p.t.Fatalf("look at test %s: %d: %s", id, status, problem)
	}
	return ended
}

// lockedBuffer is what a process wrote.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
