package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/doctor"
	"github.com/assay-dev/assay/core/lifecycle"
)

var (
	ownerID    = uuid.MustParse("05e00001-0000-4000-8000-000000000001")
	templateID = uuid.MustParse("7e300001-0000-4000-8000-000000000001")
	now        = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func seen[T any](value T) lifecycle.Result[T] { return lifecycle.Result[T]{Done: true, Value: value} }

func refused[T any](class core.FailureClass, status int) lifecycle.Result[T] {
	return lifecycle.Result[T]{Done: true, Failure: &core.Failure{Class: class, Op: "ask", Status: status, Message: "no"}}
}

// healthy is a set-up in which nothing is wrong.
func healthy() (doctor.Question, doctor.Seen) {
	owner := core.User{
		ID: ownerID, Username: "tester", Status: "active", LoginType: "password",
		Memberships: []core.Membership{{OrganizationName: "acme", Roles: []string{"organization-member"}}},
	}
	question := doctor.Question{
		Policy: core.Policy{OwnerUserID: ownerID.String()},
		Spec:   core.Spec{Template: "acme.docker", Version: core.VersionSelector{Active: true}},
	}
	return question, doctor.Seen{
		Deployment: seen(core.Deployment{ID: "d1", Version: "v2.36.1", ServerTime: now}),
		Operator:   seen(owner), Owner: seen(owner),
		Access:       seen(core.Access{User: owner, ExpiresAt: now.Add(30 * 24 * time.Hour)}),
		Rights:       seen(core.Access{User: owner}),
		Organization: seen(core.Organization{Name: "acme"}),
		Template:     seen(core.Template{ID: templateID, Name: "docker"}),
		Version:      seen(core.TemplateVersion{ID: uuid.Max, Name: "v1", TemplateID: templateID, Import: core.JobSucceeded}),
		Parameters:   seen(core.ParameterReport{}),
		ExternalAuth: seen([]core.ExternalAuth{}),
		VersionJob:   seen(core.VersionJob{Tags: map[string]string{"scope": "organization", "owner": ""}, Matched: -1, Available: -1}),
		Provisioners: seen([]core.Provisioner{{Status: core.ProvisionerIdle}, {Status: core.ProvisionerOffline}}),
		Quota:        seen(core.Quota{Consumed: 1, Budget: 2}),
	}
}

// states are the checks that did not come out well.
func states(findings doctor.Findings) map[string]doctor.State {
	all := map[string]doctor.State{}
	for _, f := range findings {
		if f.State != doctor.OK {
			all[f.Name] = f.State
		}
	}
	return all
}

type (
	change = func(*doctor.Question, *doctor.Seen)
	not    = map[string]doctor.State
)

func judged(changed change) doctor.Findings {
	question, observed := healthy()
	changed(&question, &observed)
	return doctor.Judge(question, observed)
}

func TestHealthy(t *testing.T) {
	findings := judged(func(*doctor.Question, *doctor.Seen) {})
	if diff := cmp.Diff(not{}, states(findings)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%+v", diff, findings)
	}
	if findings.Class() != core.OutcomePassed || findings.Decisive() != nil {
		t.Errorf("the class is %s, decisive is %+v", findings.Class(), findings.Decisive())
	}
	for _, f := range findings {
		if f.Fix != "" || f.Message == "" {
			t.Errorf("%s is well and says %q, to be fixed by %q", f.Name, f.Message, f.Fix)
		}
	}
}

// TestNoAvalanche breaks one thing at a time: one check fails, and only those that cannot
// go on without it are skipped.
func TestNoAvalanche(t *testing.T) {
	const failed, skipped = doctor.Failed, doctor.Skipped
	for _, row := range []struct {
		why    string
		change change
		want   not
		reason core.Reason
		class  core.OutcomeClass
		says   string
	}{
		{
			"without an answer nothing else can be asked",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Deployment = refused[core.Deployment](core.FailureUnavailable, 0)
			},
			not{
				"connection": failed, "coder-version": skipped, "token": skipped, "token-lifetime": skipped, "owner": skipped,
				"organization": skipped, "template": skipped, "version": skipped, "parameters": skipped, "external-auth": skipped,
				"external-agent": skipped, "rights": skipped, "provisioners": skipped, "quota": skipped,
			},
			core.ReasonCoderUnavailable, core.OutcomeInconclusive, "ask: no",
		},
		{
			"a token that is refused leaves the version of Coder to be told",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Operator = refused[core.User](core.FailureUnauthorized, 401)
			},
			not{
				"token": failed, "token-lifetime": skipped, "owner": skipped,
				"organization": skipped, "template": skipped, "version": skipped, "parameters": skipped, "external-auth": skipped,
				"external-agent": skipped, "rights": skipped, "provisioners": skipped, "quota": skipped,
			},
			core.ReasonOperatorAccessNotReady, core.OutcomeInconclusive, "HTTP 401",
		},
		{
			"an owner that is not eligible can still be asked about",
			func(_ *doctor.Question, s *doctor.Seen) { s.Owner.Value.SiteRoles = []string{"owner"} },
			not{"owner": failed},
			core.ReasonOwnerNotEligible, core.OutcomeInconclusive, "site role owner",
		},
		{
			"an owner that cannot be read leaves template and version",
			func(_ *doctor.Question, s *doctor.Seen) { s.Owner = refused[core.User](core.FailureNotFound, 404) },
			not{"owner": failed, "parameters": skipped, "external-auth": skipped, "rights": skipped, "provisioners": skipped, "quota": skipped},
			core.ReasonOwnerNotEligible, core.OutcomeInconclusive, "no user " + ownerID.String(),
		},
		{
			"so does one that was not found by its name",
			func(q *doctor.Question, s *doctor.Seen) {
				q.OwnerName, s.OwnerID = "nobody", refused[uuid.UUID](core.FailureNotFound, 404)
			},
			not{"owner": failed, "parameters": skipped, "external-auth": skipped, "rights": skipped, "provisioners": skipped, "quota": skipped},
			core.ReasonOwnerNotEligible, core.OutcomeInconclusive, `no user "nobody"`,
		},
		{
			"an owner of another organization",
			func(_ *doctor.Question, s *doctor.Seen) { s.Owner.Value.Memberships = nil },
			not{"organization": failed},
			core.ReasonOwnerNotEligible, core.OutcomeInconclusive, "is not a member",
		},
		{
			"without a template there is no version",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Template = refused[core.Template](core.FailureNotFound, 404)
			},
			not{
				"template": failed, "version": skipped, "parameters": skipped, "external-auth": skipped, "external-agent": skipped,
				"provisioners": skipped,
			},
			core.ReasonTemplateNotFound, core.OutcomeInconclusive, "no template acme.docker",
		},
		{
			"a deprecated template has versions",
			func(_ *doctor.Question, s *doctor.Seen) { s.Template.Value.Deprecated = true },
			not{"template": failed},
			core.ReasonTemplateDeprecated, core.OutcomeTemplateFailed, "is deprecated",
		},
		{
			"a version of another template is not looked at",
			func(_ *doctor.Question, s *doctor.Seen) { s.Version.Value.TemplateID = uuid.Max },
			not{"version": failed, "parameters": skipped, "external-auth": skipped, "external-agent": skipped, "provisioners": skipped},
			core.ReasonVersionMismatch, core.OutcomeTemplateFailed, "belongs to another one",
		},
		{
			"a failed import leaves no parameters to ask about",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Version.Value.Import = core.JobFailed
				s.Parameters, s.ExternalAuth = lifecycle.Result[core.ParameterReport]{}, lifecycle.Result[[]core.ExternalAuth]{}
			},
			not{"version": failed, "parameters": skipped, "external-auth": skipped},
			core.ReasonVersionImportFailed, core.OutcomeTemplateFailed, "push it again",
		},
		{
			"an import that is under way is waited for, unless nobody takes it",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Version.Value.Import = core.JobPending
				s.Parameters, s.ExternalAuth = lifecycle.Result[core.ParameterReport]{}, lifecycle.Result[[]core.ExternalAuth]{}
				s.VersionJob = seen(core.VersionJob{Tags: map[string]string{"pool": "gpu"}, Matched: 0})
			},
			not{"version": doctor.Warning, "parameters": skipped, "external-auth": skipped, "provisioners": failed},
			core.ReasonVersionImporting, core.OutcomeInconclusive, "the version's import is pending",
		},
		{
			"the version's fault wins over that of the environment",
			func(_ *doctor.Question, s *doctor.Seen) {
				s.Owner.Value.Status = "dormant"
				s.Parameters = seen(core.ParameterReport{Problems: []core.ParameterProblem{{Name: "regoin", Kind: core.ParameterUnknown}}})
			},
			not{"owner": failed, "parameters": failed},
			core.ReasonOwnerNotEligible, core.OutcomeTemplateFailed, "activate the owner",
		},
	} {
		findings := judged(row.change)
		if diff := cmp.Diff(row.want, states(findings)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
		decisive := findings.Decisive()
		if decisive == nil || decisive.Reason != row.reason || !strings.Contains(decisive.Message, row.says) || decisive.Fix == "" {
			t.Errorf("%s: decisive is %+v, want %s with %q and a fix", row.why, decisive, row.reason, row.says)
		}
		if got := findings.Class(); got != row.class {
			t.Errorf("%s: the class is %s, want %s", row.why, got, row.class)
		}
	}
}

