package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/sink"
)

// metricsPage is the reference of the metrics.
const metricsPage = "../../docs/reference/metrics.md"

// TestMetricsPage holds the reference against what is registered.
func TestMetricsPage(t *testing.T) {
	transitions, requests := prometheus.NewTransitions(), prometheus.NewRequests()
	requests.Observe("GET", "/buildinfo", 200, time.Second)
	failed := core.Record{Status: core.Status{Phase: core.PhaseFailed, Reason: core.ReasonTemplateDeprecated}}
	transitions.Transition(core.StoredTransition{At: time.Unix(1, 0)})
	transitions.Transition(core.StoredTransition{At: time.Unix(2, 0), After: failed})
	registry := promclient.NewRegistry()
	registry.MustRegister(transitions, requests, prometheus.NewRecords(func(context.Context) ([]core.Record, error) { return nil, nil }))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+label.GetName()+"`")
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ", "), family.GetHelp())
		if !strings.Contains(page, row+"\n") {
			t.Errorf("%s lacks the row\n%s", metricsPage, row)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(assay_[a-z_]+)`").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(names, row[1]) {
			t.Errorf("%s has %s, which nobody registers", metricsPage, row[1])
		}
	}
}

func TestSinksHearTheSame(t *testing.T) {
	one, other := sink.New(nil), sink.New(nil)
	sinks{one, other}.Transition(core.StoredTransition{After: core.Record{Name: "team/nightly"}})
	for _, heard := range []*sink.Sink{one, other} {
		if got := heard.All(); len(got) != 1 || got[0].After.Name != "team/nightly" {
			t.Errorf("one heard %v", got)
		}
	}
}

func TestListTests(t *testing.T) {
	objects := newMemory(t)
	for name, uid := range map[string]types.UID{"one": "7e57ab1e-0000-4000-8000-000000000001", "by hand": "no UUID"} {
		test := &v1alpha1.CoderTemplateTest{ObjectMeta: metav1.ObjectMeta{Namespace: storyNamespace, Name: name, UID: uid}}
		if err := objects.Create(t.Context(), test); err != nil {
			t.Fatal(err)
		}
	}
	records, err := listTests(objects)(t.Context())
	if err != nil || len(records) != 1 || records[0].Name != storyNamespace+"/one" {
		t.Errorf("records %v, error %v; want the one that can be read", records, err)
	}
	broken := interceptor.NewClient(objects, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not started")
		},
	})
	if _, err := listTests(broken)(t.Context()); err == nil {
		t.Error("a list that fails is no error")
	}
}
