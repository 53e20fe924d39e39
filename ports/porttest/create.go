package porttest

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// isNew checks the answer to a create request.
func isNew(t *testing.T, got core.Workspace, request core.CreateRequest, by core.User) {
	t.Helper()
	if got.ID == uuid.Nil || got.Latest.ID == uuid.Nil {
		t.Fatalf("workspace %v with build %v, want IDs", got.ID, got.Latest.ID)
	}
	equal(t, "name", got.Name, request.Name)
	equal(t, "owner", got.OwnerID, request.OwnerID)
	equal(t, "organization", got.OrganizationID, request.OrganizationID)
	equal(t, "template", got.TemplateID, request.TemplateID)
	equal(t, "deleted", got.Deleted, false)
	equal(t, "build's workspace", got.Latest.WorkspaceID, got.ID)
	equal(t, "build number", got.Latest.Number, 1)
	equal(t, "transition", got.Latest.Transition, core.TransitionStart)
	equal(t, "initiator", got.Latest.InitiatorID, by.ID)
	equal(t, "version", got.Latest.VersionID, request.VersionID)
	equal(t, "job status", got.Latest.Job.Status, core.JobPending)
	if got.CreatedAt.IsZero() || got.Latest.CreatedAt.IsZero() || got.Latest.Job.UpdatedAt.IsZero() {
		t.Errorf("a time is missing: workspace %v, build %v, job %v", got.CreatedAt, got.Latest.CreatedAt, got.Latest.Job.UpdatedAt)
	}
	if !got.Latest.Job.CompletedAt.IsZero() || !got.Latest.Job.CanceledAt.IsZero() {
		t.Error("a pending job has ended or was canceled")
	}
}

func createForAnother(t *testing.T, s stage) {
	subject := s.Template(t, NoAgents)
	asked := request(s.member(t).User, subject)
	workspace := s.create(t, s.admin.Runner, asked)
	isNew(t, workspace, asked, s.admin.User)
	equal(t, "organization's name", workspace.OrganizationName, subject.OrganizationName)
	equal(t, "template's name", workspace.TemplateName, subject.TemplateName)
	equal(t, "automatic", workspace.Latest.Automatic, false)
}

func createForItself(t *testing.T, s stage) {
	member := s.member(t)
	asked := request(member.User, s.Template(t, NoAgents))
	workspace := s.create(t, member.Runner, asked)
	isNew(t, workspace, asked, member.User)
	read, err := member.Runner.Workspace(t.Context(), workspace.ID)
	fine(t, "read by its owner", err)
	equal(t, "ID", read.ID, workspace.ID)
}

func createByMemberForAnother(t *testing.T, s stage) {
	member, other := s.member(t), s.member(t).User
	asked := request(other, s.Template(t, NoAgents))
	_, err := member.Runner.CreateWorkspace(t.Context(), asked)
	refused(t, "create", err, core.FailureForbidden)
	s.hasNone(t, asked)
}

// hasNone checks that no workspace of the request exists.
func (s stage) hasNone(t *testing.T, asked core.CreateRequest) {
	t.Helper()
	found, err := s.admin.Runner.FindWorkspace(t.Context(), asked.OwnerID, asked.Name)
	fine(t, "find workspace", err)
	if found.Workspace != nil {
		t.Errorf("a workspace %v was made all the same", found.Workspace.ID)
	}
}

func createForDormantOwner(t *testing.T, s stage) {
	asked := request(s.NewUser(t, UserSpec{}).User, s.Template(t, NoAgents))
	isNew(t, s.create(t, s.admin.Runner, asked), asked, s.admin.User)
}

func createTakenName(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	s.create(t, s.admin.Runner, asked)
	for _, name := range []string{asked.Name, strings.ToUpper(asked.Name)} {
		asked.Name = name
		_, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
		refused(t, "create "+name, err, core.FailureConflict)
	}
}

func createNameOfAnotherOwner(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	s.create(t, s.admin.Runner, asked)
	asked.OwnerID = s.member(t).User.ID
	isNew(t, s.create(t, s.admin.Runner, asked), asked, s.admin.User)
}

func createNameOfDeleted(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	first := s.create(t, s.admin.Runner, asked)
	s.succeeded(t, first.ID)
	s.deleted(t, first.ID)
	second := s.create(t, s.admin.Runner, asked)
	isNew(t, second, asked, s.admin.User)
	if second.ID == first.ID {
		t.Errorf("the second workspace has the ID of the first, %v", first.ID)
	}
}

func createBadName(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	for why, name := range map[string]string{
		"reserved": "new", "reserved too": "create", "malformed": "no_underscore", "empty": "",
		"longer than 32 characters": "ktt-" + strings.Repeat("a", 29),
	} {
		asked.Name = name
		_, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
		refused(t, "create with a name that is "+why, err, core.FailureRejected)
	}
}

func createUnknownVersion(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	asked.VersionID = uuid.New()
	_, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
	refused(t, "create", err, core.FailureRejected)
	s.hasNone(t, asked)
}

func createUnknownOwner(t *testing.T, s stage) {
	asked := request(core.User{ID: uuid.New()}, s.Template(t, NoAgents))
	_, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
	refused(t, "create", err, core.FailureNotFound)
}

func createWhileImporting(t *testing.T, s stage) {
	s.createRefused(t, ImportPending, core.FailureImporting)
}

func createImportFailed(t *testing.T, s stage) { s.createRefused(t, ImportFails, core.FailureRejected) }

func createArchived(t *testing.T, s stage) { s.createRefused(t, Archived, core.FailureUncertain) }

func (s stage) createRefused(t *testing.T, kind TemplateKind, want core.FailureClass, parameters ...core.Parameter) {
	t.Helper()
	asked := request(s.member(t).User, s.Template(t, kind), parameters...)
	_, err := s.admin.Runner.CreateWorkspace(t.Context(), asked)
	refused(t, "create", err, want)
	if err != nil && strings.Contains(err.Error(), unlikely) {
		t.Errorf("the error repeats a value: %v", err)
	}
	s.hasNone(t, asked)
}

func createUnknownParameter(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents), core.Parameter{Name: "no-such-parameter", Value: "1"})
	s.succeeded(t, s.create(t, s.admin.Runner, asked).ID)
}

func createRefusedParameter(t *testing.T, s stage) {
	// Not a number beyond its bounds: under the classic flow Coder lets Terraform
	// refuse that, in the build.
	for _, kind := range []TemplateKind{ClassicParameters, DynamicParameters} {
		s.createRefused(t, kind, core.FailureRejected,
			core.Parameter{Name: ParameterRegion, Value: RegionEU}, core.Parameter{Name: ParameterDebug, Value: unlikely})
	}
}

func createWithPreset(t *testing.T, s stage) {
	owner, subject := s.member(t).User, s.Template(t, DynamicParameters)
	report, err := s.admin.Runner.CheckParameters(t.Context(), core.ParameterQuery{
		VersionID: subject.VersionID, OwnerID: owner.ID, Preset: PresetSmall,
	})
	fine(t, "check parameters", err)
	for _, parameters := range [][]core.Parameter{
		nil,
		report.PresetValues,
		// Refused on its own: it is accepted only because the preset wins.
		{{Name: ParameterCPUs, Value: unlikely}},
	} {
		asked := request(owner, subject, parameters...)
		asked.PresetID = report.PresetID
		s.succeeded(t, s.create(t, s.admin.Runner, asked).ID)
	}
}
