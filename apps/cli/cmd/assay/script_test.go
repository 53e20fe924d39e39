package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assay-dev/assay/adapters/systemclock"
	assayserver "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

func TestMain(m *testing.M) {
	// Most tests here wait for processes that wait.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		string(assay): main, string(impatient): runImpatiently, string(repeated): runRepeatedly,
	})
}

// TestScripts runs what a user could have typed. Each script has a Coder deployment of
// its own, over HTTP:
//
//	coder.docker   works              coder.broken  its startup script fails
//	coder.nobuild  its build fails    coder.slow    its build takes an hour
//	coder.kubernetes works too
//
// A version that is pushed works, but for "# no import" and "# no start" in its files.
//
// TESTER_TOKEN, ADMIN_TOKEN and PERSON_TOKEN are tokens of a plain member "tester", a
// site owner "admin" and a person "jane"; CODER_SESSION_TOKEN is the tester's.
//
// "serve" starts an assay server in front of the deployment, with the control planes "main"
// and "other". ASSAY_SERVER is its address. ASSAY_SERVER_TOKEN may test on main, the token
// in server-viewer.token may look at it, and that in server-both.token may test on both.
//
// Beside testscript's commands there are "exits CODE command…", which runs a command
// that must exit with the code, "workspaces N", which waits until there are so many
// workspaces, and "terminate", which sends SIGTERM to what runs in the background.
func TestScripts(t *testing.T) {
	params := scripts()
	params.Dir = "../../testdata/scripts"
	testscript.Run(t, params)
}

