package coder_test

import (
	"embed"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// TestContract runs the suite over a real Coder server. Pages are short, so that
// lists have several.
func TestContract(t *testing.T) {
	bed := testbed.Require(t)
	d := &deployment{bed: bed, subjects: make(map[porttest.TemplateKind]func() (porttest.Subject, error))}
	porttest.CodeRunner(t, func(*testing.T) porttest.Deployment { return d })
	t.Run("set-up", func(t *testing.T) {
		porttest.SetUp(t, func(*testing.T) porttest.Deployment { return d })
	})
}

// deployment is a test bed as the suite's stage. All rows share it.
type deployment struct {
	bed *testbed.Bed

	mu       sync.Mutex
	subjects map[porttest.TemplateKind]func() (porttest.Subject, error)
}

func (d *deployment) admin() *codersdk.Client { return d.bed.Client(d.bed.OwnerToken()) }

func (d *deployment) runner(t *testing.T, token string) ports.CodeRunner {
	t.Helper()
	runner, err := coder.New(core.Connection{URL: d.bed.URL, Token: core.NewSecret(token)}, coder.WithPageSize(2))
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

func (d *deployment) Admin(t *testing.T) porttest.Account {
	return porttest.Account{
		User:   core.User{ID: d.bed.OwnerID, Username: "owner"},
		Runner: d.runner(t, d.bed.OwnerToken()),
	}
}

func (d *deployment) NewUser(t *testing.T, spec porttest.UserSpec) porttest.Account {
	t.Helper()
	user, err := d.bed.CreateUser(t.Context(), testbed.UserOptions{
		Roles: spec.SiteRoles, OrganizationRoles: spec.OrganizationRoles,
		LoginType: codersdk.LoginType(spec.LoginType), Activate: spec.Status != "",
	})
	if refused, ok := codersdk.AsError(err); ok && spec.LoginType == "none" {
		porttest.Unsupported(t, "service accounts need a license: "+refused.Message)
	}
	if err != nil {
		t.Fatal(err)
	}
	if spec.Status == string(codersdk.UserStatusSuspended) {
		if _, err := d.admin().UpdateUserStatus(t.Context(), user.ID.String(), codersdk.UserStatusSuspended); err != nil {
			t.Fatalf("suspend user: %v", err)
		}
	}
	return porttest.Account{
		User:   core.User{ID: user.ID, Username: user.Name},
		Runner: d.runner(t, user.Token),
	}
}

func (d *deployment) WithBadToken(t *testing.T) ports.CodeRunner { return d.runner(t, "no-such-token") }

func (d *deployment) Unreachable(t *testing.T) ports.CodeRunner {
	t.Helper()
	runner, err := coder.New(core.Connection{URL: "http://127.0.0.1:1", Token: core.NewSecret("token")})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

func (d *deployment) StartBuild(t *testing.T, workspace uuid.UUID, transition core.Transition) uuid.UUID {
	t.Helper()
	build, err := d.admin().CreateWorkspaceBuild(t.Context(), workspace, codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransition(transition),
	})
	if err != nil {
		t.Fatalf("start a %s build: %v", transition, err)
	}
	return build.ID
}

func (d *deployment) RenameWorkspace(t *testing.T, workspace uuid.UUID, name string) {
	t.Helper()
	err := d.admin().UpdateWorkspace(t.Context(), workspace, codersdk.UpdateWorkspaceRequest{Name: name})
	if refused, ok := codersdk.AsError(err); ok && refused.StatusCode() == http.StatusBadRequest {
		porttest.Unsupported(t, "the server does not allow renames: "+refused.Message)
	}
	if err != nil {
		t.Fatalf("rename workspace: %v", err)
	}
}

// Settle reads five times a second: Coder's limit is 512 requests a minute for each
// path and user.
func (d *deployment) Settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for range 600 {
		if done() {
			return
		}
		<-tick.C
	}
	t.Fatalf("gave up waiting for %s", what)
}

//go:embed testdata/*.tf
var terraform embed.FS

func file(name string) string {
	text, err := terraform.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// slow builds for some seconds.
func slow(seconds string) testbed.Template {
	return testbed.NoAgent().With("slow-build.tf", file("slow-build.tf")).
		With("seconds.tf", "locals {\n  seconds = "+seconds+"\n}\n")
}

// active makes the templates whose active version is the one to test.
func active(kind porttest.TemplateKind) testbed.Template {
	switch kind {
	case porttest.Passing:
		return testbed.Passing().With("passing.tf", file("startup.tf"))
	case porttest.StartScriptFails:
		return testbed.StartupFails()
	case porttest.BuildFails:
		return testbed.BuildFails()
	case porttest.NeverConnects:
		return testbed.AgentNeverConnects()
	case porttest.SlowBuild:
		return slow("600")
	case porttest.UncancelableBuild:
		return slow("5").Uncancelable()
	case porttest.ClassicParameters:
		return testbed.NoAgent().With("parameters.tf", file("parameters.tf")).Classic()
	case porttest.DynamicParameters:
		return testbed.NoAgent().With("parameters.tf", file("parameters.tf"))
	case porttest.UnmatchedProvisioner:
		return testbed.NoAgent().With("pool.tf", file("pool.tf"))
	case porttest.NeedsExternalAuth:
		return testbed.ExternalAuth()
	case porttest.ExternalAgent:
		return testbed.NoAgent().With("external-agent.tf", file("external-agent.tf"))
	default:
		return testbed.NoAgent()
	}
}

func (d *deployment) Template(t *testing.T, kind porttest.TemplateKind) porttest.Subject {
	t.Helper()
	d.mu.Lock()
	get := d.subjects[kind]
	if get == nil {
		get = sync.OnceValues(func() (porttest.Subject, error) { return d.push(t, kind) })
		d.subjects[kind] = get
	}
	d.mu.Unlock()
	subject, err := get()
	if err != nil {
		t.Fatalf("push template %s: %v", kind, err)
	}
	return subject
}

func (d *deployment) push(t *testing.T, kind porttest.TemplateKind) (porttest.Subject, error) {
	ctx := t.Context()
	pushed, err := d.bed.PushTemplate(ctx, testbed.UniqueName(string(kind)), active(kind))
	if err != nil {
		return porttest.Subject{}, err
	}
	organization, err := d.admin().Organization(ctx, d.bed.OrganizationID)
	if err != nil {
		return porttest.Subject{}, err
	}
	subject := porttest.Subject{
		OrganizationID: organization.ID, OrganizationName: organization.Name,
		TemplateID: pushed.TemplateID, TemplateName: pushed.TemplateName,
		VersionID: pushed.VersionID, VersionName: pushed.VersionName,
	}
	switch kind {
	case porttest.ImportFails:
		pushed, err = d.bed.PushVersion(ctx, pushed.TemplateID, testbed.ImportFails())
	case porttest.Archived:
		if pushed, err = d.bed.PushVersion(ctx, pushed.TemplateID, testbed.NoAgent()); err == nil {
			err = d.admin().SetArchiveTemplateVersion(ctx, pushed.VersionID, true)
		}
	case porttest.ImportPending:
		var version codersdk.TemplateVersion
		version, err = d.admin().CreateTemplateVersion(ctx, d.bed.OrganizationID, codersdk.CreateTemplateVersionRequest{
			TemplateID: pushed.TemplateID, FileID: pushed.Import.FileID,
			StorageMethod: codersdk.ProvisionerStorageMethodFile, Provisioner: codersdk.ProvisionerTypeTerraform,
			ProvisionerTags: map[string]string{"pool": porttest.PoolNobodyServes},
		})
		pushed.VersionID, pushed.VersionName = version.ID, version.Name
	default:
		// The active version is the one to test.
	}
	subject.VersionID, subject.VersionName = pushed.VersionID, pushed.VersionName
	return subject, err
}
