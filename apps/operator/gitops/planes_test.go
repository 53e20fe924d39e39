package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// plane is a control plane of generation 3 with these conditions, as TYPE=STATUS.
func plane(phase v1alpha1.ControlPlanePhase, conditions ...string) *v1alpha1.CoderControlPlane {
	p := &v1alpha1.CoderControlPlane{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderControlPlane"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "coder", Generation: 3},
		Status:     v1alpha1.CoderControlPlaneStatus{ObservedGeneration: 3, Phase: phase},
	}
	for _, c := range conditions {
		name, status, _ := strings.Cut(c, "=")
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
			Type: name, Status: metav1.ConditionStatus(status), Reason: "Because", Message: "do something",
		})
	}
	return p
}

func TestControlPlanes(t *testing.T) {
	ready, pending := v1alpha1.ControlPlaneReady, v1alpha1.ControlPlanePending
	judges := engines(t, "CoderControlPlane")
	for _, row := range []struct {
		why  string
		of   *v1alpha1.CoderControlPlane
		want verdict
	}{
		{"it answers and lets the operator in", plane(ready, "Available=True", "OperatorAccess=True", "Reconciling=False", "Stalled=False"), passed},
		{"conditions that are missing are not true", plane(ready, "OperatorAccess=True"), passed},
		{"the operator cannot get in, so no test can run", plane(ready, "Available=True", "OperatorAccess=False"), waiting},
		{"whether the operator gets in is not known", plane(ready, "Available=True", "OperatorAccess=Unknown"), waiting},
		{"nothing is said about the operator's access", plane(ready, "Available=True"), waiting},
		{"it does not answer yet", plane(pending, "Available=False", "OperatorAccess=True"), waiting},
		{"a change is being rolled out while the old pods answer", plane(ready, "OperatorAccess=True", "Reconciling=True"), waiting},
		{"it waits for a person", plane(pending, "Available=False", "OperatorAccess=False", "Stalled=True"), failed},
		{"it answers, and waits for a person all the same", plane(ready, "OperatorAccess=True", "Stalled=True"), failed},
		{"it was told nothing by the operator", plane(""), waiting},
		{"it is pending and has no conditions", plane(pending), waiting},
	} {
		object := unstructuredOf(t, row.of)
		for name, judge := range judges {
			if got, err := judge(object); err != nil || got != row.want {
				t.Errorf("%s: %s says %q (%v), want %s", row.why, name, got, err, row.want)
			}
			for _, change := range unproven {
				changed := object.DeepCopy()
				change.change(changed)
				if got, err := judge(changed); err != nil || got != waiting {
					t.Errorf("%s, %s: %s says %q (%v)", row.why, change.why, name, got, err)
				}
			}
		}
	}
}

// TestConfigMapHoldsTheScripts keeps the ConfigMap and the scripts that are tested the
// same.
func TestConfigMapHoldsTheScripts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, kind := range []string{"CoderTemplateTest", "CoderControlPlane"} {
		script, err := os.ReadFile(filepath.Join("argocd", kind, "health.lua"))
		if err != nil {
			t.Fatal(err)
		}
		want["resource.customizations.health."+v1alpha1.GroupVersion.Group+"_"+kind] = string(script)
	}
	if diff := cmp.Diff(want, config.Data); diff != "" {
		t.Errorf("argocd-cm.yaml differs from the scripts (-scripts +config):\n%s", diff)
	}
}
