package cli_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/testbed"
)

// trouble is a tester on a real Coder whose tests are disturbed.
type trouble struct {
	bed       *testbed.Bed
	tester    testbed.User
	templates map[string]string
}

// newTrouble pushes the templates under names of their own.
func newTrouble(t *testing.T, bed *testbed.Bed, templates map[string]testbed.Template) *trouble {
	t.Helper()
	x := &trouble{bed: bed, tester: newUser(t, bed, testbed.UserOptions{Activate: true}), templates: map[string]string{}}
	for name, template := range templates {
		pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName(name), template)
		if err != nil {
			t.Fatal(err)
		}
		x.templates[name] = "coder." + pushed.TemplateName
	}
	return x
}

// machine is a home directory of its own, whose assay talks to Coder at the address.
func (x *trouble) machine(t *testing.T, url string) *machine {
	t.Helper()
	return &machine{t: t, home: t.TempDir(), url: url, token: x.tester.Token}
}

// args are those of a run of a template.
func (x *trouble) args(template string, more ...string) []string {
	return append([]string{"run", "--template", x.templates[template], "--version", "active", "--output", "json"}, more...)
}

// workspace is the tester's only workspace.
func (x *trouble) workspace(t *testing.T) codersdk.Workspace {
	t.Helper()
	found, err := x.bed.Client(x.tester.Token).Workspaces(t.Context(), codersdk.WorkspaceFilter{Owner: codersdk.Me})
	if err != nil || len(found.Workspaces) != 1 {
		t.Fatalf("%d workspaces, error %v; want one", len(found.Workspaces), err)
	}
	return found.Workspaces[0]
}

// slowBuild is a passing template whose build takes a few seconds.
func slowBuild() testbed.Template {
	template := testbed.Passing()
	for name, content := range testbed.SlowBuild().Files {
		template = template.With(name, content)
	}
	return template
}

// stageOfARun is a moment of a run on a real Coder.
type stageOfARun struct {
	name     string
	template string
	args     []string
	// Either a request is held, or the progress says something.
	at      testbed.Moment
	held    func(*http.Request) bool
	says    string
	dropped bool
	// settle is the settle window where the stage needs a short one.
	settle time.Duration
	// After a kill, the verdict that the resumed test must have: one that the run could
	// have had without the kill, if an answer had been lost there.
	reason string
	code   int
	// After SIGINT, the exit code.
	interrupted int
}

func stagesOfARun() []stageOfARun {
	seconds := []string{"--param", "seconds=6"}
	read := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v2/organizations/")
	}
	create, remove := testbed.RequestTo(http.MethodPost, "/workspaces"), testbed.RequestTo(http.MethodPost, "/builds")
	return []stageOfARun{
		{name: "reading the inputs", template: "passing", held: read, reason: "Succeeded", code: 0, interrupted: 130},
		{
			name: "create sent, never arrived", template: "passing", held: create, dropped: true, settle: 3 * time.Second,
			reason: "CreateOutcomeUnknown", code: 3, interrupted: 130,
		},
		{
			name: "create arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: create,
			reason: "Succeeded", code: 0, interrupted: 130,
		},
		{
			name: "building", template: "slow-build", args: seconds, says: "the start build is running",
			reason: "Succeeded", code: 0, interrupted: 130,
		},
		{
			name: "agents starting", template: "slow-startup", args: seconds, says: "WaitingForAgents",
			reason: "Succeeded", code: 0, interrupted: 130,
		},
		{name: "delete sent, never arrived", template: "passing", held: remove, reason: "Succeeded", code: 0, interrupted: 130},
		{
			name: "delete arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: remove,
			reason: "Succeeded", code: 0, interrupted: 130,
		},
		{name: "deleting", template: "passing", says: "the delete build is running", reason: "Succeeded", code: 0, interrupted: 130},
		{name: "cleaning up after a failure", template: "startup-fails", says: "AgentStartError", reason: "AgentStartError", code: 1, interrupted: 1},
	}
}

func troubleTemplates() map[string]testbed.Template {
	return map[string]testbed.Template{
		"passing": testbed.Passing(), "slow-build": slowBuild(), "slow-startup": testbed.SlowStartup(), "startup-fails": testbed.StartupFails(),
	}
}

