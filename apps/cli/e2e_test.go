package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed"
)

// binary builds assay once for the tests of this process.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "assay-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "assay")
	if output, err := exec.Command("go", "build", "-o", path, "./cmd/assay").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build assay: %w: %s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if settle := os.Getenv(envSettle); settle != "" {
		os.Exit(runAsAssay(settle))
	}
	code := m.Run()
	if os.Getenv("ASSAY_E2E") == "1" {
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// ran is how a run of the binary ended.
type ran struct {
	code           int
	stdout, stderr string
}

// verdict is the part of the JSON report that the tests look at.
type verdict struct {
	Phase, Reason, Message, OutcomeClass string
	LastWaitReason                       string
	Case, Verdict                        string
	Met                                  *bool
	Workspace                            struct{ State string }
	ExitCode                             *int
}

// verdicts are those of the run's JSON document.
func (r ran) verdicts(t *testing.T) []verdict {
	t.Helper()
	var run struct{ Tests []verdict }
	if err := json.Unmarshal([]byte(r.stdout), &run); err != nil {
		t.Fatalf("the standard output is not JSON: %v\n%s\n%s", err, r.stdout, r.stderr)
	}
	return run.Tests
}

// assay runs the built binary with nothing of the environment but what it needs.
func assay(t *testing.T, url, token string, args ...string) ran {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "CODER_URL=" + url, "CODER_SESSION_TOKEN=" + token, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run assay: %v", err)
	}
	result := ran{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	if token != "" && strings.Contains(result.stdout+result.stderr, token) {
		t.Error("the token was printed")
	}
	return result
}

// TestRealCoder runs the built binary against a real Coder, once for each way in
// which a version can pass or fail, and then looks for what it left behind.
func TestRealCoder(t *testing.T) {
	bed := testbed.Require(t)
	ctx := t.Context()
	tester := newUser(t, bed, testbed.UserOptions{Activate: true})
	dormant := newUser(t, bed, testbed.UserOptions{})
	admin := newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{"template-admin"}})
	before := tokensOf(t, bed, tester.ID)

	templates := map[string]testbed.Template{
		"passing": testbed.Passing(), "startup": testbed.StartupFails(), "build": testbed.BuildFails(),
		"noagent": testbed.NoAgent(), "never": testbed.AgentNeverConnects(), "params": testbed.Parameters(),
	}
	names := map[string]string{"missing": "coder.no-such-template"}
	for key, template := range templates {
		pushed, err := bed.PushTemplate(ctx, testbed.UniqueName(key), template)
		if err != nil {
			t.Fatal(err)
		}
		names[key] = "coder." + pushed.TemplateName
	}

	for _, test := range []struct {
		why      string
		template string
		token    string
		args     []string
		code     int
		want     verdict
		// shown must be on the standard error.
		shown string
	}{
		{
			why: "a passing template, by the operator's token with a tester", template: "passing", token: bed.OwnerToken(),
			args: []string{"--owner", tester.Name}, code: 0,
			want: verdict{Phase: "Succeeded", Reason: "Succeeded", OutcomeClass: "Passed"},
		},
		{
			why: "a passing template, by a plain member's own token", template: "passing", token: tester.Token, code: 0,
			want: verdict{Phase: "Succeeded", Reason: "Succeeded", OutcomeClass: "Passed"},
		},
		{
			why: "the start script exits 1: its log is shown", template: "startup", token: tester.Token, code: 1,
			want:  verdict{Phase: "Failed", Reason: "AgentStartError", OutcomeClass: "TemplateFailed"},
			shown: testbed.StartupFailureLine,
		},
		{
			why: "Terraform fails: the build log is shown", template: "build", token: tester.Token, code: 1,
			want:  verdict{Phase: "Failed", Reason: "BuildFailed", OutcomeClass: "TemplateFailed"},
			shown: testbed.BuildFailureLine,
		},
		{
			why: "no agents", template: "noagent", token: tester.Token, code: 1,
			want: verdict{Phase: "Failed", Reason: "NoAgents", OutcomeClass: "TemplateFailed"},
		},
		{
			why: "an agent that never connects", template: "never", token: tester.Token, code: 1,
			want: verdict{Phase: "Failed", Reason: "AgentConnectionTimeout", OutcomeClass: "TemplateFailed"},
		},
		{
			why: "an unknown parameter name, which Coder itself would accept", template: "params", token: tester.Token,
			args: []string{"--param", "no-such-parameter=1"}, code: 1,
			want: verdict{Phase: "Failed", Reason: "ParametersInvalid", OutcomeClass: "TemplateFailed"},
		},
		{
			why: "a template that does not exist", template: "missing", token: tester.Token,
			args: []string{"--inputs-timeout", "2s"}, code: 3,
			want: verdict{Phase: "Failed", Reason: "DeadlineExceeded", OutcomeClass: "Inconclusive", LastWaitReason: "TemplateNotFound"},
		},
		{
			why: "a dormant owner", template: "passing", token: bed.OwnerToken(),
			args: []string{"--owner", dormant.Name, "--inputs-timeout", "2s"}, code: 3,
			want: verdict{Phase: "Failed", Reason: "DeadlineExceeded", OutcomeClass: "Inconclusive", LastWaitReason: "OwnerNotEligible"},
		},
		{
			why: "a privileged owner", template: "passing", token: bed.OwnerToken(),
			args: []string{"--owner", admin.Name, "--inputs-timeout", "2s"}, code: 3,
			want: verdict{Phase: "Failed", Reason: "DeadlineExceeded", OutcomeClass: "Inconclusive", LastWaitReason: "OwnerNotEligible"},
		},
		{
			why: "an owner that does not exist", template: "passing", token: bed.OwnerToken(),
			args: []string{"--owner", uuid.NewString(), "--inputs-timeout", "2s"}, code: 3,
			want: verdict{Phase: "Failed", Reason: "DeadlineExceeded", OutcomeClass: "Inconclusive", LastWaitReason: "OwnerNotEligible"},
		},
	} {
		t.Run(strings.ReplaceAll(test.why, " ", "-"), func(t *testing.T) {
			args := append([]string{"run", "--template", names[test.template], "--version", "active", "--output", "json"}, test.args...)
			result := assay(t, bed.URL, test.token, args...)
			if result.code != test.code {
				t.Fatalf("exit code %d, want %d; stdout:\n%s\nstderr:\n%s", result.code, test.code, result.stdout, result.stderr)
			}
			verdicts := result.verdicts(t)
			if len(verdicts) != 1 {
				t.Fatalf("%d verdicts, want 1: %s", len(verdicts), result.stdout)
			}
			got := verdicts[0]
			if got.Phase != test.want.Phase || got.Reason != test.want.Reason || got.OutcomeClass != test.want.OutcomeClass ||
				test.want.LastWaitReason != "" && got.LastWaitReason != test.want.LastWaitReason {
				t.Errorf("verdict %+v, want %+v", got, test.want)
			}
			if got.ExitCode == nil || *got.ExitCode != test.code {
				t.Errorf("the report's exit code is %v, want %d", got.ExitCode, test.code)
			}
			if got.Workspace.State != "deleted" && got.Workspace.State != "none" {
				t.Errorf("the workspace is %s after the run", got.Workspace.State)
			}
			if !strings.Contains(result.stderr, test.shown) {
				t.Errorf("%q is not shown:\n%s", test.shown, result.stderr)
			}
		})
	}

	t.Run("the token's own user is privileged: three ways out", func(t *testing.T) {
		result := assay(t, bed.URL, bed.OwnerToken(), "run", "--template", names["passing"], "--version", "active")
		if result.code != 3 || !strings.Contains(result.stderr, "three ways out") {
			t.Errorf("exit code %d, want 3 and the three ways out:\n%s", result.code, result.stderr)
		}
	})

	t.Run("nothing is left in Coder", func(t *testing.T) {
		requireClean(t, bed, tester.ID, before)
	})
}