// TestSingleChecks are the judgements that the lifecycle has no rule for.
func TestSingleChecks(t *testing.T) {
	offline, busy := core.Provisioner{Status: core.ProvisionerOffline}, core.Provisioner{Status: core.ProvisionerBusy}
	for _, row := range []struct {
		why    string
		check  string
		change change
		state  doctor.State
		reason core.Reason
		says   string
	}{
		{"an older Coder", doctor.CoderVersion, func(_ *doctor.Question, s *doctor.Seen) { s.Deployment.Value.Version = "v2.9.0" }, doctor.Warning, "", "v2.36 and later"},
		{"a newer Coder", doctor.CoderVersion, func(_ *doctor.Question, s *doctor.Seen) { s.Deployment.Value.Version = "v3.0.0" }, doctor.OK, "", "v3.0.0"},
		{"a Coder that somebody built", doctor.CoderVersion, func(_ *doctor.Question, s *doctor.Seen) { s.Deployment.Value.Version = "devel" }, doctor.Warning, "", "no released version"},
		{
			"a token that ends during a test", doctor.TokenLifetime,
			func(_ *doctor.Question, s *doctor.Seen) { s.Access.Value.ExpiresAt = now.Add(14 * time.Minute) },
			doctor.Failed, core.ReasonOperatorAccessNotReady, "within the 15m0s that a test may take",
		},
		{
			"a shorter test comes to its end", doctor.TokenLifetime,
			func(q *doctor.Question, s *doctor.Seen) {
				s.Access.Value.ExpiresAt, q.Spec.TimeoutSeconds = now.Add(14*time.Minute), 60
			},
			doctor.Warning, "", "ends soon, at 2026-03-01T12:14:00Z",
		},
		{"a session goes on", doctor.TokenLifetime, func(_ *doctor.Question, s *doctor.Seen) {
			s.Access.Value.ExpiresAt, s.Access.Value.Refreshes = now.Add(time.Minute), true
		}, doctor.OK, "", "a session"},
		{"who knows when", doctor.TokenLifetime, func(_ *doctor.Question, s *doctor.Seen) { s.Access.Value.ExpiresAt = time.Time{} }, doctor.OK, "", "does not tell"},
		{"no such door", doctor.TokenLifetime, func(_ *doctor.Question, s *doctor.Seen) { s.Access = lifecycle.Result[core.Access]{} }, doctor.Skipped, "", "does not tell"},
		{
			"a person, with a waiver", doctor.Owner,
			func(q *doctor.Question, s *doctor.Seen) {
				q.Policy.AllowPersonalOwner, s.Owner.Value.LoginType = true, "oidc"
			},
			doctor.Warning, "", "allowed by a waiver",
		},
		{"no owner", doctor.Owner, func(q *doctor.Question, _ *doctor.Seen) { q.Policy.OwnerUserID = "" }, doctor.Failed, core.ReasonOwnerNotConfigured, "ownerUserID"},
		{"no organization", doctor.Organization, func(_ *doctor.Question, s *doctor.Seen) {
			s.Organization = refused[core.Organization](core.FailureNotFound, 404)
		}, doctor.Failed, core.ReasonTemplateNotFound, "no organization acme"},
		{"no version", doctor.Version, func(_ *doctor.Question, s *doctor.Seen) {
			s.Version = refused[core.TemplateVersion](core.FailureNotFound, 404)
		}, doctor.Failed, core.ReasonVersionNotFound, "no version active"},
		{"archived", doctor.Version, func(_ *doctor.Question, s *doctor.Seen) { s.Version.Value.Archived = true }, doctor.Failed, core.ReasonVersionArchived, "unarchive"},
		{
			"an external authentication that is missing", doctor.ExternalAuth,
			func(_ *doctor.Question, s *doctor.Seen) { s.ExternalAuth.Value = []core.ExternalAuth{{ID: "github"}} },
			doctor.Failed, core.ReasonExternalAuthRequired, "github",
		},
		{
			"one that the token's user may not ask about", doctor.ExternalAuth,
			func(_ *doctor.Question, s *doctor.Seen) {
				s.ExternalAuth = refused[[]core.ExternalAuth](core.FailureForbidden, 403)
			},
			doctor.Failed, core.ReasonCoderUnavailable, "HTTP 403",
		},
		{"an external agent", doctor.ExternalAgent, func(_ *doctor.Question, s *doctor.Seen) { s.Version.Value.HasExternalAgent = true }, doctor.Failed, core.ReasonExternalAgentUnsupported, "coder_external_agent"},
		{"no rights", doctor.Rights, func(_ *doctor.Question, s *doctor.Seen) { s.Rights.Value.Denied = []string{"create", "delete"} }, doctor.Failed, core.ReasonCreateRejected, "may not create, delete"},
		{"rights that cannot be read", doctor.Rights, func(_ *doctor.Question, s *doctor.Seen) {
			s.Rights = refused[core.Access](core.FailureUnavailable, 502)
		}, doctor.Skipped, "", "502"},
		{"no daemon", doctor.Provisioners, func(_ *doctor.Question, s *doctor.Seen) { s.Provisioners.Value = nil }, doctor.Failed, core.ReasonNoMatchingProvisioner, "scope=organization"},
		{"daemons that went away", doctor.Provisioners, func(_ *doctor.Question, s *doctor.Seen) { s.Provisioners.Value = []core.Provisioner{offline} }, doctor.Failed, core.ReasonWaitingForBuild, "offline (1)"},
		{"daemons that have work", doctor.Provisioners, func(_ *doctor.Question, s *doctor.Seen) { s.Provisioners.Value = []core.Provisioner{busy, offline} }, doctor.Warning, "", "busy (1)"},
		{
			"daemons that a member may not see", doctor.Provisioners,
			func(_ *doctor.Question, s *doctor.Seen) {
				s.VersionJob.Value.Tags = map[string]string{"scope": "user", "owner": uuid.Max.String(), "pool": "gpu"}
				s.Provisioners = refused[[]core.Provisioner](core.FailureNotFound, 404)
			},
			doctor.Skipped, "", "not readable by this user; builds of the version ask for the tags owner=" + ownerID.String() + " pool=gpu scope=user",
		},
		{
			"an import whose daemons went away", doctor.Provisioners,
			func(_ *doctor.Question, s *doctor.Seen) {
				s.VersionJob.Value.Matched, s.VersionJob.Value.Available = 2, 0
			},
			doctor.Failed, core.ReasonVersionImporting, "are offline",
		},
		{"a quota that is used up", doctor.Quota, func(_ *doctor.Question, s *doctor.Seen) { s.Quota.Value.Consumed = 2 }, doctor.Warning, "", "2 of 2"},
		{"no bound", doctor.Quota, func(_ *doctor.Question, s *doctor.Seen) { s.Quota.Value.Budget = -1 }, doctor.OK, "", "no bound"},
		{"no quotas", doctor.Quota, func(_ *doctor.Question, s *doctor.Seen) { s.Quota = refused[core.Quota](core.FailureNotFound, 404) }, doctor.OK, "", "no quotas"},
	} {
		for _, f := range judged(row.change) {
			if f.Name != row.check {
				continue
			}
			if f.State != row.state || f.Reason != row.reason || !strings.Contains(f.Message, row.says) {
				t.Errorf("%s: %+v, want %s %q %q", row.why, f, row.state, row.reason, row.says)
			}
			if toFix := f.State == doctor.Failed || f.State == doctor.Warning; toFix != (f.Fix != "") {
				t.Errorf("%s: %+v: a fix belongs to what is not well, and to nothing else", row.why, f)
			}
		}
	}
}

