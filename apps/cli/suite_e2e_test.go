package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestRealSuite runs ten tests of a suite side by side on a real Coder: some pass, some
// fail as they should, some as they should not.
func TestRealSuite(t *testing.T) {
	bed := testbed.Require(t)
	tester := newUser(t, bed, testbed.UserOptions{Activate: true})
	before := tokensOf(t, bed, tester.ID)
	var replace []string
	for key, template := range map[string]testbed.Template{
		"passing": testbed.Passing(), "startup": testbed.StartupFails(), "build": testbed.BuildFails(),
		"agentless": testbed.NoAgent(), "parameters": testbed.Parameters(),
	} {
		pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName(key), template)
		if err != nil {
			t.Fatal(err)
		}
		replace = append(replace, "$"+key, "coder."+pushed.TemplateName)
	}
	file := filepath.Join(t.TempDir(), "suite.yaml")
	content := strings.NewReplacer(replace...).Replace(`
name: ten
tests:
  - {name: passes, template: $passing}
  - {name: passes too, template: $passing}
  - {name: script fails, template: $startup, expect: AgentStartError}
  - {name: script must work, template: $startup}
  - {name: build fails, template: $build, expect: TemplateFailed}
  - {name: no agents, template: $agentless, expect: NoAgents}
  - {name: agents wanted, template: $agentless, expect: AgentStartError}
  - {name: typo, template: $parameters, parameters: {no-such-parameter: 1}, expect: ParametersInvalid}
  - {name: unknown version, template: $passing, version: no-such-version, inputsTimeout: 2s, expect: Inconclusive}
  - {name: unknown template, template: coder.no-such-template, inputsTimeout: 2s}
`)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	result := assay(t, bed.URL, tester.Token, "run", "--suite", file, "--parallel", "10", "--output", "json")
	if result.code != 1 {
		t.Errorf("exit code %d, want 1: two went otherwise than expected\n%s", result.code, result.stderr)
	}
	yes, no := true, false
	type row struct {
		Case, Verdict, Reason string
		Met                   *bool
		Code                  int
	}
	want := []row{
		{"passes", "PASSED", "Succeeded", nil, 0},
		{"passes too", "PASSED", "Succeeded", nil, 0},
		{"script fails", "FAILED", "AgentStartError", &yes, 0},
		{"script must work", "FAILED", "AgentStartError", nil, 1},
		{"build fails", "FAILED", "BuildFailed", &yes, 0},
		{"no agents", "FAILED", "NoAgents", &yes, 0},
		{"agents wanted", "FAILED", "NoAgents", &no, 1},
		{"typo", "FAILED", "ParametersInvalid", &yes, 0},
		{"unknown version", "INCONCLUSIVE", "DeadlineExceeded", &yes, 0},
		{"unknown template", "INCONCLUSIVE", "DeadlineExceeded", nil, 3},
	}
	var got []row
	for _, v := range result.verdicts(t) {
		got = append(got, row{v.Case, v.Verdict, v.Reason, v.Met, *v.ExitCode})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, result.stderr)
	}
	requireClean(t, bed, tester.ID, before)
}