func newUser(t *testing.T, bed *testbed.Bed, options testbed.UserOptions) testbed.User {
	t.Helper()
	user, err := bed.CreateUser(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// tokensOf are the IDs of the user's session tokens, those that builds minted
// included.
func tokensOf(t *testing.T, bed *testbed.Bed, user uuid.UUID) map[string]bool {
	t.Helper()
	keys, err := bed.Client(bed.OwnerToken()).Tokens(t.Context(), user.String(), codersdk.TokensFilter{IncludeAll: true})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, key := range keys {
		if key.UserID == user {
			ids[key.ID] = true
		}
	}
	return ids
}

// requireClean fails the test for a live workspace of the user, an unfinished build
// of any of its workspaces, and a session token that was not there before.
func requireClean(t *testing.T, bed *testbed.Bed, user uuid.UUID, before map[string]bool) {
	t.Helper()
	client := bed.Client(bed.OwnerToken())
	live, err := client.Workspaces(t.Context(), codersdk.WorkspaceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range live.Workspaces {
		if w.OwnerID == user {
			t.Errorf("workspace %s is left, its latest build %s/%s", w.Name, w.LatestBuild.Transition, w.LatestBuild.Job.Status)
		}
	}
	jobs, err := client.OrganizationProvisionerJobs(t.Context(), bed.OrganizationID, &codersdk.OrganizationProvisionerJobsOptions{
		Status: []codersdk.ProvisionerJobStatus{codersdk.ProvisionerJobPending, codersdk.ProvisionerJobRunning},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		t.Errorf("job %s (%s) is still %s", job.ID, job.Type, job.Status)
	}
	for id := range tokensOf(t, bed, user) {
		if !before[id] {
			t.Errorf("session token %s is left", id)
		}
	}
}
