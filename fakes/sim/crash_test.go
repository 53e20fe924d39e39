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

func TestCrashAtEveryCall(t *testing.T) {
	everywhere(t, sim.CrashBefore, sim.CrashAfter)
}

func TestSecondEngineAtEveryCall(t *testing.T) {
	everywhere(t, sim.SecondSteps, sim.SecondFinishes)
}

// everywhere disturbs every scenario at every call.
func everywhere(t *testing.T, ways ...sim.Way) {
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var points, skipped, runs atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d stories: %d calls disturbed (%d more only repeat a step), %d runs", len(names), points.Load(), skipped.Load(), runs.Load())
	})
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := fs.ReadFile(scenarios.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			script, err := scenario.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			report, err := sim.CrashEverywhere(script, nil, ways...)
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