// reach runs assay up to the stage. The gate is nil where no request is held.
func (s stageOfARun) reach(t *testing.T, x *trouble, m *machine, d *testbed.Door) (*process, *testbed.Gate) {
	t.Helper()
	var held *testbed.Gate
	if s.held != nil {
		held = d.Hold(s.at, s.held)
	}
	p := m.start(x.args(s.template, s.args...)...)
	if held == nil {
		p.await(s.says)
		return p, nil
	}
	select {
	case <-held.Reached:
	case <-time.After(patience):
		t.Fatalf("the request is never sent:\n%s", p.stderr.String())
	}
	return p, held
}

// TestKilledInEachStage kills assay in each stage and has assay resume finish.
func TestKilledInEachStage(t *testing.T) {
	eachStage(t, func(t *testing.T, x *trouble, s stageOfARun) {
		d := testbed.NewDoor(t, x.bed.URL)
		m := x.machine(t, d.URL)
		m.settle = s.settle
		p, held := s.reach(t, x, m, d)
		p.kill()
		if held != nil {
			held.Drop()
		}
		result := m.run("resume", "--output", "json")
		verdicts := result.verdicts(t)
		if len(verdicts) != 1 || result.code != s.code || verdicts[0].Reason != s.reason {
			t.Fatalf("exit code %d, verdicts %+v; want %d and %s\n%s", result.code, verdicts, s.code, s.reason, result.stderr)
		}
		if again := m.run("resume"); again.code != 0 || !strings.Contains(again.stdout, "Nothing was resumed") {
			t.Errorf("a second resume: exit code %d, %s; want nothing to do", again.code, again.stdout)
		}
	})
}

// TestInterruptedInEachStage sends SIGINT in each stage.
func TestInterruptedInEachStage(t *testing.T) {
	eachStage(t, func(t *testing.T, x *trouble, s stageOfARun) {
		d := testbed.NewDoor(t, x.bed.URL)
		m := x.machine(t, d.URL)
		m.settle = s.settle
		p, held := s.reach(t, x, m, d)
		p.signal(syscall.SIGINT)
		p.await("stopping: ")
		switch {
		case s.dropped:
			held.Drop()
		case held != nil:
			held.Open()
		}
		if result := p.wait(); result.code != s.interrupted {
			t.Errorf("exit code %d, want %d\n%s%s", result.code, s.interrupted, result.stdout, result.stderr)
		}
	})
}

// eachStage disturbs a run in each stage, with a tester of its own, and then looks for
// what is left in Coder.
func eachStage(t *testing.T, disturb func(t *testing.T, x *trouble, s stageOfARun)) {
	t.Helper()
	bed := testbed.Require(t)
	shared := newTrouble(t, bed, troubleTemplates())
	t.Run("stages", func(t *testing.T) {
		for _, stage := range stagesOfARun() {
			t.Run(strings.ReplaceAll(stage.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				x := *shared
				x.tester = newUser(t, bed, testbed.UserOptions{Activate: true})
				before := tokensOf(t, bed, x.tester.ID)
				disturb(t, &x, stage)
				requireGone(t, bed, x.tester, before)
			})
		}
	})
}

