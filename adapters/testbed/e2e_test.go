package testbed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"
)

// patience bounds waits for real components; no test measures it.
const patience = 10 * time.Minute

// parentVariable makes this test program run what it names, say where its
// files are, and wait to be killed.
const parentVariable = "ASSAY_TEST_BED_PARENT"

var parents = map[string]func() error{"coder": beParent, "kubernetes": beKubernetesParent}

func TestMain(m *testing.M) {
	if be := parents[os.Getenv(parentVariable)]; be != nil {
		if err := be(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// tenant is a plain member of a bed with its client.
type tenant struct {
	*codersdk.Client
	user User
}

func newTenant(ctx context.Context, bed *Bed) (tenant, error) {
	user, err := bed.CreateUser(ctx, UserOptions{Activate: true})
	if err != nil {
		return tenant{}, err
	}
	return tenant{bed.Client(user.Token), user}, nil
}

// create makes a workspace from the template's active version; pairs are
// parameter names and values.
func (c tenant) create(ctx context.Context, pushed Pushed, pairs ...string) (codersdk.Workspace, error) {
	request := codersdk.CreateWorkspaceRequest{TemplateVersionID: pushed.VersionID, Name: UniqueName("ws")}
	for pair := range slices.Chunk(pairs, 2) {
		request.RichParameterValues = append(request.RichParameterValues,
			codersdk.WorkspaceBuildParameter{Name: pair[0], Value: pair[1]})
	}
	return c.CreateUserWorkspace(ctx, codersdk.Me, request)
}

// await reads the workspace until it is as wanted.
func (c tenant) await(ctx context.Context, id uuid.UUID, want func(codersdk.Workspace) bool) (codersdk.Workspace, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(importPause)
	defer tick.Stop()
	for {
		w, err := c.DeletedWorkspace(ctx, id)
		if err != nil || want(w) {
			return w, err
		}
		select {
		case <-ctx.Done():
			return w, fmt.Errorf("build is %s, agents are %s: %w", w.LatestBuild.Status, agentsOf(w), ctx.Err())
		case <-tick.C:
		}
	}
}

// remove deletes the workspace and waits until it is gone.
func (c tenant) remove(ctx context.Context, id uuid.UUID) error {
	_, err := c.CreateWorkspaceBuild(ctx, id, codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransitionDelete,
	})
	if err != nil {
		return err
	}
	w, err := c.await(ctx, id, buildEnded)
	if err == nil && w.LatestBuild.Status != codersdk.WorkspaceStatusDeleted {
		err = fmt.Errorf("the delete build %s: %s", w.LatestBuild.Status, w.LatestBuild.Job.Error)
	}
	return err
}

func buildEnded(w codersdk.Workspace) bool { return w.LatestBuild.Job.CompletedAt != nil }

// agentsOf is "status/lifecycle" of each agent.
func agentsOf(w codersdk.Workspace) string {
	var all []string
	for _, resource := range w.LatestBuild.Resources {
		for _, agent := range resource.Agents {
			all = append(all, string(agent.Status)+"/"+string(agent.LifecycleState))
		}
	}
	return strings.Join(all, " ")
}

func TestVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract suite and the command line's tests run the same templates")
	}
	bed := Require(t)
	tester, err := newTenant(t.Context(), bed)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name       string
		template   Template
		parameters []string
		build      codersdk.WorkspaceStatus
		agents     string
	}{
		{"passing", Passing(), nil, codersdk.WorkspaceStatusRunning, "connected/ready"},
		{"passing under the classic flow", Passing().Classic(), nil, codersdk.WorkspaceStatusRunning, "connected/ready"},
		{"startup script fails", StartupFails(), nil, codersdk.WorkspaceStatusRunning, "connected/start_error"},
		{"startup script runs into its timeout", StartupTimeout(), nil, codersdk.WorkspaceStatusRunning, "connected/start_timeout"},
		{"startup script still runs", SlowStartup(), nil, codersdk.WorkspaceStatusRunning, "connected/starting"},
		{"build fails", BuildFails(), nil, codersdk.WorkspaceStatusFailed, ""},
		{"no agent", NoAgent(), nil, codersdk.WorkspaceStatusRunning, ""},
		{"agent never connects", AgentNeverConnects(), nil, codersdk.WorkspaceStatusRunning, "timeout/created"},
		{"slow build", SlowBuild(), []string{"seconds", "1"}, codersdk.WorkspaceStatusRunning, ""},
		{"a parameter lets it pass", Parameters(), []string{"project", "x"}, codersdk.WorkspaceStatusRunning, "connected/ready"},
		{
			"a parameter breaks the build", Parameters(),
			[]string{"project", "x", "outcome", "build-fails"},
			codersdk.WorkspaceStatusFailed, "",
		},
		{
			"a parameter breaks the startup script", Parameters().Classic(),
			[]string{"project", "x", "outcome", "startup-fails"},
			codersdk.WorkspaceStatusRunning, "connected/start_error",
		},
		{"a daemon takes the build", NoProvisioner(), nil, codersdk.WorkspaceStatusRunning, "connected/ready"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			pushed, err := bed.PushTemplate(ctx, UniqueName("t"), row.template)
			if err != nil {
				t.Fatal(err)
			}
			w, err := tester.create(ctx, pushed, row.parameters...)
			if err != nil {
				t.Fatal(err)
			}
			w, err = tester.await(ctx, w.ID, func(w codersdk.Workspace) bool {
				return w.LatestBuild.Status == row.build && (row.build == codersdk.WorkspaceStatusFailed || agentsOf(w) == row.agents)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := tester.remove(ctx, w.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoProvisionerWaits(t *testing.T) {
	bed := Require(t)
	tester, err := newTenant(t.Context(), bed)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := bed.PushTemplate(t.Context(), UniqueName("t"), NoProvisioner())
	if err != nil {
		t.Fatal(err)
	}
	w, err := tester.create(t.Context(), pushed, "tag", "absent")
	if err != nil {
		t.Fatal(err)
	}
	build := w.LatestBuild
	if build.Status != codersdk.WorkspaceStatusPending || build.MatchedProvisioners == nil || build.MatchedProvisioners.Count != 0 {
		t.Errorf("build is %s with provisioners %+v, want pending without one", build.Status, build.MatchedProvisioners)
	}
}

func TestFailedImportIsAResult(t *testing.T) {
	bed := Require(t)
	first, err := bed.PushTemplate(t.Context(), UniqueName("t"), NoAgent())
	if err != nil {
		t.Fatal(err)
	}
	second, err := bed.PushVersion(t.Context(), first.TemplateID, ImportFails())
	if err != nil {
		t.Fatal(err)
	}
	if second.Import.Status != codersdk.ProvisionerJobFailed || second.TemplateName != first.TemplateName {
		t.Errorf("got %+v, want a failed import in %s", second, first.TemplateName)
	}
	if _, err := bed.PushTemplate(t.Context(), UniqueName("t"), ImportFails()); err == nil {
		t.Error("a template was made from a failed import")
	}
}

func TestUsers(t *testing.T) {
	bed := Require(t)
	for _, row := range []struct {
		reason  string
		options UserOptions
		status  codersdk.UserStatus
	}{
		{"a plain user is dormant", UserOptions{}, codersdk.UserStatusDormant},
		{"and active on request", UserOptions{Activate: true}, codersdk.UserStatusActive},
		{"a person's login", UserOptions{LoginType: codersdk.LoginTypeGithub, Activate: true}, codersdk.UserStatusActive},
		{
			"with roles", UserOptions{
				Roles: []string{codersdk.RoleAuditor}, OrganizationRoles: []string{codersdk.RoleOrganizationAdmin}, Activate: true,
			}, codersdk.UserStatusActive,
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			made, err := bed.CreateUser(t.Context(), row.options)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := bed.owner().User(t.Context(), made.ID.String())
			if err != nil {
				t.Fatal(err)
			}
			if seen.Status != row.status {
				t.Errorf("status %s, want %s", seen.Status, row.status)
			}
			roles, err := bed.owner().UserRoles(t.Context(), made.ID.String())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(roles.Roles, slices.Concat([]string{}, row.options.Roles)) ||
				!slices.Equal(roles.OrganizationRoles[bed.OrganizationID], slices.Concat([]string{}, row.options.OrganizationRoles)) {
				t.Errorf("roles %+v", roles)
			}
			self, err := bed.Client(made.Token).User(t.Context(), codersdk.Me)
			if err != nil || self.ID != made.ID {
				t.Errorf("the token belongs to %s, %v", self.ID, err)
			}
		})
	}
}

func TestOutage(t *testing.T) {
	bed := RequireOwn(t)
	tester, err := newTenant(t.Context(), bed)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := bed.PushTemplate(t.Context(), "before", Passing())
	if err != nil {
		t.Fatal(err)
	}
	w, err := tester.create(t.Context(), pushed)
	if err != nil {
		t.Fatal(err)
	}
	ready := func(w codersdk.Workspace) bool { return agentsOf(w) == "connected/ready" }
	if _, err := tester.await(t.Context(), w.ID, ready); err != nil {
		t.Fatal(err)
	}
	if err := bed.StopCoder(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tester.Workspace(t.Context(), w.ID); err == nil {
		t.Error("coder answers although it was stopped")
	}
	if err := bed.StartCoder(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tester.await(t.Context(), w.ID, ready); err != nil {
		t.Errorf("the agent after the outage: %v", err)
	}
	if err := tester.remove(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if err := bed.StartCoder(t.Context()); err == nil {
		t.Error("coder was started twice")
	}
}

// A bed is closed while an agent runs and a build sleeps.
func TestCloseLeavesNothing(t *testing.T) {
	bed := RequireOwn(t)
	folder := bed.supervisor.Folder()
	if err := busy(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	if len(processesOf(t, folder)) == 0 {
		t.Fatal("no process of a running bed was found: the check below would prove nothing")
	}
	if err := bed.Close(); err != nil {
		t.Fatal(err)
	}
	assertNothingLeft(t, folder)
}

// The same when the program that runs the bed is killed.
func TestKillLeavesNothing(t *testing.T) {
	skipUnlessE2E(t)
	assertNothingLeft(t, killParent(t, "coder"))
}

// killParent kills a program that runs something, and returns the folder of
// that.
func killParent(t *testing.T, what string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), parentVariable+"="+what)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the parent said nothing")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	return lines.Text()
}

func beParent() error {
	ctx := context.Background()
	bed, err := Start(ctx, Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := busy(ctx, bed); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, bed.supervisor.Folder())
	select {}
}

// busy leaves the bed with a running agent, a script below it, and a build in
// its middle.
func busy(ctx context.Context, bed *Bed) error {
	tester, err := newTenant(ctx, bed)
	if err != nil {
		return err
	}
	for name, want := range map[string]func(codersdk.Workspace) bool{
		"slow-startup": func(w codersdk.Workspace) bool { return agentsOf(w) == "connected/starting" },
		"slow-build":   func(w codersdk.Workspace) bool { return w.LatestBuild.Status == codersdk.WorkspaceStatusStarting },
	} {
		pushed, err := bed.PushTemplate(ctx, name, variants()[name])
		if err != nil {
			return err
		}
		w, err := tester.create(ctx, pushed, "seconds", "1000")
		if err != nil {
			return err
		}
		if _, err := tester.await(ctx, w.ID, want); err != nil {
			return err
		}
	}
	return nil
}

// assertNothingLeft waits until neither files nor processes of a bed are left.
func assertNothingLeft(t *testing.T, folder string) {
	t.Helper()
	tick := time.NewTicker(importPause)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		left := processesOf(t, folder)
		_, err := os.Lstat(folder)
		if len(left) == 0 && errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: processes %q, folder error %v", left, err)
		}
	}
}

// processesOf finds the processes whose environment or arguments name a bed's
// folder, by the system's own list rather than the supervisor's.
func processesOf(t *testing.T, folder string) []string {
	t.Helper()
	const processes = "/proc"
	if _, err := os.Stat(filepath.Join(processes, "self", "environ")); err != nil {
		t.Skip("needs a /proc with the environment of processes")
	}
	var found []string
	all, _ := filepath.Glob(filepath.Join(processes, "[0-9]*"))
	for _, process := range all {
		environment, _ := os.ReadFile(filepath.Join(process, "environ"))
		arguments, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		if bytes.Contains(environment, []byte(folder)) || bytes.Contains(arguments, []byte(folder)) {
			found = append(found, string(bytes.ReplaceAll(arguments, []byte{0}, []byte(" "))))
		}
	}
	return found
}
