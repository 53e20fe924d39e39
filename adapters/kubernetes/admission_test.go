package kubernetes_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// fields are parts of a manifest.
type fields = map[string]any

// manifest is a test as somebody writes it, with some fields of its spec changed; a nil
// one is left out.
func manifest(namespace string, changed fields) *unstructured.Unstructured {
	spec := fields{
		"controlPlaneRef": fields{"name": "main"}, "template": "acme.docker", "version": fields{"name": "v1"},
	}
	maps.Copy(spec, changed)
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CoderTemplateTest",
		"metadata": fields{"namespace": namespace, "generateName": "test-"}, "spec": spec,
	}}
}

func long(n int) string { return strings.Repeat("a", n) }

func parameters(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = fields{"name": fmt.Sprintf("p%d", i), "value": "x"}
	}
	return list
}

// TestAdmission applies specs to a real API server. What it takes, core.Spec.Validate
// must take; what it refuses must name the field.
func TestAdmission(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	for _, row := range []struct {
		why     string
		changed fields
		// refused is what the refusal must say; empty for a spec that is taken.
		refused string
	}{
		{"the smallest spec", nil, ""},

		{"a template is needed", fields{"template": nil}, "spec.template: Required"},
		{"organization and template", fields{"template": "docker"}, "spec.template"},
		{"two names are too few for three", fields{"template": "a.b.c"}, "spec.template"},
		{"names begin with a letter or digit", fields{"template": "-acme.docker"}, "spec.template"},
		{"single hyphens only", fields{"template": "acme.do--cker"}, "spec.template"},
		{"no other characters", fields{"template": "acme.do_cker"}, "spec.template"},
		{"32 characters are the most", fields{"template": long(32) + "." + long(32)}, ""},
		{"33 are too many for an organization", fields{"template": long(33) + ".b"}, "at most 32 characters"},
		{"33 are too many for a template", fields{"template": "a." + long(33)}, "at most 32 characters"},
		{"new is reserved", fields{"template": "new.docker"}, "reserves"},
		{"create is reserved", fields{"template": "acme.create"}, "reserves"},
		{"New is not: reserved words are compared as written", fields{"template": "New.Create"}, ""},

		{"a version is needed", fields{"version": nil}, "spec.version: Required"},
		{"one of three", fields{"version": fields{}}, "exactly one"},
		{"and only one", fields{"version": fields{"name": "v1", "active": true}}, "exactly one"},
		{"active", fields{"version": fields{"active": true}}, ""},
		{"active can only be true", fields{"version": fields{"active": false}}, "can only be true"},
		{"a version's name", fields{"version": fields{"name": "v1.2_3-rc.1"}}, ""},
		{"single separators only", fields{"version": fields{"name": "v1..2"}}, "spec.version.name"},
		{"64 characters are the most", fields{"version": fields{"name": long(64)}}, ""},
		{"65 are too many", fields{"version": fields{"name": long(65)}}, "spec.version.name"},
		{"an ID", fields{"version": fields{"id": "3f2a7c1e-0000-4000-8000-000000000001"}}, ""},
		{"no other form of an ID", fields{"version": fields{"id": "{3f2a7c1e-0000-4000-8000-000000000001}"}}, "spec.version.id"},
		{"the zero UUID names nothing", fields{"version": fields{"id": "00000000-0000-0000-0000-000000000000"}}, "spec.version.id"},

		{"64 parameters are the most", fields{"parameters": parameters(64)}, ""},
		{"65 are too many", fields{"parameters": parameters(65)}, "spec.parameters"},
		{"a parameter has a name", fields{"parameters": []any{fields{"name": "", "value": "x"}}}, "spec.parameters[0].name"},
		{"of 128 characters at most", fields{"parameters": []any{fields{"name": long(128), "value": ""}}}, ""},
		{"129 are too many", fields{"parameters": []any{fields{"name": long(129), "value": ""}}}, "spec.parameters[0].name"},
		{"given once", fields{"parameters": []any{fields{"name": "a", "value": "1"}, fields{"name": "a", "value": "2"}}}, "spec.parameters[1]: Duplicate"},
		{"a value of 4096 characters at most", fields{"parameters": []any{fields{"name": "a", "value": strings.Repeat("ä", 4096)}}}, ""},
		{"4097 are too many", fields{"parameters": []any{fields{"name": "a", "value": long(4097)}}}, "spec.parameters[0].value"},
		{"a value is needed", fields{"parameters": []any{fields{"name": "a"}}}, "spec.parameters[0].value: Required"},

		{"a preset", fields{"preset": "large, with GPU"}, ""},
		{"of 128 characters at most", fields{"preset": long(129)}, "spec.preset"},

		{"60 seconds are the shortest timeout", fields{"timeoutSeconds": int64(60)}, ""},
		{"59 are too short", fields{"timeoutSeconds": int64(59)}, "spec.timeoutSeconds"},
		{"7200 are the longest", fields{"timeoutSeconds": int64(7200)}, ""},
		{"7201 are too long", fields{"timeoutSeconds": int64(7201)}, "spec.timeoutSeconds"},
		{"inputs may take the whole default timeout", fields{"inputsTimeoutSeconds": int64(900)}, ""},
		{"and no longer", fields{"inputsTimeoutSeconds": int64(901)}, "spec.inputsTimeoutSeconds"},
		{"one second at least", fields{"inputsTimeoutSeconds": int64(0)}, "spec.inputsTimeoutSeconds"},
		{"a TTL of 0 is one", fields{"ttlSecondsAfterFinished": int64(0)}, ""},
		{"a negative one is not", fields{"ttlSecondsAfterFinished": int64(-1)}, "spec.ttlSecondsAfterFinished"},

		{"a control plane is needed", fields{"controlPlaneRef": nil}, "spec.controlPlaneRef: Required"},
		{"and named", fields{"controlPlaneRef": fields{"name": ""}}, "spec.controlPlaneRef.name"},
	} {
		t.Run(row.why, func(t *testing.T) {
			object := manifest(namespace, row.changed)
			err := c.live.Create(t.Context(), object)
			if row.refused != "" {
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("error is %v, want a refusal that says %q", err, row.refused)
				}
				return
			}
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			test := &v1alpha1.CoderTemplateTest{}
			if err := c.live.Get(t.Context(), client.ObjectKeyFromObject(object), test); err != nil {
				t.Fatal(err)
			}
			record, err := kubernetes.RecordOf(test)
			if err == nil {
				err = record.Spec.Validate()
			}
			if err != nil {
				t.Errorf("the API server takes what the core refuses: %v", err)
			}
		})
	}
}

