package prometheus_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// tell tells stories to a sink, and returns the records that they ended with.
func tell(t *testing.T, sink ports.StatusSink, secrets *[]string, names ...string) []core.Record {
	t.Helper()
	var records []core.Record
	for _, name := range names {
		text, err := fs.ReadFile(scenarios.Files, name+".txt")
		if err != nil {
			t.Fatal(err)
		}
		script, err := scenario.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		result, err := scenario.RunWith(script, scenario.Options{
			Sink:  sink,
			Begin: func(story *scenario.Story) { *secrets = append(*secrets, story.Token().Reveal()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, parameter := range result.Record.Spec.Parameters {
			*secrets = append(*secrets, parameter.Value)
		}
		records = append(records, result.Record)
	}
	return records
}

func TestExposition(t *testing.T) {
	transitions, requests := prometheus.NewTransitions(), prometheus.NewRequests()
	var secrets []string
	records := tell(t, transitions, &secrets,
		"010-pass", "020-agent-start-error", "012-pass-with-preset", "082-refused-parameter", "160-retained", "170-plane-gone-while-running", "140-delete-fails")
	records = append(records, core.Record{})
	requests.Observe("GET", "/users/{user}", 200, 20*time.Millisecond)
	requests.Observe("GET", "/users/{user}", 0, 30*time.Second)
	requests.Observe("POST", "/users/{user}/workspaces", 409, time.Second)
	registry := client.NewPedanticRegistry()
	registry.MustRegister(transitions, requests, prometheus.NewRecords(func(context.Context) ([]core.Record, error) { return records, nil }))

	golden, err := os.Open("testdata/exposition.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer golden.Close()
	if err := testutil.GatherAndCompare(registry, golden); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(secrets) < 8 {
		t.Fatalf("only %d secrets are known: the stories have parameters", len(secrets))
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if slices.Contains(secrets, label.GetValue()) {
					t.Errorf("%s holds the token or a parameter value: %s", family.GetName(), label)
				}
			}
		}
	}
}

// TestNoStoryMakesManySeries tells everything that can happen to a test.
func TestNoStoryMakesManySeries(t *testing.T) {
	transitions := prometheus.NewTransitions()
	files, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	var secrets []string
	for _, file := range files {
		tell(t, transitions, &secrets, strings.TrimSuffix(file, ".txt"))
	}
	if got := testutil.CollectAndCount(transitions, "assay_test_results_total"); got < 20 || got > 40 {
		t.Errorf("%d series of results: one for each reason is to be expected", got)
	}
	if got := testutil.CollectAndCount(transitions, "assay_test_stage_seconds"); got != 6 {
		t.Errorf("%d stages are measured, want 6", got)
	}
}

func TestAStageThatNobodySawBeginIsNotMeasured(t *testing.T) {
	transitions := prometheus.NewTransitions()
	building := core.Record{Status: core.Status{Phase: core.PhaseRunning, Reason: core.ReasonWaitingForBuild}}
	building.Status.WorkspaceID[0] = 1
	agents := building
	agents.Status.Reason = core.ReasonWaitingForAgents
	deleting := agents
	deleting.Status.AgentsReadyTime = time.Unix(100, 0)
	transitions.Transition(core.StoredTransition{At: time.Unix(50, 0), Before: building, After: agents})
	if got := testutil.CollectAndCount(transitions, "assay_test_stage_seconds"); got != 0 {
		t.Errorf("%d stages are measured that began before the process", got)
	}
	transitions.Transition(core.StoredTransition{At: time.Unix(100, 0), Before: agents, After: deleting})
	if got := testutil.CollectAndCount(transitions, "assay_test_stage_seconds"); got != 0 {
		t.Errorf("%d stages are measured: when the agents began is not known either", got)
	}
}

func TestAListThatFailsIsNoZero(t *testing.T) {
	registry := client.NewRegistry()
	registry.MustRegister(prometheus.NewRecords(func(context.Context) ([]core.Record, error) { return nil, errors.New("no cache") }))
	if families, err := registry.Gather(); err == nil || len(families) > 0 {
		t.Errorf("gathered %v, error %v", families, err)
	}
}

func TestContract(t *testing.T) {
	porttest.StatusSink(t, func(*testing.T) ports.StatusSink { return prometheus.NewTransitions() })
}