// scripts is the stage of a script.
func scripts() testscript.Params {
	return testscript.Params{
		Setup: func(env *testscript.Env) error {
			w, tokens := newWorld()
			d := &deployment{world: w, server: coderd.New(w, systemclock.New()), answered: make(chan struct{}, 1)}
			server := httptest.NewServer(d)
			env.Defer(server.Close)
			env.Values[deploymentKey{}] = d
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CODER_URL", server.URL)
			env.Setenv("CODER_SESSION_TOKEN", tokens["tester"])
			env.Setenv("TESTER_TOKEN", tokens["tester"])
			env.Setenv("ADMIN_TOKEN", tokens["admin"])
			env.Setenv("PERSON_TOKEN", tokens["jane"])
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, negate bool, args []string){
			"exits":      exits,
			"serve":      serve,
			"workspaces": workspaces,
			"terminate":  terminate,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}

type deploymentKey struct{}

// deployment is the Coder deployment of a script.
type deployment struct {
	world  *world.World
	server http.Handler
	// answered holds something after each answer that nobody looked for yet.
	answered chan struct{}
}

func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.server.ServeHTTP(w, r)
	select {
	case d.answered <- struct{}{}:
	default:
	}
}

// newWorld makes the deployment of a script, with tokens by user name.
func newWorld() (w *world.World, tokens map[string]string) {
	w = world.New(systemclock.New())
	tokens = map[string]string{}
	for _, spec := range []world.UserSpec{
		{Username: "tester"},
		{Username: "ci-tester"},
		{Username: "admin", SiteRoles: []string{world.RoleOwner}},
		{Username: "jane", LoginType: "oidc"},
	} {
		tokens[spec.Username] = w.MintToken(w.AddUser(spec).ID)
	}
	const short = 10 * time.Millisecond
	failing := world.FailingAgent("main", short, short)
	failing.Scripts = []world.ScriptLog{{DisplayName: "install", Text: "installing\nno such package: xyzzy"}}
	tester, _ := w.UserNamed("tester")
	for name, start := range map[string]world.BuildPlan{
		"docker": {Run: short, Agents: []world.AgentPlan{world.ReadyAgent("main", short, short)}},

		"kubernetes": {Run: short, Agents: []world.AgentPlan{world.ReadyAgent("main", short, short)}},
		"broken":     {Run: short, Agents: []world.AgentPlan{failing}},
		"nobuild":    {Run: short, Outcome: world.Fails, Log: "Error: no such image: region-eu-secret"},
		"slow":       {Run: time.Hour},
	} {
		template := w.AddTemplate(world.TemplateSpec{Organization: tester.Memberships[0].Organization.ID, Name: name})
		w.AddVersion(world.VersionSpec{
			Template: template.ID, Name: "v1", Start: []world.BuildPlan{start}, Delete: []world.BuildPlan{{Run: short}},
			Parameters: []world.ParameterSpec{{Name: "region", Default: "us"}},
		})
	}
	w.PlanVersions(func(_ string, tar []byte) world.VersionSpec {
		spec := world.VersionSpec{
			Import: world.ImportPlan{Run: short, Log: "Plan: 1 to add, 0 to change, 0 to destroy."},
			Start:  []world.BuildPlan{{Run: short, Agents: []world.AgentPlan{world.ReadyAgent("main", short, short)}}},
			Delete: []world.BuildPlan{{Run: short}},
		}
		switch {
		case bytes.Contains(tar, []byte("# no import")):
			spec.Import.Ends, spec.Import.Log = core.JobFailed, "Error: Unsupported argument"
		case bytes.Contains(tar, []byte("# no start")):
			spec.Start[0].Agents = []world.AgentPlan{failing}
		}
		return spec
	})
	return w, tokens
}

// serve starts an assay server, which ends with the script.
func serve(ts *testscript.TestScript, negate bool, args []string) {
	if negate || len(args) != 0 {
		ts.Fatalf("usage: serve")
	}
	d := ts.Value(deploymentKey{}).(*deployment)
	tester, _ := d.world.UserNamed("tester")
	write := func(name, text string) string {
		path := ts.MkAbs(name)
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	plane := fmt.Sprintf("{url: %q, tokenEnv: CODER_TOKEN, ownerUserID: %s, allowRetain: true}", ts.Getenv("CODER_URL"), tester.ID)
	planes := write("planes.yaml", fmt.Sprintf("controlPlanes:\n  main: %s\n  other: %s\n", plane, plane))
	entries := "tokens:\n"
	for name, planes := range map[string][2]string{"tester": {"main", "tester"}, "viewer": {"main", "viewer"}, "both": {"*", "tester"}} {
		entry, token, err := access.NewEntry(name, planes[0], planes[1], rand.Reader)
		ts.Check(err)
		write("server-"+name+".token", token+"\n")
		if name == "tester" {
			ts.Setenv("ASSAY_SERVER_TOKEN", token)
		}
		entries += entry
	}
	listening := make(chan net.Addr, 1)
	env := assayserver.SystemEnv([]string{
		"--control-planes", planes, "--tokens", write("tokens.yaml", entries), "--database", ts.MkAbs("server.db"), "--listen", "127.0.0.1:0",
	})
	var log lockedBuffer
	env.Stdout, env.Stderr = &log, &log
	variables := map[string]string{"CODER_TOKEN": ts.Getenv("CODER_SESSION_TOKEN")}
	env.LookupEnv = func(name string) (string, bool) {
		value, known := variables[name]
		return value, known
	}
	env.Listen = func(ctx context.Context, address string) (net.Listener, error) {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			listening <- listener.Addr()
		}
		return listener, err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- assayserver.Run(ctx, env) }()
	ts.Defer(func() { stop(); <-ended })
	select {
	case address := <-listening:
		ts.Setenv("ASSAY_SERVER", "http://"+address.String())
	case code := <-ended:
		ended <- code
		ts.Fatalf("the server ended with exit code %d:\n%s", code, log.String())
	}
}

// lockedBuffer takes what a server logs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func exits(ts *testscript.TestScript, negate bool, args []string) {
	if negate || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [arguments]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func workspaces(ts *testscript.TestScript, negate bool, args []string) {
	if negate || len(args) != 1 {
		ts.Fatalf("usage: workspaces N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	d := ts.Value(deploymentKey{}).(*deployment)
	patience := time.After(20 * time.Second)
	for len(d.world.Live()) != want {
		select {
		case <-d.answered:
		case <-patience:
			ts.Fatalf("there are %d workspaces, want %d", len(d.world.Live()), want)
		}
	}
}

func terminate(ts *testscript.TestScript, negate bool, args []string) {
	if negate || len(args) != 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, command := range ts.BackgroundCmds() {
		ts.Check(command.Process.Signal(syscall.SIGTERM))
	}
}