func TestTheSpecNeverChanges(t *testing.T) {
	c := requireCluster(t)
	object := manifest(c.namespace(t), nil)
	if err := c.live.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why     string
		changed []string
		value   any
	}{
		{"another template", []string{"spec", "template"}, "acme.other"},
		{"another control plane", []string{"spec", "controlPlaneRef", "name"}, "other"},
		{"a longer timeout", []string{"spec", "timeoutSeconds"}, int64(1000)},
		{"a TTL", []string{"spec", "ttlSecondsAfterFinished"}, int64(0)},
	} {
		changed := object.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, row.value, row.changed...); err != nil {
			t.Fatal(err)
		}
		err := c.live.Update(t.Context(), changed)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "never changes: make a new test") {
			t.Errorf("%s: error is %v, want a refusal that says what to do", row.why, err)
		}
	}
	labeled := object.DeepCopy()
	labeled.SetLabels(map[string]string{"team": "platform"})
	if err := c.live.Update(t.Context(), labeled); err != nil {
		t.Errorf("labels may change: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	test := manifest(namespace, nil)
	plane := &unstructured.Unstructured{Object: fields{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CoderControlPlane",
		"metadata": fields{"namespace": namespace, "name": "main"},
	}}
	for _, object := range []*unstructured.Unstructured{test, plane} {
		if err := c.live.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		object *unstructured.Unstructured
		path   []string
		want   any
	}{
		{test, []string{"spec", "timeoutSeconds"}, int64(900)},
		{plane, []string{"spec", "image"}, "ghcr.io/coder/coder:latest"},
		{plane, []string{"spec", "replicas"}, int64(1)},
		{plane, []string{"spec", "service", "type"}, "ClusterIP"},
		{plane, []string{"spec", "service", "port"}, int64(80)},
	} {
		got, _, err := unstructured.NestedFieldNoCopy(row.object.Object, row.path...)
		if err != nil || got != row.want {
			t.Errorf("%s is %v (error %v), want %v: whoever reads the object must see it", strings.Join(row.path, "."), got, err, row.want)
		}
	}
}
