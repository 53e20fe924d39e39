// Package samples_test applies the samples to a real API server and runs the promotion.
package samples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/testbed"
)

// namespaced makes a namespace on a real cluster that knows assay's kinds.
func namespaced(t *testing.T) (*testbed.Kubernetes, string) {
	t.Helper()
	c := testbed.RequireKubernetes(t)
	namespace := testbed.UniqueName("samples")
	if err := c.ApplyDefinitions(t.Context(), "../manifests/crd"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"create", "namespace", namespace},
		{"label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"},
	} {
		if _, err := c.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	return c, namespace
}

// TestSamplesAreAccepted has the real API server look at every sample.
func TestSamplesAreAccepted(t *testing.T) {
	c, namespace := namespaced(t)
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("samples %v: %v", files, err)
	}
	sources := [][]string{{"-k", "promotion"}}
	for _, file := range files {
		sources = append(sources, []string{"-f", file})
	}
	for _, source := range sources {
		args := append([]string{"--namespace", namespace, "apply", "--server-side", "--dry-run=server"}, source...)
		if output, err := c.Kubectl(t.Context(), args...); err != nil {
			t.Errorf("%s: %v: %s", source[1], err, output)
		}
	}
}

// TestNightly makes the test as the service account of the CronJob does.
func TestNightly(t *testing.T) {
	c, namespace := namespaced(t)
	if _, err := c.Kubectl(t.Context(), "--namespace", namespace, "apply", "-f", "nightly.yaml"); err != nil {
		t.Fatal(err)
	}
	object, err := c.Kubectl(t.Context(), "--namespace", namespace, "get", "configmap", "nightly-tests", "-o", `jsonpath={.data.test\.yaml}`)
	if err != nil {
		t.Fatal(err)
	}
	cronJob, err := c.Kubectl(t.Context(), "--namespace", namespace, "get", "cronjob", "nightly-tests", "-o", "jsonpath={.spec.jobTemplate.spec.template.spec.containers[0].args}")
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	if err := yaml.Unmarshal([]byte(cronJob), &args); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/tests/test.yaml", file)
	}
	account := "--as=system:serviceaccount:" + namespace + ":nightly-tests"
	args = append(args, "--namespace", namespace, account)
	first, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Kubectl(t.Context(), args...)
	if err != nil || first == second {
		t.Errorf("the second night made %q, the first %q: %v", second, first, err)
	}
	for _, pair := range [][2]string{{"get", "codertemplatetests"}, {"delete", "codertemplatetests"}, {"get", "secrets"}, {"create", "pods"}} {
		answer, err := c.Kubectl(t.Context(), "auth", "can-i", pair[0], pair[1], "--namespace", namespace, account)
		if err == nil || strings.TrimSpace(answer) != "no" {
			t.Errorf("it may %s %s: %q, %v", pair[0], pair[1], answer, err)
		}
	}
}
