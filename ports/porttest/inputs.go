package porttest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func deploymentIsStable(t *testing.T, s stage) {
	first, err := s.admin.Runner.Deployment(t.Context())
	fine(t, "read deployment", err)
	second, err := s.member(t).Runner.Deployment(t.Context())
	fine(t, "read deployment again", err)
	if first.ID == "" || first.Version == "" || first.ServerTime.IsZero() {
		t.Errorf("deployment %+v lacks an ID, a version or a time", first)
	}
	equal(t, "second deployment ID", second.ID, first.ID)
	if !first.ServerTime.Equal(first.ServerTime.Truncate(time.Second)) {
		t.Errorf("server time %v is not in whole seconds", first.ServerTime)
	}
	if second.ServerTime.Before(first.ServerTime) {
		t.Errorf("server time went back from %v to %v", first.ServerTime, second.ServerTime)
	}
}

func deploymentNeedsNoToken(t *testing.T, s stage) {
	_, err := s.WithBadToken(t).Deployment(t.Context())
	fine(t, "read deployment with a bad token", err)
}

func operatorIsTokenUser(t *testing.T, s stage) {
	for _, account := range []Account{s.admin, s.member(t)} {
		operator, err := account.Runner.Operator(t.Context())
		fine(t, "read operator", err)
		equal(t, "operator ID", operator.ID, account.User.ID)
		equal(t, "operator username", operator.Username, account.User.Username)
	}
}

func badTokenIsUnauthorized(t *testing.T, s stage) {
	runner, owner := s.WithBadToken(t), s.member(t).User
	_, err := runner.Operator(t.Context())
	refused(t, "read operator", err, core.FailureUnauthorized)
	_, err = runner.FindWorkspace(t.Context(), owner.ID, workspaceName())
	refused(t, "find workspace", err, core.FailureUnauthorized)
	_, err = runner.CreateWorkspace(t.Context(), request(owner, s.Template(t, NoAgents)))
	refused(t, "create workspace", err, core.FailureUnauthorized)
	_, err = runner.DeleteWorkspace(t.Context(), uuid.New())
	refused(t, "delete workspace", err, core.FailureUnauthorized)
}

func unreachableHasNoEffect(t *testing.T, s stage) {
	runner := s.Unreachable(t)
	_, err := runner.Deployment(t.Context())
	refused(t, "read deployment", err, core.FailureUnavailable)
	_, err = runner.Workspace(t.Context(), uuid.New())
	refused(t, "read workspace", err, core.FailureUnavailable)
	_, err = runner.CreateWorkspace(t.Context(), core.CreateRequest{OwnerID: uuid.New(), Name: workspaceName()})
	refused(t, "create workspace", err, core.FailureNoEffect)
	_, err = runner.DeleteWorkspace(t.Context(), uuid.New())
	refused(t, "delete workspace", err, core.FailureNoEffect)
	refused(t, "cancel build", runner.CancelBuild(t.Context(), uuid.New(), core.JobRunning), core.FailureNoEffect)
}

// owner makes a user and reads it as the admin.
func (s stage) owner(t *testing.T, spec UserSpec) core.User {
	t.Helper()
	account := s.NewUser(t, spec)
	user, err := s.admin.Runner.Owner(t.Context(), account.User.ID)
	fine(t, "read owner", err)
	equal(t, "ID", user.ID, account.User.ID)
	equal(t, "username", user.Username, account.User.Username)
	return user
}

// special are the roles that not every member has.
func special(roles []string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool {
		return role == "member" || role == "organization-member" || role == "organization-workspace-access"
	})
}

func ownerPlain(t *testing.T, s stage) {
	user := s.owner(t, UserSpec{Status: "active"})
	equal(t, "status", user.Status, "active")
	equal(t, "login type", user.LoginType, "password")
	equal(t, "service account", user.ServiceAccount, false)
	if roles := special(user.SiteRoles); len(roles) != 0 {
		t.Errorf("site roles %v, want none but member's", roles)
	}
	membership, ok := user.MemberOf(s.Template(t, NoAgents).OrganizationID)
	if !ok || len(user.Memberships) != 1 {
		t.Fatalf("memberships %+v, want the template's organization alone", user.Memberships)
	}
	equal(t, "organization name", membership.OrganizationName, s.Template(t, NoAgents).OrganizationName)
	if roles := special(membership.Roles); len(roles) != 0 {
		t.Errorf("organization roles %v, want none of its own", roles)
	}
	if !slices.Equal(membership.DefaultRoles, []string{"organization-workspace-access"}) {
		t.Errorf("default roles %v, want organization-workspace-access", membership.DefaultRoles)
	}
}

func ownerDormant(t *testing.T, s stage) {
	equal(t, "status", s.owner(t, UserSpec{}).Status, "dormant")
}

func ownerSuspended(t *testing.T, s stage) {
	equal(t, "status", s.owner(t, UserSpec{Status: "suspended"}).Status, "suspended")
}

func ownerLoginNone(t *testing.T, s stage) {
	equal(t, "login type", s.owner(t, UserSpec{Status: "active", LoginType: "none"}).LoginType, "none")
}

func ownerRoles(t *testing.T, s stage) {
	user := s.owner(t, UserSpec{
		Status: "active", SiteRoles: []string{"auditor"}, OrganizationRoles: []string{"organization-template-admin"},
	})
	if roles := special(user.SiteRoles); !slices.Equal(roles, []string{"auditor"}) {
		t.Errorf("site roles %v, want auditor", roles)
	}
	membership, _ := user.MemberOf(s.Template(t, NoAgents).OrganizationID)
	if roles := special(membership.Roles); !slices.Equal(roles, []string{"organization-template-admin"}) {
		t.Errorf("organization roles %v, want organization-template-admin", roles)
	}
}

