package server_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/apps/cli"
)

// TestTheCommandOnAServer has a server with a real Coder run what somebody asks for on the
// command line.
func TestTheCommandOnAServer(t *testing.T) {
	bed := testbed.Require(t)
	templates := pushTemplates(t, bed)
	p := newPlace(t, bed, 0)
	server := p.setUp.start(t)
	var stdout, stderr bytes.Buffer
	env := cli.SystemEnv([]string{
		"run", "--server", server.URL, "--template", templates["passing"], "--template", templates["startup-fails"], "--version", "active",
	})
	env.Stdout, env.Stderr, env.TerminalSize = &stdout, &stderr, nil
	env.LookupEnv = func(string) (string, bool) { return "", false }
	code := cli.Run(t.Context(), env)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"PASSED  " + templates["passing"], "FAILED  " + templates["startup-fails"], "AgentStartError", "1 passed, 1 failed"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the verdicts lack %q", want)
		}
	}
	if !strings.Contains(stderr.String(), testbed.StartupFailureLine) {
		t.Error("what the start script printed is not shown")
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s\nserver:\n%s", stdout.String(), stderr.String(), server.log.String())
	}
	p.requireClean(t, 2)
}
