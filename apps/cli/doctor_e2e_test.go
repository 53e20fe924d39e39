package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed"
)

// diagnosisOf is the part of the doctor's document that the tests look at.
type diagnosisOf struct {
	OK       bool
	Reason   string
	ExitCode int
	Checks   []struct{ Name, State, Message, Fix, Reason string }
}

// notOK are the states of the checks that are not ok.
func (d diagnosisOf) notOK() map[string]string {
	states := map[string]string{}
	for _, check := range d.Checks {
		if check.State != "ok" {
			states[check.Name] = check.State
		}
	}
	return states
}

// examined runs the doctor.
func examined(t *testing.T, url, token string, args ...string) (diagnosisOf, ran) {
	t.Helper()
	result := assay(t, url, token, append([]string{"doctor", "--output", "json"}, args...)...)
	var diagnosis diagnosisOf
	if err := json.Unmarshal([]byte(result.stdout), &diagnosis); err != nil {
		t.Fatalf("exit code %d; the standard output is no document: %v\n%s%s", result.code, err, result.stdout, result.stderr)
	}
	return diagnosis, result
}

// odd are templates and versions in the bed that a test cannot run from.
type odd struct {
	good, params, auth    testbed.Pushed
	importFails, archived testbed.Pushed
	nobodyTakes           codersdk.TemplateVersion
	organization          string
}

