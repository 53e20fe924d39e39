package server_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
)

// TestScenariosOnSQLite tells every story of the core through the server: its API, its
// store, its leases and its driver. What it comes to must be what the bare engine comes to.
func TestScenariosOnSQLite(t *testing.T) {
	eachStory(t, func(t *testing.T, script *scenario.Script) (result *scenario.Result) {
		synctest.Test(t, func(t *testing.T) {
			store, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "server.db"), systemclock.New())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			result = throughServer(t, script, store, store.Changes)
		})
		return result
	})
}

// TestScenariosOnPostgres is the same on PostgreSQL. Its connections are outside of the
// bubble, and cannot tell those inside of changes.
func TestScenariosOnPostgres(t *testing.T) {
	testbed.RequirePostgres(t)
	eachStory(t, func(t *testing.T, script *scenario.Script) (result *scenario.Result) {
		store, err := sqlstore.OpenPostgres(t.Context(), testbed.RequirePostgres(t), systemclock.New())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		synctest.Test(t, func(t *testing.T) { result = throughServer(t, script, store, nil) })
		return result
	})
}

// oneMoreStep are the stories in which a step that the driver makes to be sure repeats a
// request that changed nothing.
var oneMoreStep = map[string]string{
	"144-cancel-forbidden": "a wish that came around a step is looked at again, and the cancel that the template forbids is asked for once more",
}

func throughServer(t *testing.T, script *scenario.Script, store *sqlstore.Store, changes func(context.Context, func(uuid.UUID)) error) *scenario.Result {
	t.Helper()
	f := newFront(t, store, changes)
	defer f.kill()
	result, err := scenario.RunWith(script, scenario.Options{Front: f})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func eachStory(t *testing.T, tell func(t *testing.T, script *scenario.Script) *scenario.Result) {
	t.Helper()
	files, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(scenarios.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := scenario.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			bare, err := scenario.Run(script)
			if err != nil {
				t.Fatal(err)
			}
			result := tell(t, script)
			want, got := cameTo(bare), cameTo(result)
			if oneMoreStep[name] != "" {
				got = slices.Compact(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("it came to something else (-bare engine +server):\n%s\ntrail:\n%s", diff, strings.Join(result.Trail, "\n"))
			}
		})
	}
}

// cameTo is the changing requests of a story, without their times, and how it ended.
func cameTo(result *scenario.Result) []string {
	var lines []string
	for _, line := range result.Trail {
		if _, request, ok := strings.Cut(line, " > "); ok {
			lines = append(lines, request)
		}
	}
	status := &result.Record.Status
	lines = append(lines, fmt.Sprint(status.Phase, " ", status.Reason, " ", status.OutcomeClass, " held: ", result.Record.Held))
	for _, condition := range status.Conditions {
		lines = append(lines, fmt.Sprint(condition.Type, " ", condition.Status, " ", condition.Reason))
	}
	return lines
}
