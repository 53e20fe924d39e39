package sim_test

import (
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/fakes/sim"
)

// The two tests disturb some calls of every story; cmd/sim with -stories all of them.

func TestCrashAtSomeCalls(t *testing.T) { disturb(t, sim.CrashBefore, sim.CrashAfter) }

func TestSecondEngineAtSomeCalls(t *testing.T) { disturb(t, sim.SecondSteps, sim.SecondFinishes) }

// disturb disturbs every scenario.
func disturb(t *testing.T, ways ...sim.Way) {
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var points, skipped, runs atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d stories: %d calls disturbed, each in %d ways (%d more calls only repeat a step); %d runs",
			len(names), points.Load(), len(ways), skipped.Load(), runs.Load())
	})
	for i, name := range names {
		if i%stories != 0 {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			t.Parallel()
			report, err := sim.CrashEverywhere(story(t, name), sim.CrashOptions{Ways: ways, Every: some, First: i})
			if err != nil {
				t.Fatal(err)
			}
			points.Add(int64(report.Points))
			skipped.Add(int64(report.Skipped))
			runs.Add(int64(report.Runs))
			for i, finding := range report.Findings {
				if i == 3 {
					t.Errorf("and %d more", len(report.Findings)-i)
					break
				}
				t.Errorf("%s at call %d (%s):\n%v\n%s", finding.Way, finding.Call, finding.Where, finding.Violations, strings.Join(finding.Trail, "\n"))
			}
		})
	}
}

// story reads a scenario file.
func story(t *testing.T, name string) *scenario.Script {
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
