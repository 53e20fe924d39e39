package lifecycle

import (
	"strings"
	"testing"

	"github.com/assay-dev/assay/core"
)

func TestCheckOwner(t *testing.T) {
	owner := func(change func(*core.User)) edit { return func(in *Input) { change(&in.Seen.Owner.Value) } }
	decide(t, resolved, []row{
		{
			why: "the policy names no owner", want: "Pending OwnerNotConfigured after 15s", says: "set the control plane's ownerUserID",
			given: []edit{func(in *Input) { in.Seen.ControlPlane.Value.Policy.OwnerUserID = "" }},
		},
		{
			why: "it names one by a name", want: "Pending OwnerNotConfigured after 15s", says: "not to a name",
			given: []edit{func(in *Input) { in.Seen.ControlPlane.Value.Policy.OwnerUserID = "tester" }},
		},
		{
			why: "the owner is read", want: "read owner",
			given: []edit{func(in *Input) { in.Seen.Owner = Result[core.User]{} }},
		},
		{
			why: "there is no such user", want: "Pending OwnerNotEligible after 15s", says: "name an owner that exists",
			given: []edit{func(in *Input) { in.Seen.Owner = failing[core.User](notFound) }},
		},
		{
			why: "whether there is one is not known now", want: "Pending CoderUnavailable after 15s",
			given: []edit{func(in *Input) { in.Seen.Owner = failing[core.User](unavailable) }},
		},
		{
			why: "an owner that is not eligible is waited for", want: "Pending OwnerNotEligible after 15s", says: "activate the owner",
			given: []edit{owner(func(u *core.User) { u.Status = "dormant" })},
		},
		{
			why: "one that is no member of the template's organization too", want: "Pending OwnerNotEligible after 15s", says: "add the owner to the organization acme",
			given: []edit{owner(func(u *core.User) { u.Memberships = nil }), func(in *Input) { in.Seen.Organization = done(core.Organization{ID: orgID}) }},
		},
	})
}

func TestOwnerProblem(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*core.User)
		policy core.Policy
		// want is the beginning of the problem: what to do. Empty for none.
		want string
	}{
		{why: "a plain tester may", change: func(*core.User) {}},

		{why: "newer Coder refuses the agents of a dormant owner", change: func(u *core.User) { u.Status = "dormant" }, want: "activate the owner: its status is dormant"},
		{why: "a suspended one cannot build", change: func(u *core.User) { u.Status = "suspended" }, want: "activate the owner: its status is suspended"},
		{why: "no status is not active", change: func(u *core.User) { u.Status = "" }, want: "activate the owner: its status is unknown"},
		{
			why: "nothing waives the status", change: func(u *core.User) { u.Status = "dormant" },
			policy: core.Policy{AllowPersonalOwner: true, AllowPrivilegedOwner: true}, want: "activate the owner",
		},

		{why: "a password is a machine's too", change: func(u *core.User) { u.LoginType = "password" }},
		{why: "OIDC is a person's", change: func(u *core.User) { u.LoginType = "oidc" }, want: "use a tester user: the owner logs in by oidc"},
		{why: "so is GitHub", change: func(u *core.User) { u.LoginType = "github" }, want: "use a tester user: the owner logs in by github"},
		{why: "whatever else there is may be one", change: func(u *core.User) { u.LoginType = "" }, want: "use a tester user: the owner logs in by unknown means"},
		{why: "a service account is none, however it logs in", change: func(u *core.User) { u.LoginType, u.ServiceAccount = "oidc", true }},
		{why: "allowPersonalOwner waives that", change: func(u *core.User) { u.LoginType = "oidc" }, policy: core.Policy{AllowPersonalOwner: true}},
		{
			why: "but not by allowPrivilegedOwner", change: func(u *core.User) { u.LoginType = "oidc" },
			policy: core.Policy{AllowPrivilegedOwner: true}, want: "use a tester user",
		},

		{why: "member is no site role", change: func(u *core.User) { u.SiteRoles = []string{"member"} }},
		{why: "owner is one", change: func(u *core.User) { u.SiteRoles = []string{"member", "owner"} }, want: "use a plain member: the owner has the site role owner"},
		{why: "so is auditor", change: func(u *core.User) { u.SiteRoles = []string{"auditor"} }, want: "use a plain member: the owner has the site role auditor"},
		{
			why: "a role in the organization", want: "use a plain member: the owner has the role organization-admin in organization acme",
			change: func(u *core.User) { u.Memberships[0].Roles = []string{"organization-admin"} },
		},
		{
			why: "workspace access is what everybody needs", change: func(u *core.User) {
				u.Memberships[0].Roles = []string{"organization-member", "organization-workspace-access"}
			},
		},
		{
			why: "a role in ANY organization counts", want: "use a plain member: the owner has the role organization-auditor in organization other",
			change: func(u *core.User) {
				u.Memberships = append(u.Memberships, core.Membership{OrganizationID: otherID, OrganizationName: "other", Roles: []string{"organization-auditor"}})
			},
		},
		{
			why: "and so does what an organization grants everybody", want: "organization other grants every member the role organization-template-admin",
			change: func(u *core.User) {
				u.Memberships = append(u.Memberships, core.Membership{OrganizationID: otherID, OrganizationName: "other", DefaultRoles: []string{"organization-template-admin"}})
			},
		},
		{
			why: "allowPrivilegedOwner waives every role", policy: core.Policy{AllowPrivilegedOwner: true},
			change: func(u *core.User) {
				u.SiteRoles = []string{"owner"}
				u.Memberships[0].Roles, u.Memberships[0].DefaultRoles = []string{"organization-admin"}, []string{"organization-admin"}
			},
		},
		{
			why: "but not by allowPersonalOwner", change: func(u *core.User) { u.SiteRoles = []string{"owner"} },
			policy: core.Policy{AllowPersonalOwner: true}, want: "use a plain member",
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			user := tester()
			row.change(&user)
			got := OwnerProblem(user, row.policy)
			if (got == "") != (row.want == "") || !strings.HasPrefix(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