// requireGone fails the test for a workspace or a token that is left of the user.
func requireGone(t *testing.T, bed *testbed.Bed, user testbed.User, before map[string]bool) {
	t.Helper()
	live, err := bed.LiveWorkspaces(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range live {
		t.Errorf("workspace %s is left, its latest build %s/%s", w.Name, w.LatestBuild.Transition, w.LatestBuild.Job.Status)
	}
	for id := range tokensOf(t, bed, user.ID) {
		if !before[id] {
			t.Errorf("session token %s is left", id)
		}
	}
}

func TestTwoResumesAtOnce(t *testing.T) {
	bed := testbed.Require(t)
	x := newTrouble(t, bed, map[string]testbed.Template{"slow-startup": testbed.SlowStartup()})
	before := tokensOf(t, bed, x.tester.ID)
	m := x.machine(t, bed.URL)
	p := m.start(x.args("slow-startup", "--param", "seconds=6")...)
	p.await("WaitingForAgents")
	p.kill()
	first, second := m.start("resume", "--output", "json"), m.start("resume", "--output", "json")
	results := []ran{first.wait(), second.wait()}
	var resumed int
	for _, result := range results {
		if result.code != 0 {
			t.Errorf("exit code %d, want 0\n%s%s", result.code, result.stdout, result.stderr)
		}
		resumed += len(result.verdicts(t))
	}
	if resumed != 1 {
		t.Errorf("%d of two resumed the test, want one\n%s\n%s", resumed, results[0].stderr, results[1].stderr)
	}
	requireGone(t, bed, x.tester, before)
}

// TestSomebodyElseInTheMiddle has the tester's workspace changed while its agents
// start.
func TestSomebodyElseInTheMiddle(t *testing.T) {
	bed := testbed.Require(t)
	shared := newTrouble(t, bed, map[string]testbed.Template{"slow-startup": testbed.SlowStartup()})
	build := func(ctx context.Context, client *codersdk.Client, w codersdk.Workspace, transition codersdk.WorkspaceTransition) error {
		_, err := client.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
		return err
	}
	for _, row := range []struct {
		name, reason string
		code         int
		change       func(ctx context.Context, client *codersdk.Client, w codersdk.Workspace) error
		why          string
	}{
		{
			"delete", "WorkspaceDeletedExternally", 3,
			func(ctx context.Context, client *codersdk.Client, w codersdk.Workspace) error {
				return build(ctx, client, w, codersdk.WorkspaceTransitionDelete)
			},
			"what is deleted cannot be judged",
		},
		{
			"restart", "WorkspaceChangedExternally", 3,
			func(ctx context.Context, client *codersdk.Client, w codersdk.Workspace) error {
				return build(ctx, client, w, codersdk.WorkspaceTransitionStart)
			},
			"another build is not the one that is tested",
		},
		{
			"rename", "Succeeded", 0,
			func(ctx context.Context, client *codersdk.Client, w codersdk.Workspace) error {
				return client.UpdateWorkspace(ctx, w.ID, codersdk.UpdateWorkspaceRequest{Name: testbed.UniqueName("renamed")})
			},
			"its ID alone is its identity",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			x := *shared
			x.tester = newUser(t, bed, testbed.UserOptions{Activate: true})
			before := tokensOf(t, bed, x.tester.ID)
			m := x.machine(t, bed.URL)
			p := m.start(x.args("slow-startup", "--param", "seconds=8")...)
			p.await("WaitingForAgents")
			if err := row.change(t.Context(), bed.Client(bed.OwnerToken()), x.workspace(t)); err != nil {
				t.Fatal(err)
			}
			result := p.wait()
			if got := result.verdicts(t)[0]; got.Reason != row.reason && !deletedWhileRunning(row.reason, got.Reason) || result.code != row.code {
				t.Errorf("exit code %d, reason %s; want %d, %s: %s\n%s", result.code, got.Reason, row.code, row.reason, row.why, result.stderr)
			}
			requireGone(t, bed, x.tester, before)
		})
	}
}

// deletedWhileRunning allows the other reason that a deletion by somebody else has while
// its build still runs: then the workspace is changed, and not gone yet.
func deletedWhileRunning(want, got string) bool {
	return want == "WorkspaceDeletedExternally" && got == "WorkspaceChangedExternally"
}

// TestCoderGoesAndComesBack stops the server in the middle of a run and starts it
// again.
func TestCoderGoesAndComesBack(t *testing.T) {
	bed := testbed.RequireOwn(t)
	x := newTrouble(t, bed, map[string]testbed.Template{"slow-startup": testbed.SlowStartup()})
	before := tokensOf(t, bed, x.tester.ID)
	p := x.machine(t, bed.URL).start(x.args("slow-startup", "--param", "seconds=6")...)
	p.await("WaitingForAgents")
	if err := bed.StopCoder(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.await("CoderUnavailable")
	if err := bed.StartCoder(t.Context()); err != nil {
		t.Fatal(err)
	}
	result := p.wait()
	if got := result.verdicts(t)[0]; got.Reason != "Succeeded" || result.code != 0 {
		t.Errorf("exit code %d, reason %s; want 0, Succeeded\n%s", result.code, got.Reason, result.stderr)
	}
	requireGone(t, bed, x.tester, before)
}
