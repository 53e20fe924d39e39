package cli_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world"
)

// TestReaderLeavesInTheMiddle runs assay as a process whose readers close their pipes
// while the agents start: writing to a closed pipe kills a process that does not mind.
func TestReaderLeavesInTheMiddle(t *testing.T) {
	clock := systemclock.New()
	w := world.New(clock)
	tester := w.AddUser(world.UserSpec{Username: "tester"})
	template := w.AddTemplate(world.TemplateSpec{Organization: tester.Memberships[0].Organization.ID, Name: "docker"})
	w.AddVersion(world.VersionSpec{
		Template: template.ID, Name: "v1", Active: true,
		Start: []world.BuildPlan{{Agents: []world.AgentPlan{world.ReadyAgent("main", time.Millisecond, 500*time.Millisecond)}}},
	})
	server := httptest.NewServer(coderd.New(w, clock))
	defer server.Close()
	defer server.CloseClientConnections()

	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	environment := []string{"HOME=" + home, "CODER_URL=" + server.URL, "CODER_SESSION_TOKEN=" + w.MintToken(tester.ID), envSettle + "=1m"}
	run := exec.CommandContext(t.Context(), executable, "run", "--template", "coder.docker", "--version", "active")
	run.Env = environment
	stdout, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	stderr.Close()
	if err := run.Wait(); err != nil {
		t.Errorf("assay ended with %v, want a pass", err)
	}
	if live := w.Live(); len(live) != 0 {
		t.Errorf("%d workspaces are left", len(live))
	}
	list := exec.CommandContext(t.Context(), executable, "list", "--state", filepath.Join(home, ".local", "state", "assay", "assay.db"))
	list.Env = environment
	if output, err := list.CombinedOutput(); err != nil || !strings.Contains(string(output), "Succeeded") {
		t.Errorf("the verdict is not in the state file (error %v):\n%s", err, output)
	}
}
