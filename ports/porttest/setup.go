package porttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// SetUp runs the conformance suite of a SetUpReader and an AccessReader, both of which the
// accounts' CodeRunners must be. Otherwise it is as CodeRunner.
func SetUp(t *testing.T, deployment func(t *testing.T) Deployment) { show(t, setUpFacts, deployment) }

var setUpFacts = []fact{
	{"access to workspaces", "a member may do everything with its own workspaces and nothing with another's, and its token tells when it ends", accessToOwnAndOthers},
	{"import that ended", "the version's job tells its tags, and nothing about provisioners", versionJobOfImported},
	{"import that nobody takes", "a pending import tells that no provisioner can take it", versionJobThatNobodyTakes},
	{"provisioners by tags", "Coder lists the daemons that take jobs with certain tags, to those who manage templates", provisionersByTags},
	{"catalog", "the catalog lists templates, their newest versions, and what can be chosen for one", catalogOfTemplates},
	{"quota where there is none", "without a license that has quotas, there is no such route", quotaWhereThereIsNone},
}

// setUp is the account's door to what a set-up consists of.
func (a Account) setUp(t *testing.T) ports.SetUpReader {
	t.Helper()
	reader, ok := a.Runner.(ports.SetUpReader)
	if !ok {
		t.Fatalf("%T is no ports.SetUpReader", a.Runner)
	}
	return reader
}

func accessToOwnAndOthers(t *testing.T, s stage) {
	member := s.member(t)
	reader, ok := member.Runner.(ports.AccessReader)
	if !ok {
		t.Fatalf("%T is no ports.AccessReader", member.Runner)
	}
	own, err := reader.Access(t.Context(), member.User.ID)
	fine(t, "read access to its own workspaces", err)
	if own.User.ID != member.User.ID || len(own.Denied) > 0 || own.ExpiresAt.IsZero() || own.Lifetime <= 0 {
		t.Errorf("its own workspaces: %+v, want all, and when the token ends", own)
	}
	others, err := reader.Access(t.Context(), s.admin.User.ID)
	fine(t, "read access to another's workspaces", err)
	equal(t, "denied actions", strings.Join(others.Denied, " "), "create read delete")
}

func versionJobOfImported(t *testing.T, s stage) {
	job, err := s.member(t).setUp(t).VersionJob(t.Context(), s.Template(t, NoAgents).VersionID)
	fine(t, "read the version's import", err)
	equal(t, "status", job.Status, core.JobSucceeded)
	equal(t, "tag scope", job.Tags["scope"], "organization")
	equal(t, "number of tags", len(job.Tags), 2)
	equal(t, "matched provisioners", job.Matched, -1)
	_, err = s.admin.setUp(t).VersionJob(t.Context(), uuid.New())
	refused(t, "read the import of an unknown version", err, core.FailureNotFound)
}

func versionJobThatNobodyTakes(t *testing.T, s stage) {
	job, err := s.member(t).setUp(t).VersionJob(t.Context(), s.Template(t, ImportPending).VersionID)
	fine(t, "read the version's import", err)
	equal(t, "status", job.Status, core.JobPending)
	equal(t, "tag pool", job.Tags["pool"], PoolNobodyServes)
	equal(t, "matched provisioners", job.Matched, 0)
	equal(t, "available provisioners", job.Available, 0)
}

func provisionersByTags(t *testing.T, s stage) {
	organization := s.Template(t, NoAgents).OrganizationID
	reader := s.admin.setUp(t)
	all, err := reader.Provisioners(t.Context(), organization, nil)
	fine(t, "list provisioner daemons", err)
	untagged, err := reader.Provisioners(t.Context(), organization, map[string]string{"scope": "organization", "owner": ""})
	fine(t, "list those for jobs without tags", err)
	if len(untagged) == 0 || len(untagged) > len(all) {
		t.Errorf("%d of %d daemons take jobs without tags, want some", len(untagged), len(all))
	}
	for _, daemon := range untagged {
		if daemon.Name == "" || daemon.Status != core.ProvisionerIdle && daemon.Status != core.ProvisionerBusy {
			t.Errorf("daemon %+v lacks a name, or does not work", daemon)
		}
	}
	none, err := reader.Provisioners(t.Context(), organization, map[string]string{
		"scope": "organization", "owner": "", "pool": PoolNobodyServes,
	})
	fine(t, "list those for jobs of a pool that nobody serves", err)
	equal(t, "number of daemons in it", len(none), 0)
	_, err = s.member(t).setUp(t).Provisioners(t.Context(), organization, nil)
	refused(t, "list provisioner daemons as a member", err, core.FailureNotFound)
}

func quotaWhereThereIsNone(t *testing.T, s stage) {
	member := s.member(t)
	_, err := member.setUp(t).Quota(t.Context(), s.Template(t, NoAgents).OrganizationID, member.User.ID)
	refused(t, "read its quota", err, core.FailureNotFound)
}

func catalogOfTemplates(t *testing.T, s stage) {
	subject := s.Template(t, DynamicParameters)
	catalog, ok := s.member(t).Runner.(ports.TemplateCatalog)
	if !ok {
		t.Fatalf("%T is no ports.TemplateCatalog", s.admin.Runner)
	}
	templates, err := catalog.Templates(t.Context())
	fine(t, "list templates", err)
	at := slices.IndexFunc(templates, func(one core.CatalogTemplate) bool { return one.ID == subject.TemplateID })
	if at < 0 {
		t.Fatalf("%d templates, and not %s", len(templates), subject.TemplateName)
	}
	equal(t, "reference", templates[at].Ref, subject.OrganizationName+"."+subject.TemplateName)
	equal(t, "active version", templates[at].ActiveVersion, subject.VersionID)
	versions, err := catalog.Versions(t.Context(), subject.TemplateID, 1)
	fine(t, "list versions", err)
	if len(versions) != 1 || versions[0].ID != subject.VersionID || !versions[0].Active || versions[0].Import != core.JobSucceeded {
		t.Errorf("versions %+v, want the active one", versions)
	}
	inputs, err := catalog.VersionInputs(t.Context(), subject.VersionID)
	fine(t, "read the version's inputs", err)
	region := slices.IndexFunc(inputs.Parameters, func(p core.CatalogParameter) bool { return p.Name == ParameterRegion })
	if region < 0 {
		t.Fatalf("parameters %+v, want %s among them", inputs.Parameters, ParameterRegion)
	}
	got := inputs.Parameters[region]
	values := []string{}
	for _, option := range got.Options {
		values = append(values, option.Value)
	}
	equal(t, "type", got.Type, "string")
	equal(t, "required", got.Required, true)
	equal(t, "options", strings.Join(values, " "), RegionEU+" "+RegionUS)
	if len(inputs.Presets) != 1 || inputs.Presets[0].Name != PresetSmall || len(inputs.Presets[0].Parameters) != 2 {
		t.Errorf("presets %+v, want %s with its two values", inputs.Presets, PresetSmall)
	}
	_, err = catalog.Versions(t.Context(), uuid.New(), 1)
	refused(t, "list the versions of an unknown template", err, core.FailureNotFound)
	_, err = catalog.VersionInputs(t.Context(), uuid.New())
	refused(t, "read the inputs of an unknown version", err, core.FailureNotFound)
}
