package scenario_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
)

var update = flag.Bool("update", false, "write the trails of the scenario files anew")

const folder = "../../core/lifecycle/scenarios"

func names(t *testing.T) []string {
	t.Helper()
	all, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(all) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	return all
}

func load(t *testing.T, name string) *scenario.Script {
	t.Helper()
	text, err := fs.ReadFile(scenarios.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	script, err := scenario.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return script
}

// TestScenarios runs every story and compares its trail.
func TestScenarios(t *testing.T) {
	for _, name := range names(t) {
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			t.Parallel()
			script := load(t, name)
			result, err := scenario.Run(script)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(script.Text(result.Trail)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(script.Trail, result.Trail); diff != "" {
				t.Errorf("the trail differs (-expected +run); `make scenarios` writes it anew:\n%s", diff)
			}
		})
	}
}

// TestNoScenarioForgotten fails for a row of a table in docs/reference/lifecycle.md
// and for a reason that no scenario shows, and for a claim of a row that is none.
func TestNoScenarioForgotten(t *testing.T) {
	shown := map[string]bool{}
	var trails strings.Builder
	for _, name := range names(t) {
		script := load(t, name)
		for _, row := range script.Rows() {
			if !slices.Contains(tableRows, row) {
				t.Errorf("%s shows the row %q, which is not in the list of rows", name, row)
			}
			shown[row] = true
		}
		trails.WriteString(strings.Join(script.Trail, "\n"))
		trails.WriteString("\n")
	}
	for _, row := range tableRows {
		if !shown[row] {
			t.Errorf("no scenario shows the row %q", row)
		}
	}
	words := strings.FieldsFunc(trails.String(), func(r rune) bool { return strings.ContainsRune(" \n,/", r) })
	for _, reason := range reasons(t) {
		if !slices.Contains(words, reason) {
			t.Errorf("no scenario shows the reason %s", reason)
		}
	}
}
