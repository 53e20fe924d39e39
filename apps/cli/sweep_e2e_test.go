package cli_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
)

// left is a tester on a real Coder with a workspace of each kind.
type left struct {
	*trouble
	t       *testing.T
	version uuid.UUID
	// names are those of the workspaces, by kind.
	names map[string]string
}

// make has a user make a workspace of the tester that runs.
func (l *left) make(kind, token, name string) codersdk.Workspace {
	l.t.Helper()
	client := l.bed.Client(token)
	w, err := client.CreateUserWorkspace(l.t.Context(), l.tester.ID.String(), codersdk.CreateWorkspaceRequest{TemplateVersionID: l.version, Name: name})
	if err != nil {
		l.t.Fatal(err)
	}
	l.names[kind] = name
	l.ends(w.LatestBuild.ID)
	return w
}

// ends waits for a build's end by following its log.
func (l *left) ends(build uuid.UUID) {
	l.t.Helper()
	logs, closer, err := l.bed.Client(l.bed.OwnerToken()).WorkspaceBuildLogsAfter(l.t.Context(), build, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer closer.Close()
	for range logs {
		continue
	}
}

func testName() string { return core.WorkspaceName(uuid.New()) }

// sweep runs assay sweep and returns the verdicts and results, by workspace name.
func (l *left) sweep(m *machine, code int, args ...string) map[string]string {
	l.t.Helper()
	r := m.run(append([]string{"sweep", "--older-than", "0s", "--output", "json"}, args...)...)
	if r.code != code {
		l.t.Fatalf("exit code %d, want %d\n%s%s", r.code, code, r.stdout, r.stderr)
	}
	return outcome(r).swept(l.t)
}

// TestSweepOnRealCoder makes one workspace of each kind: only the proven one goes.
func TestSweepOnRealCoder(t *testing.T) {
	bed := testbed.Require(t)
	l := &left{trouble: newTrouble(t, bed, map[string]testbed.Template{
		"passing": testbed.Passing(), "startup-fails": testbed.StartupFails(), "slow-startup": testbed.SlowStartup(),
	}), t: t, names: map[string]string{}}
	pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName("left"), testbed.NoAgent())
	if err != nil {
		t.Fatal(err)
	}
	l.version = pushed.VersionID
	m := l.machine(t, bed.URL)

	proven := l.make("proven", l.tester.Token, testName())
	l.make("foreign", bed.OwnerToken(), testName())
	used := l.make("unsure", l.tester.Token, testName())
	stop, err := bed.Client(bed.OwnerToken()).CreateWorkspaceBuild(t.Context(), used.ID,
		codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	if err != nil {
		t.Fatal(err)
	}
	l.ends(stop.ID)
	l.make("", l.tester.Token, testbed.UniqueName("mine"))
	l.names["retained"] = l.retain(m)
	l.names["claimed"] = l.kill(m)

	got := l.sweep(m, 0)
	for kind, name := range l.names {
		if got[name] != kind {
			t.Errorf("workspace %s is %q, want %q", name, got[name], kind)
		}
	}
	if live, err := bed.LiveWorkspaces(t.Context(), l.tester); err != nil || len(live) != 6 {
		t.Fatalf("%d workspaces, error %v; want six: looking changes nothing", len(live), err)
	}
	if result := m.run("sweep", "--delete"); result.code != 2 {
		t.Errorf("exit code %d, want 2: one flag is not enough", result.code)
	}

	if got := l.sweep(m, 0, "--delete", "--dedicated-owner"); got[l.names["proven"]] != "proven deleted" {
		t.Errorf("the proven one is %q", got[l.names["proven"]])
	}
	live, err := bed.LiveWorkspaces(t.Context(), l.tester)
	if err != nil || len(live) != 5 {
		t.Fatalf("%d workspaces, error %v; want five", len(live), err)
	}
	for _, w := range live {
		if w.ID == proven.ID {
			t.Error("the proven one is left")
		}
	}
	gone, err := bed.Client(bed.OwnerToken()).DeletedWorkspace(t.Context(), proven.ID)
	if err != nil || gone.LatestBuild.Transition != codersdk.WorkspaceTransitionDelete || gone.LatestBuild.Job.Status != codersdk.ProvisionerJobSucceeded {
		t.Errorf("its latest build is %s/%s, error %v; want a delete that succeeded", gone.LatestBuild.Transition, gone.LatestBuild.Job.Status, err)
	}
	if result := m.run("resume"); result.code != 0 {
		t.Errorf("exit code %d, want 0: the claimed test goes on\n%s%s", result.code, result.stdout, result.stderr)
	}
}

// retain keeps the workspace of a failed test.
func (l *left) retain(m *machine) string {
	l.t.Helper()
	result := m.run(l.args("startup-fails", "--keep-on-failure")...)
	var document struct {
		Tests []struct {
			Workspace struct{ Name, State string }
		}
	}
	err := json.Unmarshal([]byte(result.stdout), &document)
	if err != nil || len(document.Tests) != 1 || document.Tests[0].Workspace.State != "retained" {
		l.t.Fatalf("the workspace is not kept: %v\n%s%s", err, result.stdout, result.stderr)
	}
	return document.Tests[0].Workspace.Name
}

// kill kills a test whose workspace exists.
func (l *left) kill(m *machine) string {
	l.t.Helper()
	p := m.start(l.args("slow-startup", "--param", "seconds=6")...)
	p.await("WaitingForAgents")
	p.kill()
	live, err := l.bed.LiveWorkspaces(l.t.Context(), l.tester)
	if err != nil {
		l.t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range l.names {
		known[name] = true
	}
	for _, w := range live {
		if !known[w.Name] {
			return w.Name
		}
	}
	l.t.Fatal("the killed test left nothing")
	return ""
}

// TestSweepKilledOnRealCoder kills a sweep while its delete build runs: assay resume goes
// on with it.
func TestSweepKilledOnRealCoder(t *testing.T) {
	bed := testbed.Require(t)
	l := &left{trouble: newTrouble(t, bed, nil), t: t, names: map[string]string{}}
	pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName("left"), testbed.NoAgent())
	if err != nil {
		t.Fatal(err)
	}
	l.version = pushed.VersionID
	l.make("proven", l.tester.Token, testName())

	d := testbed.NewDoor(t, bed.URL)
	m := l.machine(t, d.URL)
	held := d.Hold(testbed.AfterEffect, testbed.RequestTo(http.MethodPost, "/builds"))
	p := m.start("sweep", "--older-than", "0s", "--delete", "--dedicated-owner")
	<-held.Reached
	p.kill()
	held.Drop()
	if got := l.sweep(m, 0); got[l.names["proven"]] != "claimed" && len(got) != 0 {
		t.Errorf("it is %q, want claimed, or gone", got[l.names["proven"]])
	}
	if result := m.run("resume"); result.code != 3 {
		t.Errorf("exit code %d, want 3: a record without a verdict\n%s%s", result.code, result.stdout, result.stderr)
	}
	if live, err := bed.LiveWorkspaces(t.Context(), l.tester); err != nil || len(live) != 0 {
		t.Errorf("%d workspaces are left, error %v", len(live), err)
	}
	if result := m.run("list"); result.code != 0 || result.stdout == "" || result.stdout[:8] != "No tests" {
		t.Errorf("its record is left: %s", result.stdout)
	}
}
