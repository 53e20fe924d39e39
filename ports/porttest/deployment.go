package porttest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Deployment is a Coder deployment on which the suite sets its stage: the
// administration that the CodeRunner port leaves out, and the passing of time.
//
// Methods fail the test when they cannot do what they promise. One that the
// deployment cannot offer at all calls Unsupported with the reason.
type Deployment interface {
	Administration
	// WithBadToken is a CodeRunner whose token Coder does not accept.
	WithBadToken(t *testing.T) ports.CodeRunner
	// Unreachable is a CodeRunner whose requests are never sent: nobody listens at
	// its address.
	Unreachable(t *testing.T) ports.CodeRunner
	// Settle calls done until it reports true, letting the deployment's time pass
	// between two calls: real time, or virtual time. It also lets other goroutines
	// run, as done can wait for what a stream delivers. It bounds the number of
	// calls, and fails the test, naming what, once they are used up. The bound must
	// allow for a build, an agent that starts and an agent that Coder gives up on.
	Settle(t *testing.T, what string, done func() bool)
}

// Administration is what only people with rights over a deployment can do.
type Administration interface {
	// Admin is a user with the site role "owner", the same one on every call.
	Admin(t *testing.T) Account
	// NewUser makes a user, member of the organization that Template uses.
	NewUser(t *testing.T, spec UserSpec) Account
	// Template is a template of the kind. Rows share it: they never change it.
	Template(t *testing.T, kind TemplateKind) Subject
	// StartBuild has Admin start a build (start or stop, of the version that the
	// workspace is at) and returns its ID.
	StartBuild(t *testing.T, workspace uuid.UUID, transition core.Transition) uuid.UUID
	// RenameWorkspace has Admin rename a workspace.
	RenameWorkspace(t *testing.T, workspace uuid.UUID, name string)
}

// Account is a user and a CodeRunner with the user's rights.
type Account struct {
	User   core.User
	Runner ports.CodeRunner
}

// UserSpec says which user NewUser makes.
type UserSpec struct {
	// Status is "active" or "suspended"; empty leaves what Coder makes by itself.
	// A CodeRunner of a user that is not active is not used by the suite.
	Status string
	// LoginType is "password" or "none"; empty means "password".
	LoginType string
	// SiteRoles and OrganizationRoles are given in addition to what every user has.
	SiteRoles         []string
	OrganizationRoles []string
}

// Subject names a template and one of its versions.
type Subject struct {
	OrganizationID   uuid.UUID
	OrganizationName string
	TemplateID       uuid.UUID
	TemplateName     string
	VersionID        uuid.UUID
	VersionName      string
}

// TemplateKind says what happens when a workspace is made from a template. Unless
// a kind says otherwise its version is the active one, was imported, asks for no
// parameter, uses the dynamic parameter flow, and its delete builds succeed.
type TemplateKind string

// The kinds of templates.
const (
	// Passing: one agent, in no time connected and ready. Its start script prints
	// StartScriptOutput.
	Passing TemplateKind = "passing"
	// StartScriptFails: one agent, connected, whose start script exits 1.
	StartScriptFails TemplateKind = "start-script-fails"
	// BuildFails: start builds fail without an error code.
	BuildFails TemplateKind = "build-fails"
	// NoAgents: start builds succeed and make no agent.
	NoAgents TemplateKind = "no-agents"
	// NeverConnects: one agent that nobody starts; Coder gives up on it soon.
	NeverConnects TemplateKind = "never-connects"
	// SlowBuild: start builds run far longer than a row, and can be canceled.
	SlowBuild TemplateKind = "slow-build"
	// UncancelableBuild: start builds run for some seconds and then succeed; the
	// template forbids its users to cancel.
	UncancelableBuild TemplateKind = "uncancelable-build"
	// ClassicParameters and DynamicParameters: no agent; the parameters and presets
	// below, by the static rules of the version or evaluated for each owner.
	ClassicParameters TemplateKind = "classic-parameters"
	DynamicParameters TemplateKind = "dynamic-parameters"
	// UnmatchedProvisioner: start builds with the parameter PoolParameter set to
	// PoolNobodyServes wait for a provisioner that does not exist.
	UnmatchedProvisioner TemplateKind = "unmatched-provisioner"
	// ImportFails, ImportPending, Archived: the version is not the active one. Its
	// import failed, is pending for good, or the version is archived.
	ImportFails   TemplateKind = "import-fails"
	ImportPending TemplateKind = "import-pending"
	Archived      TemplateKind = "archived"
	// NeedsExternalAuth: the version requires the external authentication
	// ExternalAuthID, which no user has linked.
	NeedsExternalAuth TemplateKind = "needs-external-auth"
	// ExternalAgent: the version has an external agent.
	ExternalAgent TemplateKind = "external-agent"
)

// What the templates hold.
const (
	// StartScriptOutput is a line that the start script of Passing prints.
	StartScriptOutput = "assay: the start script ran"

	// ParameterRegion is required and has no default; RegionEU and RegionUS are its
	// options.
	ParameterRegion = "region"
	RegionEU        = "eu"
	RegionUS        = "us"
	// ParameterCPUs is a number from 1 to 8, default 2.
	ParameterCPUs = "cpus"
	// ParameterDebug is a bool, default false.
	ParameterDebug = "debug"
	// PresetSmall sets ParameterRegion to RegionEU and ParameterCPUs to 1.
	PresetSmall = "small"

	// PoolParameter is a string with a default that the deployment's provisioners
	// serve.
	PoolParameter    = "pool"
	PoolNobodyServes = "nobody"

	// ExternalAuthID is the external authentication of NeedsExternalAuth.
	ExternalAuthID = "assay"
)

// Unsupported skips the row because the deployment cannot offer what it needs. The
// reason says why that is in the nature of this deployment.
func Unsupported(t *testing.T, reason string) {
	t.Helper()
	if reason == "" {
		t.Fatal("porttest: unsupported without a reason")
	}
	t.Skip("unsupported here: " + reason)
}
