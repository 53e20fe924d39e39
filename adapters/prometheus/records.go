package prometheus

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/core"
)

// listTimeout bounds how long a scrape waits for the list of tests.
const listTimeout = 5 * time.Second

var (
	testsDesc = prometheus.NewDesc("assay_tests",
		"Tests that exist, by phase and outcome class; a test without a result has no class.", []string{"phase", "class"}, nil)
	cleanupDesc = prometheus.NewDesc("assay_tests_cleanup_pending",
		"Tests whose run ended and whose workspace is still to be deleted.", nil, nil)
	leakRiskDesc = prometheus.NewDesc("assay_tests_leak_risk",
		"Tests whose run ended while a workspace can still exist that nobody asked to retain. Those being cleaned up are among them.", nil, nil)
)

// Records is a Collector that counts the tests that exist when it is asked.
type Records struct {
	list func(ctx context.Context) ([]core.Record, error)
}

var _ prometheus.Collector = (*Records)(nil)

// NewRecords makes a collector. list is called for each scrape and must be cheap, as a
// read from a cache is.
func NewRecords(list func(ctx context.Context) ([]core.Record, error)) *Records {
	return &Records{list: list}
}

// Describe implements prometheus.Collector.
func (r *Records) Describe(into chan<- *prometheus.Desc) {
	into <- testsDesc
	into <- cleanupDesc
	into <- leakRiskDesc
}

// Collect implements prometheus.Collector. A list that fails is an error of the scrape:
// no number is better than one that says that no test may leak.
func (r *Records) Collect(into chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	records, err := r.list(ctx)
	if err != nil {
		into <- prometheus.NewInvalidMetric(testsDesc, err)
		return
	}
	type kind struct {
		phase core.Phase
		class core.OutcomeClass
	}
	// What is usual is there with 0, so that an alert sees it go from 0 to 1.
	counts := map[kind]int{
		{phase: core.PhasePending}: 0, {phase: core.PhaseRunning}: 0, {core.PhaseSucceeded, core.OutcomePassed}: 0,
		{core.PhaseFailed, core.OutcomeTemplateFailed}: 0, {core.PhaseFailed, core.OutcomeInconclusive}: 0,
	}
	cleanups, leaks := 0, 0
	for i := range records {
		record := &records[i]
		k := kind{record.Status.Phase, record.Status.OutcomeClass}
		if k.phase == "" {
			k.phase = core.PhasePending
		}
		counts[k]++
		if record.Stage() == core.StageCleanup {
			cleanups++
		}
		if record.LeakRisk() {
			leaks++
		}
	}
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		into <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	for k, count := range counts {
		gauge(testsDesc, count, string(k.phase), string(k.class))
	}
	gauge(cleanupDesc, cleanups)
	gauge(leakRiskDesc, leaks)
}
