package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

const demoLong = `Test two versions of a template against a pretended Coder deployment that lives inside
this command: one that works, and one whose startup script fails. Nothing is
installed, no network is used beyond this machine, and nothing is left behind.`

// demoScript is what the failing startup script of the demonstration prints.
const demoScript = `Cloning the repository ...
Installing dependencies ...
npm error code E404
npm error 404 Not Found - GET left-pad-pro
the startup script failed: exit status 1`

// demoVersion is one version of the template of the demonstration.
type demoVersion struct {
	name, about string
	agent       world.AgentPlan
	// code is the exit code that its test must have.
	code int
}

func demoVersions() []demoVersion {
	failing := world.FailingAgent("dev", 500*time.Millisecond, time.Second)
	failing.Scripts = []world.ScriptLog{{DisplayName: "Startup Script", Text: demoScript}}
	return []demoVersion{
		{"good", "It works.", world.ReadyAgent("dev", 500*time.Millisecond, 1500*time.Millisecond), exitPassed},
		{"broken", "Its startup script fails, which \"coder create\" would not notice.", failing, exitFailed},
	}
}

func newDemoCommand(env Env, code *int) *cobra.Command {
	var fast bool
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "See a passing and a failing test, without a Coder deployment",
		Long:    demoLong,
		Example: "  assay demo",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = runDemo(cmd.Context(), env, fast)
			return err
		},
	}
	cmd.Flags().BoolVar(&fast, "fast", false, "let everything take a twentieth of the time")
	return cmd
}

// runDemo tests every version of the demonstration and returns 0 when each had the
// verdict that it must have.
func runDemo(ctx context.Context, env Env, fast bool) (code int, err error) {
	folder, err := os.MkdirTemp("", "assay-demo-")
	if err != nil {
		return 0, failure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	pace := time.Duration(1)
	if fast {
		pace = 20
	}
	deployment, err := startDemo(env, pace)
	if err != nil {
		return 0, failure(err)
	}
	defer func() { err = errors.Join(err, deployment.server.Close()) }()
	env.Dial = coder.Dial

	for _, version := range demoVersions() {
		args := fmt.Sprintf("assay run --template %s --version %s", demoTemplate, version.name)
		fmt.Fprintf(env.Stderr, "\n%s\n$ %s\n", version.about, args)
		plane, err := newPlane(deployment.connection, core.Policy{OwnerUserID: deployment.owner.ID.String()})
		if err != nil {
			return 0, err
		}
		spec := core.Spec{
			Template: demoTemplate, Version: core.VersionSelector{Name: version.name}, TimeoutSeconds: core.DefaultTimeoutSeconds,
		}
		run := testRun{
			batch: batch{plans: []plan{{spec: spec}}, batchOptions: batchOptions{parallel: 1}},
			plane: plane, statePath: filepath.Join(folder, "assay.db"), cleanupTimeout: time.Minute, output: runOutput(outputText),
		}
		got, err := run.run(ctx, env)
		if err != nil {
			return 0, err
		}
		if got != version.code {
			return got, nil
		}
	}
	fmt.Fprintf(env.Stderr, "\nThat was a pretended Coder. For a real one: assay run --help\n")
	return exitPassed, nil
}

// demoTemplate is the template of the demonstration.
const demoTemplate = world.DefaultOrganization + ".webapp"

// demoDeployment is the pretended Coder deployment of the demonstration.
type demoDeployment struct {
	server     *http.Server
	connection core.Connection
	owner      world.User
}

// startDemo serves a pretended Coder deployment at a free port of this machine.
func startDemo(env Env, pace time.Duration) (*demoDeployment, error) {
	w := world.New(env.Clock)
	owner := w.AddUser(world.UserSpec{Username: "tester"})
	template := w.AddTemplate(world.TemplateSpec{Organization: owner.Memberships[0].Organization.ID, Name: "webapp"})
	for _, version := range demoVersions() {
		agent := version.agent
		for i := range agent.Steps {
			agent.Steps[i].After /= pace
		}
		w.AddVersion(world.VersionSpec{
			Template: template.ID, Name: version.name,
			Start:  []world.BuildPlan{{Queue: 400 * time.Millisecond / pace, Run: 1200 * time.Millisecond / pace, Agents: []world.AgentPlan{agent}}},
			Delete: []world.BuildPlan{{Queue: 200 * time.Millisecond / pace, Run: 800 * time.Millisecond / pace}},
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the pretended deployment: %w", err)
	}
	server := &http.Server{Handler: coderd.New(w, env.Clock), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return &demoDeployment{
		server: server, owner: owner,
		connection: core.Connection{URL: "http://" + listener.Addr().String(), Token: core.NewSecret(w.MintToken(owner.ID))},
	}, nil
}
