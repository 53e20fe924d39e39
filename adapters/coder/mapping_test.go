package coder_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

func TestPrebuildsUserID(t *testing.T) {
	if got := core.PrebuildsUserID.String(); got != codersdk.PrebuildsSystemUserID {
		t.Errorf("core's prebuilds user is %s, codersdk's %s", got, codersdk.PrebuildsSystemUserID)
	}
}

func TestJobMapping(t *testing.T) {
	id := uuid.New()
	for _, c := range []struct {
		why      string
		error    string
		matched  *codersdk.MatchedProvisioners
		reaped   bool
		provides int
	}{
		{"a job that hung", "Coder: Build has been detected as hung for 5 minutes and has been terminated by the reaper.", nil, true, -1},
		{"a job that nobody took", "Coder: Build has been detected as pending for 30 minutes and has been terminated by the reaper.", nil, true, -1},
		{"the text of older servers", "Coder: Build has been detected as hung for 5 minutes and has been terminated by hang detector.", nil, true, -1},
		{"a template that failed", "terraform apply: exit status 1", nil, false, -1},
		{"a template that quotes Coder", "terraform apply: Coder: Build has been detected as hung and has been terminated by the reaper", nil, false, -1},
		{"nobody can take it", "", &codersdk.MatchedProvisioners{}, false, 0},
		{"somebody can take it", "", &codersdk.MatchedProvisioners{Count: 3}, false, 3},
	} {
		workspace := sample(id, 1)
		workspace.LatestBuild.Job = codersdk.ProvisionerJob{Error: c.error, Tags: map[string]string{"scope": "organization", "owner": ""}}
		workspace.LatestBuild.MatchedProvisioners = c.matched
		runner := serve(t, func(w http.ResponseWriter, _ *http.Request) { coders(w, 200, workspace) })
		got, err := runner.Workspace(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		job := got.Latest.Job
		if job.Reaped != c.reaped || job.Provisioners != c.provides {
			t.Errorf("%s: reaped %v, provisioners %d; want %v, %d", c.why, job.Reaped, job.Provisioners, c.reaped, c.provides)
		}
		if strings.Join(job.Tags, " ") != "owner= scope=organization" {
			t.Errorf("%s: tags %q, want them sorted", c.why, job.Tags)
		}
	}
}

func TestOwnerMemberships(t *testing.T) {
	id, one, two := uuid.New(), uuid.New(), uuid.New()
	listed := func(ids ...uuid.UUID) (list []codersdk.Organization) {
		for _, id := range ids {
			organization := codersdk.Organization{DefaultOrgMemberRoles: []string{"organization-workspace-access"}}
			organization.ID = id
			list = append(list, organization)
		}
		return list
	}
	for _, c := range []struct {
		why    string
		roles  map[uuid.UUID][]string
		listed []codersdk.Organization
		fine   bool
	}{
		{"both lists agree", map[uuid.UUID][]string{one: {}, two: {"organization-admin"}}, listed(one, two), true},
		{"an organization that the operator user cannot read may grant anything", map[uuid.UUID][]string{one: {}, two: {}}, listed(one), false},
		{"an organization without roles: one list is stale", map[uuid.UUID][]string{one: {}}, listed(one, two), false},
	} {
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/roles"):
				coders(w, 200, codersdk.UserRoles{Roles: []string{"auditor"}, OrganizationRoles: c.roles})
			case strings.HasSuffix(r.URL.Path, "/organizations"):
				coders(w, 200, c.listed)
			default:
				var user codersdk.User
				user.ID = id
				coders(w, 200, user)
			}
		})
		got, err := runner.Owner(t.Context(), id)
		if c.fine && (err != nil || len(got.Memberships) != len(c.roles) || strings.Join(got.SiteRoles, " ") != "auditor") {
			t.Errorf("%s: owner %+v, error %v", c.why, got, err)
		}
		if !c.fine && failureOf(t, err).Class != core.FailureMismatch {
			t.Errorf("%s: %v, want mismatch", c.why, err)
		}
	}
}

func TestAutomaticBuilds(t *testing.T) {
	id := uuid.New()
	for reason, want := range map[codersdk.BuildReason]bool{
		codersdk.BuildReasonAutostop: true, codersdk.BuildReasonAutostart: true, codersdk.BuildReasonDormancy: true, "autodelete": true,
		codersdk.BuildReasonInitiator: false, codersdk.BuildReasonDashboard: false, codersdk.BuildReasonCLI: false,
		"": false, "something_new": false,
	} {
		workspace := sample(id, 1)
		workspace.LatestBuild.Reason = reason
		got, err := serve(t, func(w http.ResponseWriter, _ *http.Request) { coders(w, 200, workspace) }).Workspace(t.Context(), id)
		if err != nil || got.Latest.Automatic != want {
			t.Errorf("reason %q: automatic %v, error %v; want %v: only what Coder does by itself", reason, got.Latest.Automatic, err, want)
		}
	}
}