func TestWithoutATemplate(t *testing.T) {
	findings := judged(func(q *doctor.Question, s *doctor.Seen) {
		q.Spec = core.Spec{}
		*s = doctor.Seen{Deployment: s.Deployment, Operator: s.Operator, Access: s.Access, Owner: s.Owner, Rights: s.Rights}
	})
	for _, f := range findings {
		about := map[string]bool{
			"organization": true, "template": true, "version": true, "parameters": true, "external-auth": true, "external-agent": true,
			"provisioners": true, "quota": true,
		}[f.Name]
		if want := map[bool]doctor.State{true: doctor.Skipped, false: doctor.OK}[about]; f.State != want {
			t.Errorf("%s is %s, want %s", f.Name, f.State, want)
		}
		if about && f.Message != "no template is named" {
			t.Errorf("%s says %q, not that no template is named", f.Name, f.Message)
		}
	}
	if findings.Class() != core.OutcomePassed {
		t.Errorf("the class is %s: what is not asked for is no failure", findings.Class())
	}
}

// TestNoValueIsShown looks for a parameter's value in what is said about it.
func TestNoValueIsShown(t *testing.T) {
	findings := judged(func(q *doctor.Question, s *doctor.Seen) {
		q.Spec.Parameters = []core.Parameter{{Name: "key", Value: "hunter2hunter2"}}
		s.Parameters = seen(core.ParameterReport{Problems: []core.ParameterProblem{{Name: "key", Kind: core.ParameterRefused}}})
	})
	for _, f := range findings {
		if strings.Contains(f.Message+f.Fix, "hunter2") {
			t.Errorf("%s shows a value: %q", f.Name, f.Message)
		}
	}
	if decisive := findings.Decisive(); decisive == nil || !strings.Contains(decisive.Message, "refused key") {
		t.Errorf("decisive is %+v, want the name of the parameter", decisive)
	}
}
