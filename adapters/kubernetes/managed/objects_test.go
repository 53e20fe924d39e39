package managed

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

var update = flag.Bool("update", false, "write the expected objects anew")

// load reads a control plane from testdata.
func load(t *testing.T, name string) *v1alpha1.CoderControlPlane {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plane := &v1alpha1.CoderControlPlane{}
	if err := yaml.UnmarshalStrict(text, plane); err != nil {
		t.Fatal(err)
	}
	return plane
}

// manifests is what is applied for a control plane, as a file.
func manifests(t *testing.T, plane *v1alpha1.CoderControlPlane) []byte {
	t.Helper()
	var all [][]byte
	for _, object := range objects(plane) {
		fields, err := fieldsOf(object)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(fields.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return bytes.Join(all, []byte("---\n"))
}

func TestObjects(t *testing.T) {
	for _, row := range []struct{ name, why string }{
		{"minimal", "secure and usable without a word"},
		{"everything", "each field of the spec has its place"},
		{"tls", "certificates are mounted, and the spec's own variables win"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := manifests(t, load(t, row.name))
			file := filepath.Join("testdata", row.name+".objects.yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got; -update writes what is got):\n%s", row.why, diff)
			}
		})
	}
}

// Nothing that rolls the pods may depend on what tests may do or how the operator gets in.
func TestPolicyIsNoPartOfTheObjects(t *testing.T) {
	plane := load(t, "everything")
	before := manifests(t, plane)
	plane.Spec.TemplateTests = v1alpha1.TemplateTestPolicy{
		OwnerUserID: "other", AllowPrivilegedOwner: true, AllowPersonalOwner: true,
	}
	plane.Spec.OperatorAccess = v1alpha1.OperatorAccess{}
	plane.Generation++
	plane.Status.ReadyReplicas++
	if diff := cmp.Diff(string(before), string(manifests(t, plane))); diff != "" {
		t.Errorf("the objects changed (-before +after):\n%s", diff)
	}
}

func TestObjectsLeaveTheControlPlaneAlone(t *testing.T) {
	plane := load(t, "everything")
	before := plane.DeepCopy()
	manifests(t, plane)
	if diff := cmp.Diff(before, plane); diff != "" {
		t.Errorf("a cached object was changed:\n%s", diff)
	}
}

func TestServicePorts(t *testing.T) {
	for _, row := range []struct {
		why  string
		spec v1alpha1.CoderControlPlaneSpec
		want map[string]int32
	}{
		{"plain", v1alpha1.CoderControlPlaneSpec{}, map[string]int32{"http": 80}},
		{"plain on another port", withPort(443), map[string]int32{"http": 443}},
		{"both", withTLS(withPort(8080)), map[string]int32{"http": 8080, "https": 443}},
		{"a port cannot serve both, and HTTPS is what was asked for", withTLS(withPort(443)), map[string]int32{"https": 443}},
	} {
		t.Run(row.why, func(t *testing.T) {
			got := map[string]int32{}
			for _, port := range servicePorts(complete(&v1alpha1.CoderControlPlane{Spec: row.spec})) {
				got[port.Name] = port.Port
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func withPort(port int32) v1alpha1.CoderControlPlaneSpec {
	return v1alpha1.CoderControlPlaneSpec{Service: v1alpha1.ControlPlaneService{Port: port}}
}

func withTLS(spec v1alpha1.CoderControlPlaneSpec) v1alpha1.CoderControlPlaneSpec {
	spec.TLS.SecretNames = []string{"tls"}
	return spec
}

// Each kind is made, and no other: watches and rights are for these.
func TestKinds(t *testing.T) {
	made, watched := map[string]bool{}, map[string]bool{}
	for _, object := range objects(load(t, "minimal")) {
		made[fmt.Sprintf("%T", object)] = true
	}
	for _, object := range Kinds() {
		watched[fmt.Sprintf("%T", object)] = true
	}
	if diff := cmp.Diff(made, watched); diff != "" {
		t.Errorf("made and watched differ:\n%s", diff)
	}
}
