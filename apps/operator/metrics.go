package operator

import (
	"context"
	"fmt"

	promclient "github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// sinks tells each transition to all of them.
type sinks []ports.StatusSink

// Transition implements ports.StatusSink.
func (s sinks) Transition(transition core.StoredTransition) {
	for _, sink := range s {
		sink.Transition(transition)
	}
}

// serveMetrics has the manager's metrics server serve the operator's own metrics, while
// the operator runs.
func serveMetrics(lifecycle fx.Lifecycle, env Env, m manager.Manager, transitions *prometheus.Transitions) {
	collectors := append([]promclient.Collector{transitions, prometheus.NewRecords(listTests(m.GetClient()))}, env.Collectors...)
	lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error {
			for _, collector := range collectors {
				if err := metrics.Registry.Register(collector); err != nil {
					return fmt.Errorf("register metrics: %w", err)
				}
			}
			return nil
		},
		OnStop: func(context.Context) error {
			for _, collector := range collectors {
				metrics.Registry.Unregister(collector)
			}
			return nil
		},
	})
}

// listTests lists the tests that the cache knows. One that nobody but a person can have
// written is left out: its status cannot be read.
func listTests(reader client.Reader) func(ctx context.Context) ([]core.Record, error) {
	return func(ctx context.Context) ([]core.Record, error) {
		var list v1alpha1.CoderTemplateTestList
		if err := reader.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list tests: %w", err)
		}
		records := make([]core.Record, 0, len(list.Items))
		for i := range list.Items {
			if record, err := kubernetes.RecordOf(&list.Items[i]); err == nil {
				records = append(records, record)
			}
		}
		return records, nil
	}
}
