package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestResolveInputs(t *testing.T) {
	unread := func(forget func(*Seen)) edit { return func(in *Input) { forget(&in.Seen) } }
	notAMember := func(in *Input) { in.Seen.Owner.Value.Memberships = nil }
	version := func(change func(*core.TemplateVersion)) edit {
		return func(in *Input) { change(&in.Seen.Version.Value) }
	}
	decide(t, resolved, []row{
		{
			why: "the organization's ID comes with the owner's membership", want: "read template",
			given: []edit{unread(func(seen *Seen) { seen.Template = Result[core.Template]{} })},
			check: func(t *testing.T, d Decision) {
				if d.Read.ID != orgID {
					t.Errorf("template of organization %s", d.Read.ID)
				}
			},
		},
		{
			why: "organizations are found without regard to case", want: "read template",
			given: []edit{func(in *Input) { in.Record.Spec.Template = "ACME.docker" }, unread(func(seen *Seen) { seen.Template = Result[core.Template]{} })},
		},
		{why: "no membership: is there such an organization at all?", given: []edit{notAMember}, want: "read organization"},
		{
			why: "there is none", want: "Pending TemplateNotFound after 15s", says: "no organization acme",
			given: []edit{notAMember, func(in *Input) { in.Seen.Organization = failing[core.Organization](notFound) }},
		},
		{
			why: "that is not known now", want: "Pending CoderUnavailable after 15s",
			given: []edit{notAMember, func(in *Input) { in.Seen.Organization = failing[core.Organization](unavailable) }},
		},
		{
			why: "a spec that admission would have refused is a bug", given: []edit{func(in *Input) { in.Record.Spec.Template = "acme" }},
			want: `error: assertion failed: the stored spec is invalid: template: "acme": must be "<organization>.<template>", for example "coder.docker"`,
		},

		{
			why: "no such template", want: "Pending TemplateNotFound after 15s", says: "acme.docker",
			given: []edit{func(in *Input) { in.Seen.Template = failing[core.Template](notFound) }},
			check: func(t *testing.T, d Decision) {
				if want := (core.Pins{OwnerID: ownerID, OrganizationID: orgID, WorkspaceName: ourName}); d.Record.Status.Pins != want {
					t.Errorf("what is known by then is recorded: %+v", d.Record.Status.Pins)
				}
			},
		},
		{
			why: "a template that cannot be read now", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Template = failing[core.Template](unavailable) }},
		},
		{
			why: "a deprecated template fails the test", want: "Failed TemplateDeprecated TemplateFailed True/NotCreated after 0s",
			given: []edit{func(in *Input) { in.Seen.Template.Value.Deprecated = true }},
		},

		{why: "the selector is resolved", given: []edit{unread(func(seen *Seen) { seen.Version = Result[core.TemplateVersion]{} })}, want: "read version"},
		{
			why: "a pinned version is read by its ID, and never resolved again", want: "read version",
			given: []edit{
				unread(func(seen *Seen) { seen.Version = Result[core.TemplateVersion]{} }),
				func(in *Input) {
					in.Record.Status.TemplateVersionID, in.Seen.Template.Value.ActiveVersionID = versionID, otherID
				},
			},
			check: func(t *testing.T, d Decision) {
				if d.Read.ID != versionID {
					t.Errorf("version %s is read", d.Read.ID)
				}
			},
		},
		{
			why: "no such version", want: "Pending TemplateVersionNotFound after 15s", says: "no version active",
			given: []edit{func(in *Input) { in.Seen.Version = failing[core.TemplateVersion](notFound) }},
		},
		{
			why: "a version that cannot be read now", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Version = failing[core.TemplateVersion](unavailable) }},
		},
		{
			why: "the version belongs to another template", want: "Failed TemplateVersionMismatch TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.TemplateID = otherID })},
		},
		{
			why: "the version is archived", want: "Failed TemplateVersionArchived TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Archived = true })},
		},
		{
			why: "its import failed", want: "Failed TemplateVersionImportFailed TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Import = core.JobFailed })},
		},
		{
			why: "its import was canceled", want: "Failed TemplateVersionImportFailed TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Import = core.JobCanceled })},
		},
		{
			why: "another template's version is that first, archived or not", want: "Failed TemplateVersionMismatch TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.TemplateID, v.Archived, v.Import = otherID, true, core.JobFailed })},
		},
		{
			why: "an import that is pending is waited for, and the version is pinned meanwhile", want: "Pending TemplateVersionImporting after 15s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Import = core.JobPending })},
			check: func(t *testing.T, d Decision) {
				st := &d.Record.Status
				if st.TemplateVersionID != versionID || st.TemplateVersionName != "v1" {
					t.Errorf("pinned: %s %s", st.TemplateVersionID, st.TemplateVersionName)
				}
			},
		},
		{
			why: "so is one that runs", want: "Pending TemplateVersionImporting after 15s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Import = core.JobRunning })},
		},
		{
			why: "and one that is being canceled has not ended", want: "Pending TemplateVersionImporting after 15s",
			given: []edit{version(func(v *core.TemplateVersion) { v.Import = core.JobCanceling })},
		},

		{why: "Coder judges the parameters", given: []edit{unread(func(seen *Seen) { seen.Parameters = Result[core.ParameterReport]{} })}, want: "read parameters"},
		{
			why: "when it can", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Parameters = failing[core.ParameterReport](unavailable) }},
		},
		{
			why: "it refuses some: they are named, their values never", want: "Failed ParametersInvalid TemplateFailed True/NotCreated after 0s",
			says: "correct the parameters: unknown flavor, missing size, refused region, unknown preset large",
			given: []edit{func(in *Input) {
				in.Seen.Parameters = done(core.ParameterReport{Problems: []core.ParameterProblem{
					{Name: "flavor", Kind: core.ParameterUnknown},
					{Name: "size", Kind: core.ParameterMissing},
					{Name: "region", Kind: core.ParameterRefused},
					{Name: "large", Kind: core.PresetUnknown},
				}})
			}},
		},

		{why: "then the external authentications", given: []edit{unread(func(seen *Seen) { seen.ExternalAuth = Result[[]core.ExternalAuth]{} })}, want: "read external auth"},
		{
			why: "when they can be read", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.ExternalAuth = failing[[]core.ExternalAuth](unavailable) }},
		},
		{
			why: "one that the owner lacks is waited for", want: "Pending ExternalAuthRequired after 15s", says: "link the owner's account with the external authentication github",
			given: []edit{func(in *Input) { in.Seen.ExternalAuth = done([]core.ExternalAuth{{ID: "github"}}) }},
		},
		{
			why: "optional or linked ones are fine", want: "Running CreatingWorkspace marker continue",
			given: []edit{func(in *Input) {
				in.Seen.ExternalAuth = done([]core.ExternalAuth{{ID: "github", Optional: true}, {ID: "gitlab", Authenticated: true}})
			}},
		},
		{
			why: "nobody starts an external agent", want: "Failed ExternalAgentUnsupported TemplateFailed True/NotCreated after 0s",
			given: []edit{version(func(v *core.TemplateVersion) { v.HasExternalAgent = true })},
		},
		{
			why: "waits end at the deadline of the inputs, if there is one", want: "Failed DeadlineExceeded Inconclusive True/NotCreated after 0s",
			says: "no result within 30s; the last wait was TemplateNotFound: no template acme.docker",
			given: []edit{
				func(in *Input) { in.Record.Spec.InputsTimeoutSeconds = 30 },
				func(in *Input) {
					st := &in.Record.Status
					st.Reason, st.Message = core.ReasonTemplateNotFound, "no template acme.docker"
				},
				now(30 * time.Second),
			},
		},
		{
			why: "a wait never sleeps past that deadline", want: "Pending TemplateNotFound after 2s",
			given: []edit{
				func(in *Input) { in.Record.Spec.InputsTimeoutSeconds = 30 }, now(28 * time.Second),
				func(in *Input) { in.Seen.Template = failing[core.Template](notFound) },
			},
		},
	})
}

