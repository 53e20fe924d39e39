package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	server "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

// fixture is a server in this process, in front of a pretended Coder on which everything
// takes some milliseconds.
type fixture struct {
	t     *testing.T
	world *world.World
	owner world.User
	// URL is where the server listens, home where its files are.
	URL, home string
	log       lockedBuffer
	stop      func() int
}

const shortly = 20 * time.Millisecond

// startScriptLog is what the start script of the version "broken" prints.
// The line's last sign has what follows read from right to left.
const startScriptLog = "installing\nsecret value: hidden-region\nerror: no such package <b>&\u202e\n"

// serve starts a server with further arguments.
func serve(t *testing.T, args ...string) *fixture {
	t.Helper()
	clock := systemclock.New()
	f := &fixture{t: t, world: world.New(clock), home: t.TempDir()}
	f.owner = f.world.AddUser(world.UserSpec{Username: "tester"})
	f.addTemplate()
	coder := httptest.NewServer(coderd.New(f.world, clock))
	t.Cleanup(coder.Close)
	token := f.write("coder-token", f.world.MintToken(f.owner.ID))
	planes := f.write("planes.yaml", fmt.Sprintf("controlPlanes:\n  main: {url: %q, tokenFile: %q, ownerUserID: %s, allowRetain: true}\n  other: {url: %q, tokenFile: %q, ownerUserID: %s}\n",
		coder.URL, token, f.owner.ID, coder.URL, token, f.owner.ID))

	listening := make(chan net.Addr, 1)
	env := server.SystemEnv(append([]string{"--control-planes", planes, "--database", filepath.Join(f.home, "server.db"), "--listen", "127.0.0.1:0"}, args...))
	env.Stdout, env.Stderr = io.Discard, &f.log
	env.Listen = func(ctx context.Context, address string) (net.Listener, error) {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			listening <- listener.Addr()
		}
		return listener, err
	}
	env.Options = lifecycle.Options{RunningPoll: shortly, InputsPoll: shortly, CleanupPoll: shortly}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int, 1)
	go func() { ended <- server.Run(ctx, env) }()
	select {
	case address := <-listening:
		f.URL = "http://" + address.String()
	case code := <-ended:
		cancel()
		t.Fatalf("the server ended with exit code %d:\n%s", code, f.log.String())
	}
	stopped, code := false, 0
	f.stop = func() int {
		if !stopped {
			cancel()
			stopped, code = true, <-ended
		}
		return code
	}
	t.Cleanup(func() {
		if code := f.stop(); code != 0 {
			t.Errorf("the server ended with exit code %d:\n%s", code, f.log.String())
		}
	})
	return f
}

// addTemplate makes the template coder.webapp, whose version "good" passes, "broken" fails,
// and "slow" takes its time.
func (f *fixture) addTemplate() {
	template := f.world.AddTemplate(world.TemplateSpec{Organization: f.owner.Memberships[0].Organization.ID, Name: "webapp"})
	failing := world.FailingAgent("dev", shortly, shortly)
	failing.Scripts = []world.ScriptLog{{DisplayName: "Startup Script", Text: startScriptLog}}
	parameters := []world.ParameterSpec{
		{Name: "region", Default: "eu", Options: []string{"eu", "us", "hidden-region"}}, {Name: "cpus", Type: "number", Default: "2"},
	}
	for _, version := range []struct {
		name  string
		build time.Duration
		agent world.AgentPlan
	}{
		{"slow", time.Hour, world.ReadyAgent("dev", shortly, shortly)},
		{"broken", shortly, failing},
		{"good", shortly, world.ReadyAgent("dev", shortly, shortly)},
	} {
		f.world.AddVersion(world.VersionSpec{
			Template: template.ID, Name: version.name, Active: version.name == "good", Parameters: parameters,
			Presets: []world.PresetSpec{{Name: "small", Values: map[string]string{"cpus": "1"}}},
			Start:   []world.BuildPlan{{Run: version.build, Agents: []world.AgentPlan{version.agent}}},
			Delete:  []world.BuildPlan{{Run: shortly}},
		})
	}
}

func (f *fixture) write(name, text string) string {
	f.t.Helper()
	path := filepath.Join(f.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// asked is a request.
type asked struct {
	method, path string
	// body is sent as JSON, unless it is a string.
	body   any
	header map[string]string
}

// answered is an answer.
type answered struct {
	status int
	header http.Header
	text   string
}

func (f *fixture) do(a asked) answered {
	f.t.Helper()
	var body io.Reader
	switch b := a.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			f.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(f.t.Context(), a.method, f.URL+a.path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answered{response.StatusCode, response.Header, string(text)}
}

// api calls an operation that must answer with the status, and decodes the answer into into
// unless that is nil.
func (f *fixture) api(method, path string, body any, status int, into any) answered {
	f.t.Helper()
	answer := f.do(asked{method: method, path: "/api/v1" + path, body: body})
	if answer.status != status {
		f.t.Fatalf("%s %s: %d, want %d: %s", method, path, answer.status, status, answer.text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer.text), into); err != nil {
			f.t.Fatalf("%s %s: %v: %s", method, path, err, answer.text)
		}
	}
	return answer
}

// newTest is the body of a request for a test of a version of coder.webapp.
func newTest(version string) map[string]any {
	return map[string]any{"template": "coder.webapp", "version": map[string]any{"name": version}, "controlPlaneRef": "main"}
}

// watcher is the fixture as a process that can be watched.
func (f *fixture) watcher() *process { return &process{t: f.t, URL: f.URL} }

// ended starts a test of the version and waits for its end.
func (f *fixture) ended(version string) test {
	f.t.Helper()
	var begun test
	f.api(http.MethodPost, "/tests", newTest(version), http.StatusCreated, &begun)
	return f.watcher().awaitEnd(begun.ID)
}

// refusedStart starts a server that must not start.
func refusedStart(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	home := t.TempDir()
	planes := filepath.Join(home, "planes.yaml")
	if err := os.WriteFile(planes, []byte("controlPlanes:\n  main: {url: https://coder.example.com, tokenEnv: NONE}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	env := server.SystemEnv(append([]string{"--control-planes", planes}, args...))
	env.Stdout, env.Stderr = &out, &out
	env.LookupEnv = func(name string) (string, bool) { return home, name == "HOME" }
	env.Listen = func(context.Context, string) (net.Listener, error) { return nil, errors.New("it came to listening") }
	return server.Run(t.Context(), env), out.String()
}
