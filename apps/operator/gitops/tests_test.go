// Package gitops_test runs the health checks for Argo CD and Flux by the engines that
// these tools use, over the objects that the scenarios of the lifecycle produce.
package gitops_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/ports"
)

// records are what a scenario stored, in order, from the new record on.
func records(t *testing.T, file string) []core.Record {
	t.Helper()
	text, err := fs.ReadFile(scenarios.Files, file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := scenario.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var stored []core.Record
	_, err = scenario.RunWith(script, scenario.Options{Begin: func(story *scenario.Story) {
		store := story.Store()
		look := func(id uuid.UUID) {
			if record, err := store.Load(context.Background(), id, ports.Live); err == nil {
				stored = append(stored, record)
			}
		}
		look(story.Test())
		store.Listen(look)
	}})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return stored
}

// objectOf is the object whose record it is, as the API server returns it.
func objectOf(t *testing.T, record *core.Record) *unstructured.Unstructured {
	t.Helper()
	test := &v1alpha1.CoderTemplateTest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderTemplateTest"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "test", UID: types.UID(record.ID.String()), Generation: record.Generation,
			CreationTimestamp: metav1.NewTime(record.CreatedAt),
		},
		Spec: v1alpha1.CoderTemplateTestSpec{
			ControlPlaneRef: v1alpha1.ControlPlaneReference{Name: "coder"}, Template: record.Spec.Template,
			Version: v1alpha1.TemplateVersionSelector(record.Spec.Version),
		},
		Status: kubernetes.StatusIn(&record.Status),
	}
	if record.Held {
		test.Finalizers = []string{v1alpha1.CleanupFinalizer}
	}
	if record.DeletionRequested() {
		deleted := metav1.NewTime(record.DeletionRequestedAt)
		test.DeletionTimestamp = &deleted
	}
	return unstructuredOf(t, test)
}

func unstructuredOf(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return u
}

// ofRecord is the only right verdict.
func ofRecord(record *core.Record) verdict {
	switch {
	case record.DeletionRequested():
		return waiting
	case record.Status.Phase == core.PhaseSucceeded:
		return passed
	case record.Status.Phase == core.PhaseFailed:
		return failed
	default:
		return waiting
	}
}

// TestEveryScenario judges each object that a scenario produces, and what it would be if
// it were about to go, changed or new: then nothing is proven, whatever its phase is.
func TestEveryScenario(t *testing.T) {
	files, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	judges := engines(t, "CoderTemplateTest")
	seen := map[verdict]int{}
	for _, file := range files {
		for _, record := range records(t, file) {
			object, want := objectOf(t, &record), ofRecord(&record)
			seen[want]++
			for name, judge := range judges {
				if got, err := judge(object); err != nil || got != want {
					t.Errorf("%s: %s says %q (%v) of %s/%s, want %s", file, name, got, err, record.Status.Phase, record.Status.Reason, want)
				}
				for _, row := range unproven {
					changed := object.DeepCopy()
					row.change(changed)
					if got, err := judge(changed); err != nil || got != waiting {
						t.Errorf("%s: %s says %q (%v) of %s, %s", file, name, got, err, record.Status.Phase, row.why)
					}
				}
			}
		}
	}
	for _, v := range []verdict{waiting, passed, failed} {
		if seen[v] == 0 {
			t.Errorf("no scenario produced an object to be judged %s", v)
		}
	}
}

// unproven are changes after which no object may count as passed or failed.
var unproven = []struct {
	why    string
	change func(object *unstructured.Unstructured)
}{
	{"about to go", func(object *unstructured.Unstructured) {
		now := metav1.NewTime(scenario.Start)
		object.SetDeletionTimestamp(&now)
	}},
	{"of an older generation", func(object *unstructured.Unstructured) { object.SetGeneration(object.GetGeneration() + 1) }},
	{"without a status", func(object *unstructured.Unstructured) { delete(object.Object, "status") }},
	{"with a status that does not say of which generation", func(object *unstructured.Unstructured) {
		unstructured.RemoveNestedField(object.Object, "status", "observedGeneration")
	}},
	{"as the API server returns a new one", func(object *unstructured.Unstructured) {
		object.Object["status"] = map[string]any{"observedGeneration": int64(-1)}
	}},
}

// TestKstatus shows what tools that know no expressions, such as helm --wait, read: the
// same, if the object has a status. The API server gives one to each new object.
func TestKstatus(t *testing.T) {
	files, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		for _, record := range records(t, file) {
			if record.Status.Phase == "" {
				continue
			}
			read, err := status.Compute(objectOf(t, &record))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := ofKstatus(read.Status); err != nil || got != ofRecord(&record) {
				t.Errorf("%s: %s is %s (%v), want %s", file, record.Status.Phase, read.Status, err, ofRecord(&record))
			}
			for _, row := range unproven {
				changed := objectOf(t, &record)
				if row.change(changed); !observes(changed) {
					continue
				}
				read, err := status.Compute(changed)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := ofKstatus(read.Status); err != nil || got != waiting {
					t.Errorf("%s: %s, %s, is %s (%v)", file, record.Status.Phase, row.why, read.Status, err)
				}
			}
		}
	}
}

// observes tells whether the status says which generation it is about.
func observes(object *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return found && err == nil
}