func TestOccupant(t *testing.T) {
	lost := func(in *Input) { in.Record.Status.TemplateVersionID = versionID }
	old := ours()
	old.Latest.CreatedAt = noon.Add(-time.Hour)
	decide(t, resolved, []row{
		{why: "the name is looked up last", given: []edit{func(in *Input) { in.Seen.Name = Result[core.NameLookup]{} }}, want: "read name"},
		{
			why: "when it can be", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Name = failing[core.NameLookup](unavailable) }},
		},
		{
			why: "somebody has it: whose is it?", want: "read builds",
			given: []edit{seeName(foreign()), func(in *Input) { in.Seen.Builds = nil }},
		},
		{
			why: "that cannot be told now", want: "Pending CoderUnavailable after 15s",
			given: []edit{seeName(foreign()), func(in *Input) { in.Seen.Builds[otherID] = failing[[]core.Build](unavailable) }},
		},
		{
			why: "somebody else's: a conflict, never touched", given: []edit{seeName(foreign())},
			want: "Failed WorkspaceNameConflict Inconclusive True/NotCreated after 0s", says: "remove or rename the owner's workspace " + ourName,
		},
		{
			why: "a deleted one leaves the name free", want: "Running CreatingWorkspace marker continue",
			given: []edit{func(in *Input) {
				w := foreign()
				w.Deleted = true
				seeName(w)(in)
			}},
		},
		{
			why: "this test's own, from a record that was lost: adopted, however old", given: []edit{lost, seeName(old)},
			want: "Running WaitingForBuild workspace after 5s",
			check: func(t *testing.T, d Decision) {
				st := &d.Record.Status
				want := core.Pins{
					OrganizationID: orgID, TemplateID: templateID, TemplateVersionID: versionID, TemplateVersionName: "v1",
					OwnerID: ownerID, WorkspaceName: ourName, DeploymentID: deploymentID, OperatorUserID: operatorID,
				}
				if diff := cmp.Diff(want, st.Pins); diff != "" {
					t.Errorf("pins (-want +got):\n%s", diff)
				}
				if st.CreateAttemptID != attemptID || st.CreateAttemptTime.IsZero() {
					t.Errorf("marker %s at %s", st.CreateAttemptID, st.CreateAttemptTime)
				}
			},
		},
		{
			why: "the adoption needs an ID for its marker", want: "read attempt ID",
			given: []edit{seeName(old), func(in *Input) { in.Seen.AttemptID = uuid.Nil }},
		},
	})
}
