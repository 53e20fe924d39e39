package managed

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/testbed"
)

func planeOf(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CoderControlPlane",
		"metadata": map[string]any{"namespace": namespace, "name": name},
	}
	if spec != nil {
		object["spec"] = spec
	}
	return &unstructured.Unstructured{Object: object}
}

// The definition and the code must not disagree about what an unset field means.
func TestDefaultsOfTheDefinition(t *testing.T) {
	definition := &apiextensions.CustomResourceDefinition{}
	if err := readManifest(planesFile, definition); err != nil {
		t.Fatal(err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	want := complete(&v1alpha1.CoderControlPlane{})
	for _, row := range []struct {
		field string
		got   *apiextensions.JSON
		want  any
	}{
		{"image", spec.Properties["image"].Default, want.Image},
		{"replicas", spec.Properties["replicas"].Default, want.Replicas},
		{"service.type", spec.Properties["service"].Properties["type"].Default, want.Service.Type},
		{"service.port", spec.Properties["service"].Properties["port"].Default, want.Service.Port},
	} {
		text, err := json.Marshal(row.want)
		if err != nil {
			t.Fatal(err)
		}
		if row.got == nil || string(row.got.Raw) != string(text) {
			t.Errorf("the default of spec.%s is %v in the definition, %s in the code", row.field, row.got, text)
		}
	}
}

func TestDefaultsAreShown(t *testing.T) {
	s := newStage(t)
	object := planeOf(s.namespace, "coder", nil)
	s.create(object)
	stored := planeOf("", "", nil)
	s.read("coder", stored)
	want := map[string]any{
		"image": defaultImage, "replicas": int64(defaultReplicas),
		"service": map[string]any{"type": string(defaultServiceType), "port": int64(defaultServicePort)},
	}
	if diff := cmp.Diff(want, stored.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestAdmission(t *testing.T) {
	s := newStage(t)
	external := map[string]any{"external": map[string]any{"url": "https://coder.example.com"}}
	volumes := func(name string) map[string]any {
		return map[string]any{"volumes": []any{map[string]any{"name": name, "emptyDir": map[string]any{}}}}
	}
	secrets := func(n int, name string) map[string]any {
		list := make([]any, n)
		for i := range list {
			list[i] = name
		}
		return map[string]any{"tls": map[string]any{"secretNames": list}}
	}
	for i, row := range []struct {
		why, name string
		spec      map[string]any
		refused   string
	}{
		{"a Service's name", "c-1", nil, ""},
		{"of one letter", "c", nil, ""},
		{"of 63 characters", strings.Repeat("a", 63), nil, ""},
		{"64 are too many", strings.Repeat("a", 64), nil, "metadata.name names the Service"},
		{"a digit comes not first", "1c", nil, "metadata.name names the Service"},
		{"no dots", "coder.main", nil, "metadata.name names the Service"},
		{"an external one has no Service", "coder.main", external, ""},
		{"nor a limit of 63", strings.Repeat("b", 64), external, ""},
		{"a volume", "", volumes("cache"), ""},
		{"the volumes of certificates are the operator's", "", volumes("assay-tls-0"), "rename the volume"},
		{"certificates", "", secrets(16, "tls"), ""},
		{"17 are too many", "", secrets(17, "tls"), "spec.tls.secretNames"},
		{"a Secret has a name", "", secrets(1, ""), "spec.tls.secretNames[0]"},
		{"a port", "", map[string]any{"service": map[string]any{"port": int64(0)}}, "spec.service.port"},
		{"a type of Service", "", map[string]any{"service": map[string]any{"type": "ExternalName"}}, "spec.service.type"},
		{"no fewer than no pods", "", map[string]any{"replicas": int64(-1)}, "spec.replicas"},
		{"an image", "", map[string]any{"image": ""}, "spec.image"},
	} {
		t.Run(row.why, func(t *testing.T) {
			if row.name == "" {
				row.name = fmt.Sprintf("row-%d", i)
			}
			err := s.admin.Create(t.Context(), planeOf(s.namespace, row.name, row.spec))
			if row.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if row.refused != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), row.refused)) {
				t.Errorf("error is %v, want a refusal that says %q", err, row.refused)
			}
		})
	}
}

// Control planes that are older than the rule for names stay usable as far as they were.
func TestNamesOlderThanTheirRule(t *testing.T) {
	s := newStageOf(t, testbed.RequireOwnKubernetes(t))
	definition := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "codercontrolplanes.coder.com"}}
	setRules := func(rules apiextensions.ValidationRules) apiextensions.ValidationRules {
		t.Helper()
		s.read(definition.Name, definition)
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		before := schema.XValidations
		schema.XValidations = rules
		if err := s.admin.Update(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
		return before
	}
	rules := setRules(nil)
	if len(rules) == 0 {
		t.Fatal("the definition has no rules at its root: the check below would prove nothing")
	}
	old, outside := "old.managed", "old.external"
	s.eventually("the rule to be off", func(ctx context.Context) (bool, error) {
		err := s.admin.Create(ctx, planeOf(s.namespace, old, nil))
		return err == nil, nil
	})
	s.create(planeOf(s.namespace, outside, map[string]any{"external": map[string]any{"url": "https://coder.example.com"}}))
	setRules(rules)
	s.eventually("the rule to be on", func(ctx context.Context) (bool, error) {
		probe := planeOf(s.namespace, "probe.managed", nil)
		if err := s.admin.Create(ctx, probe); err != nil {
			return apierrors.IsInvalid(err), nil
		}
		return false, s.admin.Delete(ctx, probe)
	})

	plane := &v1alpha1.CoderControlPlane{}
	s.read(old, plane)
	plane.Status.Phase = v1alpha1.ControlPlanePending
	if err := s.admin.Status().Update(t.Context(), plane); err != nil {
		t.Errorf("status: %v", err)
	}
	plane.Finalizers = []string{"example.com/hold"}
	plane.Spec.Replicas = new(int32(2))
	if err := s.admin.Update(t.Context(), plane); err != nil {
		t.Errorf("spec: %v", err)
	}
	s.read(outside, plane)
	plane.Spec.External = nil
	if err := s.admin.Update(t.Context(), plane); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("an external one became managed: %v", err)
	}
}
