package install_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/assay-dev/assay/adapters/testbed"
)

// cluster is a real API server, worked with through kubectl.
type cluster struct {
	*testbed.Kubernetes
	t *testing.T
}

func requireCluster(t *testing.T) cluster {
	t.Helper()
	return cluster{testbed.RequireKubernetes(t), t}
}

func (c cluster) kubectl(args ...string) string {
	c.t.Helper()
	output, err := c.Kubectl(c.t.Context(), args...)
	if err != nil {
		c.t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return output
}

// namespace makes a namespace if there is none of this name.
func (c cluster) namespace(name string) {
	c.t.Helper()
	if _, err := c.Kubectl(c.t.Context(), "create", "namespace", name); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
		c.t.Fatal(err)
	}
}

// apply applies objects from the server's side.
func (c cluster) apply(text string, flags ...string) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.kubectl(append([]string{"apply", "--server-side", "--force-conflicts", "-f", file}, flags...)...)
}

// definitions applies the definitions for real.
func (c cluster) definitions() {
	c.t.Helper()
	if err := c.ApplyDefinitions(c.t.Context(), "../manifests/crd"); err != nil {
		c.t.Fatal(err)
	}
}

// may asks what a service account may do.
func (c cluster) may(account, verb, resource, namespace string) bool {
	c.t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	args := []string{"auth", "can-i", verb, resource, "--subresource=" + subresource, "--as=system:serviceaccount:" + account}
	if namespace == "" {
		args = append(args, "--all-namespaces")
	} else {
		args = append(args, "--namespace="+namespace)
	}
	output, err := c.Kubectl(c.t.Context(), args...)
	var exit *exec.ExitError
	switch answer := strings.Fields(output + " ?")[0]; {
	case answer == "yes" && err == nil:
		return true
	case answer == "no" && errors.As(err, &exit):
		return false
	default:
		c.t.Fatalf("kubectl auth can-i %s %s: %q, %v", verb, resource, output, err)
		return false
	}
}

// helm runs helm and returns what it writes.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), testbed.RequireHelm(t), args...)
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig(t)}
	output, err := command.CombinedOutput()
	return string(output), err
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	return testbed.RequireKubernetes(t).Kubeconfig()
}

// render renders the chart.
func render(t *testing.T, args ...string) string {
	t.Helper()
	output, err := helm(t, append([]string{"template", "assay", "../chart"}, args...)...)
	if err != nil {
		t.Fatalf("helm template: %v: %s", err, output)
	}
	return output
}

// parse splits a stream of objects.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("%v:\n%s", err, text)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// find returns the only object of a kind.
func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("found %d of kind %s, want one", len(found), kind)
	}
	return found[0]
}

// without leaves out the objects of a kind.
func without(t *testing.T, objects []*unstructured.Unstructured, kind string) string {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		if object.GetKind() == kind {
			continue
		}
		encoded, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n")
		text.Write(encoded)
	}
	return text.String()
}

// arguments are those of the operator's container.
func arguments(t *testing.T, deployment *unstructured.Unstructured) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("found %d containers: %v", len(containers), err)
	}
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil || len(args) == 0 {
		t.Fatalf("arguments %v: %v", args, err)
	}
	return args
}

// podOf is the pod that a deployment makes, but for its service account, which a dry run
// does not make.
func podOf(t *testing.T, deployment *unstructured.Unstructured) string {
	t.Helper()
	spec, _, err := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	delete(spec, "serviceAccountName")
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": spec,
		"metadata": map[string]any{"name": "probe", "namespace": deployment.GetNamespace()},
	}}
	text, err := pod.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
