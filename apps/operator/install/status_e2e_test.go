package install_test

import (
	"testing"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestNewObjectsWereObservedNever shows why no tool that compares generations takes a new
// object for one that has ended, though such tools pass what has no status.
func TestNewObjectsWereObservedNever(t *testing.T) {
	c := requireCluster(t)
	c.definitions()
	namespace := testbed.UniqueName("new")
	c.namespace(namespace)
	c.apply(`
apiVersion: coder.com/v1alpha1
kind: CoderControlPlane
metadata: {name: coder, namespace: ` + namespace + `}
spec: {external: {url: "https://coder.example.com"}}
---
apiVersion: coder.com/v1alpha1
kind: CoderTemplateTest
metadata: {name: test, namespace: ` + namespace + `}
spec: {controlPlaneRef: {name: coder}, template: acme.docker, version: {active: true}}
`)
	for _, object := range []string{"ccp/coder", "ctt/test"} {
		if got := c.kubectl("--namespace", namespace, "get", object, "-o", "jsonpath={.status.observedGeneration} {.metadata.generation}"); got != "-1 1" {
			t.Errorf("%s: observed and present generation are %q, want -1 1", object, got)
		}
	}
}
