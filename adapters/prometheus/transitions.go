package prometheus

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// stageBuckets are in seconds: from what a fake takes to the longest timeout.
var stageBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200}

// Transitions is a StatusSink that counts results and measures stages. A stage that
// began before the process did is not measured: nobody here saw it begin.
type Transitions struct {
	results *prometheus.CounterVec
	stages  *prometheus.HistogramVec

	mu sync.Mutex
	// underway are the tests that are not done.
	underway map[uuid.UUID]entered
}

// entered is when a test came into its stage; no time is when nobody saw it.
type entered struct {
	stage core.Stage
	at    time.Time
}

var (
	_ ports.StatusSink     = (*Transitions)(nil)
	_ prometheus.Collector = (*Transitions)(nil)
)

// NewTransitions makes a sink that saw nothing yet.
func NewTransitions() *Transitions {
	return &Transitions{
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_test_results_total",
			Help: "Results of tests, by phase (Succeeded, Failed), outcome class and reason.",
		}, []string{"phase", "class", "reason"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "assay_test_stage_seconds",
			Help:    "How long tests were in a stage: inputs, create, build, agents, delete (after a pass) and cleanup (after a failure).",
			Buckets: stageBuckets,
		}, []string{"stage"}),
		underway: map[uuid.UUID]entered{},
	}
}

// Transition implements ports.StatusSink.
func (t *Transitions) Transition(transition core.StoredTransition) {
	before, after := &transition.Before, &transition.After
	if after.Status.Phase.Final() && !before.Status.Phase.Final() {
		t.results.WithLabelValues(string(after.Status.Phase), string(after.Status.OutcomeClass), string(after.Status.Reason)).Inc()
	}
	t.measure(after.ID, before.Status.Phase == "", after.Stage(), transition.At)
}

// measure notes the stage that a test is in. Stages only follow each other: what looks
// like an earlier one is a wait of the later one.
func (t *Transitions) measure(test uuid.UUID, isNew bool, stage core.Stage, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := entered{stage: stage}
	was, known := t.underway[test]
	switch {
	case known && stage <= was.stage:
		return
	case known:
		now.at = at
		if !was.at.IsZero() {
			t.stages.WithLabelValues(was.stage.String()).Observe(max(0, at.Sub(was.at).Seconds()))
		}
	case isNew:
		now.at = at
	}
	if stage == core.StageDone {
		delete(t.underway, test)
		return
	}
	t.underway[test] = now
}

// Describe implements prometheus.Collector.
func (t *Transitions) Describe(into chan<- *prometheus.Desc) {
	t.results.Describe(into)
	t.stages.Describe(into)
}

// Collect implements prometheus.Collector.
func (t *Transitions) Collect(into chan<- prometheus.Metric) {
	t.results.Collect(into)
	t.stages.Collect(into)
}
