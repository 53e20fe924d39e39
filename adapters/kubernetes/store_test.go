package kubernetes_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports/porttest"
)

// TestContract runs the suite of a store of records over a real API server.
func TestContract(t *testing.T) {
	c := requireCluster(t)
	porttest.WorkspaceStore(t, func(t *testing.T) porttest.StoreFixture {
		namespace := c.namespace(t)
		objects := map[uuid.UUID]*v1alpha1.CoderTemplateTest{}
		return porttest.StoreFixture{
			// The API server looks for finalizers before it deletes, and not again while it does.
			OvertakenHolds: true,
			Store:          kubernetes.NewStore(c.cached, c.live),
			Create: func(t *testing.T, record core.Record) core.Record {
				t.Helper()
				object := objectOf(namespace, &record)
				if err := c.live.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
				created, err := kubernetes.RecordOf(object)
				if err != nil {
					t.Fatal(err)
				}
				objects[created.ID] = object
				eventually(t, "the cache to know the test", func(ctx context.Context) (bool, error) {
					err := c.cached.Get(ctx, client.ObjectKeyFromObject(object), &v1alpha1.CoderTemplateTest{})
					return err == nil, client.IgnoreNotFound(err)
				})
				return created
			},
			RequestDeletion: func(t *testing.T, id uuid.UUID) {
				t.Helper()
				if err := c.live.Delete(t.Context(), objects[id].DeepCopy()); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

// objectOf is the object that a person would apply to have the test.
func objectOf(namespace string, record *core.Record) *v1alpha1.CoderTemplateTest {
	test := &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "test-"},
		Spec: v1alpha1.CoderTemplateTestSpec{
			ControlPlaneRef: v1alpha1.ControlPlaneReference{Name: record.Spec.ControlPlaneRef},
			Template:        record.Spec.Template, Version: v1alpha1.TemplateVersionSelector(record.Spec.Version), Preset: record.Spec.Preset,
			TimeoutSeconds: int32(record.Spec.TimeoutSeconds), //nolint:gosec // bounded by core.MaxTimeoutSeconds
		},
	}
	if record.DeletionPolicy != "" {
		test.Annotations = map[string]string{v1alpha1.DeletionPolicyAnnotation: record.DeletionPolicy}
	}
	for _, parameter := range record.Spec.Parameters {
		test.Spec.Parameters = append(test.Spec.Parameters, v1alpha1.TemplateParameter(parameter))
	}
	return test
}
