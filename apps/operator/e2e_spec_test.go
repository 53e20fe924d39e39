package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestSpecThroughKubectl shows what the API server alone sees to: nobody operates.
func TestSpecThroughKubectl(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), nil)
	s.templates["docker"] = "acme.docker"
	s.test("fixed", "docker", "")
	if _, err := s.cluster.Kubectl(t.Context(), "--namespace", s.namespace, "patch", "ctt", "fixed", "--type=merge", "--patch", `{"spec":{"timeoutSeconds":120}}`); err == nil ||
		!strings.Contains(err.Error(), "never changes") {
		t.Errorf("a change of the spec ends with %v", err)
	}
	manifest := "{apiVersion: coder.com/v1alpha1, kind: CoderTemplateTest, metadata: {name: dry}, spec: {controlPlaneRef: {name: coder}, template: acme.docker, version: {active: true}}}"
	output := s.dryRun(manifest)
	if !strings.Contains(output, "created (server dry run)") {
		t.Errorf("a dry run says %s", output)
	}
	if list := s.kubectl("--namespace", s.namespace, "get", "ctt", "-o", "name"); strings.Contains(list, "dry") {
		t.Error("a dry run made a test")
	}
	if defaults := s.kubectl("--namespace", s.namespace, "get", "ctt", "fixed", "-o", "jsonpath={.spec.timeoutSeconds}"); defaults != "900" {
		t.Errorf("the default timeout is %s", defaults)
	}
}

// TestRetain keeps a workspace where both the test and the control plane want that, and
// deletes it once the test does not.
func TestRetain(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"startup": testbed.StartupFails()})
	o := s.operate()
	s.controlPlane()
	keeping := func(name string) {
		s.mustApply(fmt.Sprintf("{apiVersion: coder.com/v1alpha1, kind: CoderTemplateTest, metadata: {name: %s, annotations: {coder.com/deletion-policy: retain}}, "+
			"spec: {controlPlaneRef: {name: coder}, template: %s, version: {active: true}}}", name, s.templates["startup"]))
	}
	keeping("refused")
	if got := s.awaitEnd("refused"); got.workspaceDeleted() != "True/Deleted" {
		t.Errorf("without the control plane's leave: %+v", got)
	}
	s.kubectl("--namespace", s.namespace, "patch", "ccp", "coder", "--type=merge", "--patch", `{"spec":{"templateTests":{"allowRetain":true}}}`)
	keeping("kept")
	s.await("kept", "retained", func(got status) bool { return got.workspaceDeleted() == "False/Retained" })
	if n := len(s.workspaces()); n != 1 {
		t.Errorf("%d workspaces are there, want the one that is kept", n)
	}
	s.kubectl("--namespace", s.namespace, "annotate", "--overwrite", "ctt", "kept", "coder.com/deletion-policy=delete")
	if got := s.awaitEnd("kept"); got.workspaceDeleted() != "True/Deleted" {
		t.Errorf("after the change of mind: %+v", got)
	}
	s.requireClean()
	o.stop(t)
}

// TestDefinitionsAreUpgraded installs the first definitions that there were, stores objects,
// upgrades, and finds them as they were and at work.
func TestDefinitionsAreUpgraded(t *testing.T) {
	t.Parallel()
	s := newStageOn(t, testbed.RequireOwnKubernetes(t), testbed.Require(t), map[string]testbed.Template{"passing": testbed.Passing()}, "testdata/crd-first")
	s.controlPlane()
	s.test("older", "passing", "")
	spec := func(kind, name string) string {
		return s.kubectl("--namespace", s.namespace, "get", kind, name, "-o", "jsonpath={.metadata.uid} {.spec}")
	}
	before := fmt.Sprint(spec("ctt", "older"), spec("ccp", "coder"))
	if err := s.cluster.ApplyDefinitions(t.Context(), "manifests/crd"); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(spec("ctt", "older"), spec("ccp", "coder")); after != before {
		t.Errorf("the upgrade made\n%s\nout of\n%s", after, before)
	}
	o := s.operate()
	if got := s.awaitEnd("older"); got.Phase != "Succeeded" {
		t.Errorf("the older test: %+v", got)
	}
	o.stop(t)
	s.requireClean()
}