func ownerMissing(t *testing.T, s stage) {
	_, err := s.admin.Runner.Owner(t.Context(), uuid.New())
	refused(t, "read owner", err, core.FailureNotFound)
}

func ownerReadByMember(t *testing.T, s stage) {
	member := s.member(t)
	user, err := member.Runner.Owner(t.Context(), member.User.ID)
	fine(t, "read itself", err)
	equal(t, "ID", user.ID, member.User.ID)
	if _, ok := user.MemberOf(s.Template(t, NoAgents).OrganizationID); !ok {
		t.Errorf("memberships %+v lack the template's organization", user.Memberships)
	}
	_, err = member.Runner.Owner(t.Context(), s.member(t).User.ID)
	refused(t, "read another", err, core.FailureNotFound)
}

func organizationByName(t *testing.T, s stage) {
	subject := s.Template(t, NoAgents)
	for _, name := range []string{subject.OrganizationName, strings.ToUpper(subject.OrganizationName)} {
		organization, err := s.admin.Runner.Organization(t.Context(), name)
		fine(t, "find organization "+name, err)
		equal(t, "organization", organization, core.Organization{ID: subject.OrganizationID, Name: subject.OrganizationName})
	}
	_, err := s.admin.Runner.Organization(t.Context(), "no-such-organization")
	refused(t, "find a missing organization", err, core.FailureNotFound)
}

func templateByName(t *testing.T, s stage) {
	subject := s.Template(t, NoAgents)
	for _, name := range []string{subject.TemplateName, strings.ToUpper(subject.TemplateName)} {
		template, err := s.admin.Runner.Template(t.Context(), subject.OrganizationID, name)
		fine(t, "find template "+name, err)
		equal(t, "template", template, core.Template{
			ID: subject.TemplateID, Name: subject.TemplateName, OrganizationID: subject.OrganizationID,
			ActiveVersionID: subject.VersionID,
		})
	}
	_, err := s.admin.Runner.Template(t.Context(), subject.OrganizationID, "no-such-template")
	refused(t, "find a missing template", err, core.FailureNotFound)
	_, err = s.admin.Runner.Template(t.Context(), uuid.New(), subject.TemplateName)
	refused(t, "find a template of a missing organization", err, core.FailureNotFound)
}

func versionByName(t *testing.T, s stage) {
	subject, other := s.Template(t, NoAgents), s.Template(t, BuildFails)
	version, err := s.admin.Runner.VersionByName(t.Context(), subject.TemplateID, subject.VersionName)
	fine(t, "find version", err)
	equal(t, "version", version, core.TemplateVersion{
		ID: subject.VersionID, Name: subject.VersionName, TemplateID: subject.TemplateID, Import: core.JobSucceeded,
	})
	for _, missing := range []string{"no-such-version", strings.ToUpper(subject.VersionName)} {
		_, err = s.admin.Runner.VersionByName(t.Context(), subject.TemplateID, missing)
		refused(t, "find version "+missing, err, core.FailureNotFound)
	}
	if other.VersionName != subject.VersionName {
		_, err = s.admin.Runner.VersionByName(t.Context(), other.TemplateID, subject.VersionName)
		refused(t, "find the version in another template", err, core.FailureNotFound)
	}
}

func versionByID(t *testing.T, s stage) {
	subject := s.Template(t, NoAgents)
	version, err := s.admin.Runner.Version(t.Context(), subject.VersionID)
	fine(t, "read version", err)
	equal(t, "version", version, core.TemplateVersion{
		ID: subject.VersionID, Name: subject.VersionName, TemplateID: subject.TemplateID, Import: core.JobSucceeded,
	})
	_, err = s.admin.Runner.Version(t.Context(), uuid.New())
	refused(t, "read a missing version", err, core.FailureNotFound)
}

// version reads the version of a template kind.
func (s stage) version(t *testing.T, kind TemplateKind) core.TemplateVersion {
	t.Helper()
	version, err := s.admin.Runner.Version(t.Context(), s.Template(t, kind).VersionID)
	fine(t, "read version", err)
	return version
}

func versionImportFailed(t *testing.T, s stage) {
	equal(t, "import", s.version(t, ImportFails).Import, core.JobFailed)
}

func versionImportPending(t *testing.T, s stage) {
	equal(t, "import", s.version(t, ImportPending).Import, core.JobPending)
}

func versionArchived(t *testing.T, s stage) {
	version := s.version(t, Archived)
	equal(t, "archived", version.Archived, true)
	equal(t, "import", version.Import, core.JobSucceeded)
}

func versionExternalAgent(t *testing.T, s stage) {
	equal(t, "has an external agent", s.version(t, ExternalAgent).HasExternalAgent, true)
}

func inputsReadByMember(t *testing.T, s stage) {
	member, subject := s.member(t).Runner, s.Template(t, NoAgents)
	_, err := member.Organization(t.Context(), subject.OrganizationName)
	fine(t, "find organization", err)
	_, err = member.Template(t.Context(), subject.OrganizationID, subject.TemplateName)
	fine(t, "find template", err)
	_, err = member.Version(t.Context(), subject.VersionID)
	fine(t, "read version", err)
}
