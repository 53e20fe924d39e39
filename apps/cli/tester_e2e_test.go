package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestTesterOnRealCoder makes a tester and tests with it.
func TestTesterOnRealCoder(t *testing.T) {
	bed := testbed.Require(t)
	pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName("passing"), testbed.Passing())
	if err != nil {
		t.Fatal(err)
	}
	admin, name := bed.OwnerToken(), testbed.UniqueName("ci")
	ok := func(token string, args ...string) ran {
		t.Helper()
		result := assay(t, bed.URL, token, args...)
		if result.code != 0 {
			t.Fatalf("assay %s: exit code %d\n%s%s", strings.Join(args, " "), result.code, result.stdout, result.stderr)
		}
		return result
	}

	made := ok(admin, "tester", "create", name, "--org", "coder")
	id := strings.TrimSpace(made.stdout)
	user, err := bed.Client(admin).User(t.Context(), name)
	if err != nil || user.ID.String() != id || user.Status != codersdk.UserStatusActive || len(user.Roles) != 0 ||
		len(user.OrganizationIDs) != 1 || user.LoginType != codersdk.LoginTypePassword {
		t.Fatalf("user %+v, error %v; want %s active, in one organization and without roles", user, err, id)
	}

	var again struct {
		ID                 string
		Created, Activated bool
	}
	repeated := ok(admin, "tester", "create", name, "--org", "coder", "--output", "json")
	if err := json.Unmarshal([]byte(repeated.stdout), &again); err != nil || again.ID != id || again.Created || again.Activated {
		t.Errorf("the second time: %+v, error %v; want nothing done", again, err)
	}
	ok(admin, "tester", "check", name, "--org", "coder")
	ok(admin, "tester", "check", id)

	dormant := newUser(t, bed, testbed.UserOptions{})
	if result := assay(t, bed.URL, admin, "tester", "check", dormant.Name); result.code != 3 || !strings.Contains(result.stdout, "status is dormant") {
		t.Errorf("exit code %d, want 3 for a dormant user\n%s%s", result.code, result.stdout, result.stderr)
	}
	if woken := ok(admin, "tester", "create", dormant.Name, "--org", "coder"); !strings.Contains(woken.stderr, "activated it") {
		t.Errorf("a dormant user is not activated: %s", woken.stderr)
	}
	ok(admin, "tester", "check", dormant.Name)

	privileged := newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{"template-admin"}})
	if result := assay(t, bed.URL, admin, "tester", "create", privileged.Name, "--org", "coder"); result.code != 3 ||
		!strings.Contains(result.stderr, "site role template-admin") || result.stdout != "" {
		t.Errorf("exit code %d, want 3 for a privileged user\n%s%s", result.code, result.stdout, result.stderr)
	}
	member := newUser(t, bed, testbed.UserOptions{Activate: true})
	if result := assay(t, bed.URL, member.Token, "tester", "create", testbed.UniqueName("ci"), "--org", "coder"); result.code != 3 ||
		!strings.Contains(result.stderr, "site owner or user admin") {
		t.Errorf("exit code %d, want 3 for a member\n%s%s", result.code, result.stdout, result.stderr)
	}
	ok(member.Token, "tester", "check")

	if run := ok(admin, "run", "--template", "coder."+pushed.TemplateName, "--version", "active", "--owner", id); !strings.HasPrefix(run.stdout, "PASSED") {
		t.Errorf("the test ended with\n%s", run.stdout)
	}
	userAdmin := newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{"user-admin"}})
	ok(userAdmin.Token, "tester", "create", testbed.UniqueName("ci"), "--org", "coder")
}