func pushOdd(t *testing.T, bed *testbed.Bed) odd {
	t.Helper()
	ctx, owner := t.Context(), bed.Client(bed.OwnerToken())
	template := func(name string, content testbed.Template) testbed.Pushed {
		pushed, err := bed.PushTemplate(ctx, testbed.UniqueName(name), content)
		if err != nil {
			t.Fatal(err)
		}
		return pushed
	}
	o := odd{
		good: template("good", testbed.Passing()), params: template("params", testbed.Parameters()),
		auth: template("auth", testbed.ExternalAuth()), organization: "coder",
	}
	var err error
	if o.importFails, err = bed.PushVersion(ctx, o.good.TemplateID, testbed.ImportFails()); err != nil {
		t.Fatal(err)
	}
	if o.archived, err = bed.PushVersion(ctx, o.good.TemplateID, testbed.NoAgent()); err != nil {
		t.Fatal(err)
	}
	if err := owner.SetArchiveTemplateVersion(ctx, o.archived.VersionID, true); err != nil {
		t.Fatal(err)
	}
	o.nobodyTakes, err = owner.CreateTemplateVersion(ctx, bed.OrganizationID, codersdk.CreateTemplateVersionRequest{
		TemplateID: o.good.TemplateID, FileID: o.good.Import.FileID,
		StorageMethod: codersdk.ProvisionerStorageMethodFile, Provisioner: codersdk.ProvisionerTypeTerraform,
		ProvisionerTags: map[string]string{"pool": "nobody-serves-this"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by then, and other tests look for jobs that are left.
		if err := owner.CancelTemplateVersion(context.WithoutCancel(ctx), o.nobodyTakes.ID); err != nil {
			t.Errorf("cancel the import that nobody takes: %v", err)
		}
	})
	return o
}

// TestDoctorOnRealCoder runs the built binary on a real Coder that is well, and with each
// thing broken in turn. Nothing may be made.
func TestDoctorOnRealCoder(t *testing.T) {
	bed := testbed.Require(t)
	odd := pushOdd(t, bed)
	tester := newUser(t, bed, testbed.UserOptions{Activate: true})
	dormant := newUser(t, bed, testbed.UserOptions{})
	admin := newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{"template-admin"}})
	userAdmin := newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{"user-admin"}})
	person := newUser(t, bed, testbed.UserOptions{Activate: true, LoginType: codersdk.LoginTypeGithub})
	suspended := newUser(t, bed, testbed.UserOptions{Activate: true})
	if _, err := bed.Client(bed.OwnerToken()).UpdateUserStatus(t.Context(), suspended.Name, codersdk.UserStatusSuspended); err != nil {
		t.Fatal(err)
	}
	before := tokensOf(t, bed, tester.ID)
	good := []string{"--template", odd.organization + "." + odd.good.TemplateName, "--version", "active"}
	version := func(version string) []string { return []string{good[0], good[1], "--version", version} }

	for _, test := range []struct {
		why, token string
		args       []string
		code       int
		reason     string
		notOK      map[string]string
	}{
		{"all is well, by the tester's own token", tester.Token, good, 0, "", map[string]string{"provisioners": "skipped"}},
		{"all is well, by the site owner's token with a tester", bed.OwnerToken(), append(good, "--owner", tester.Name), 0, "", nil},
		{"a bad token", "no-such-token", good, 3, "OperatorAccessNotReady", map[string]string{"token": "failed", "owner": "skipped"}},
		{"a suspended user's token", suspended.Token, good, 3, "OperatorAccessNotReady", map[string]string{"token": "failed", "owner": "skipped"}},
		{
			"an unknown organization", tester.Token,
			[]string{"--template", "no-such-organization.docker", "--version", "active"},
			3, "TemplateNotFound",
			map[string]string{"organization": "failed", "template": "skipped", "version": "skipped"},
		},
		{
			"an unknown template", tester.Token,
			[]string{"--template", "coder.no-such-template", "--version", "active"},
			3, "TemplateNotFound",
			map[string]string{"template": "failed", "version": "skipped"},
		},
		{
			"an unknown version", tester.Token, version("no-such-version"), 3, "TemplateVersionNotFound",
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{
			"an unknown version by its ID", tester.Token, version(uuid.NewString()), 3, "TemplateVersionNotFound",
			map[string]string{"version": "failed"},
		},
		{
			"a version of another template", tester.Token, version(odd.params.VersionID.String()), 1, "TemplateVersionMismatch",
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{"an archived version", tester.Token, version(odd.archived.VersionName), 1, "TemplateVersionArchived", map[string]string{"version": "failed"}},
		{
			"a version whose import failed", tester.Token, version(odd.importFails.VersionName), 1, "TemplateVersionImportFailed",
			map[string]string{"version": "failed", "parameters": "skipped"},
		},
		{
			"a version whose tags no provisioner has, seen by a member", tester.Token, version(odd.nobodyTakes.Name), 3, "TemplateVersionImporting",
			map[string]string{"version": "warning", "parameters": "skipped", "provisioners": "failed"},
		},
		{
			"a required parameter that is missing", tester.Token,
			[]string{"--template", "coder." + odd.params.TemplateName, "--version", "active"},
			1, "ParametersInvalid",
			map[string]string{"parameters": "failed"},
		},
		{
			"a parameter that the rules refuse", tester.Token,
			[]string{"--template", "coder." + odd.params.TemplateName, "--version", "active", "--param", "project=x", "--param", "color=HUNTER2"},
			1, "ParametersInvalid",
			map[string]string{"parameters": "failed"},
		},
		{"a parameter that is unknown", tester.Token, append(good, "--param", "no-such-parameter=1"), 1, "ParametersInvalid", map[string]string{"parameters": "failed"}},
		{"a preset that is unknown", tester.Token, append(good, "--preset", "no-such-preset"), 1, "ParametersInvalid", map[string]string{"parameters": "failed"}},
		{
			"an external authentication that is missing", tester.Token,
			[]string{"--template", "coder." + odd.auth.TemplateName, "--version", "active"},
			3, "ExternalAuthRequired",
			map[string]string{"external-auth": "failed"},
		},
		{"a privileged owner", bed.OwnerToken(), append(good, "--owner", admin.Name), 3, "OwnerNotEligible", map[string]string{"owner": "failed"}},
		{"a privileged owner, with a waiver", admin.Token, append(good, "--allow-privileged-owner"), 0, "", map[string]string{"owner": "warning"}},
		{"a dormant owner", bed.OwnerToken(), append(good, "--owner", dormant.ID.String()), 3, "OwnerNotEligible", map[string]string{"owner": "failed"}},
		{"a person", bed.OwnerToken(), append(good, "--owner", person.Name), 3, "OwnerNotEligible", map[string]string{"owner": "failed"}},
		{"an owner that nobody knows", bed.OwnerToken(), append(good, "--owner", "nobody"), 3, "OwnerNotEligible", map[string]string{"owner": "failed"}},
		{
			"an owner that the token's user may not read", tester.Token, append(good, "--owner", admin.ID.String()), 3, "OwnerNotEligible",
			map[string]string{"owner": "failed", "parameters": "skipped"},
		},
		{
			"an owner for whom the token's user makes no workspaces", userAdmin.Token, append(good, "--owner", tester.Name), 3, "CoderUnavailable",
			map[string]string{"rights": "failed"},
		},
	} {
		t.Run(strings.ReplaceAll(test.why, " ", "-"), func(t *testing.T) {
			diagnosis, result := examined(t, bed.URL, test.token, test.args...)
			if result.code != test.code || diagnosis.ExitCode != test.code || test.reason != "" && diagnosis.Reason != test.reason ||
				test.code == 0 && diagnosis.Reason != "" {
				t.Errorf("exit code %d and reason %q, want %d and %q", result.code, diagnosis.Reason, test.code, test.reason)
			}
			notOK := diagnosis.notOK()
			for check, want := range test.notOK {
				if notOK[check] != want {
					t.Errorf("the check %s is %q, want %q", check, notOK[check], want)
				}
			}
			if test.code == 0 && len(notOK) != len(test.notOK) && test.token != admin.Token {
				t.Errorf("not ok are %v, want %v", notOK, test.notOK)
			}
			if strings.Contains(result.stdout+result.stderr, "HUNTER2") {
				t.Error("a parameter's value is shown")
			}
			if t.Failed() || testing.Verbose() {
				t.Logf("%s%s", result.stdout, result.stderr)
			}
		})
	}

	t.Run("nobody answers", func(t *testing.T) {
		diagnosis, result := examined(t, "http://127.0.0.1:1", tester.Token, good...)
		if result.code != 3 || diagnosis.Reason != "CoderUnavailable" || diagnosis.notOK()["connection"] != "failed" {
			t.Errorf("exit code %d, reason %s, not ok %v", result.code, diagnosis.Reason, diagnosis.notOK())
		}
	})
	t.Run("a token that ends during a test", func(t *testing.T) {
		key, err := bed.Client(tester.Token).CreateToken(t.Context(), codersdk.Me, codersdk.CreateTokenRequest{
			Lifetime: 10 * time.Minute, TokenName: testbed.UniqueName("short"),
		})
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(key.Key, "-")
		before[id] = true
		for timeout, want := range map[string]string{"15m": "failed", "5m": "warning"} {
			diagnosis, result := examined(t, bed.URL, key.Key, append(good, "--timeout", timeout)...)
			if got := diagnosis.notOK()["token-lifetime"]; got != want {
				t.Errorf("with a timeout of %s the check token-lifetime is %q, want %q:\n%s", timeout, got, want, result.stdout)
			}
		}
	})
	t.Run("nothing is left in Coder", func(t *testing.T) {
		for _, user := range []testbed.User{tester, dormant, admin, person} {
			live, err := bed.LiveWorkspaces(t.Context(), user)
			if err != nil || len(live) > 0 {
				t.Errorf("%s has %d workspaces, error %v", user.Name, len(live), err)
			}
		}
		for id := range tokensOf(t, bed, tester.ID) {
			if !before[id] {
				t.Errorf("session token %s is left", id)
			}
		}
	})
}
