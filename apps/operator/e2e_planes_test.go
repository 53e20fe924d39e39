package operator_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/testbed"
)

// condition is the status and the message of a condition of the control plane.
func (s *stage) planeCondition(name string) string {
	s.t.Helper()
	return s.kubectl("--namespace", s.namespace, "get", "ccp", "coder", "-o",
		fmt.Sprintf("jsonpath={.status.conditions[?(@.type==%q)].status} {.status.conditions[?(@.type==%q)].message}", name, name))
}

// TestExternalControlPlane says how a deployment that somebody else runs is, and follows its
// token when that is rotated, in the middle of a test.
func TestExternalControlPlane(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"slow": testbed.SlowStartup()})
	o := s.operate()
	s.controlPlane()
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=60s", "--for=jsonpath={.status.phase}=Ready", "ccp/coder")
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=60s", "--for=condition=OperatorAccess", "ccp/coder")
	if table := s.kubectl("--namespace", s.namespace, "get", "ccp"); !strings.Contains(table, s.url) || !strings.Contains(table, "Ready") {
		t.Errorf("the columns are\n%s", table)
	}

	s.test("rotates", "slow", "  parameters: [{name: seconds, value: \"8\"}]\n")
	s.await("rotates", "waiting for its agents", func(got status) bool { return got.Reason == "WaitingForAgents" })
	client := s.bed.Client(s.tester.Token)
	made, err := client.CreateToken(t.Context(), codersdk.Me, codersdk.CreateTokenRequest{TokenName: "rotated"})
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(s.tester.Token, "-")
	if err := client.DeleteAPIKey(t.Context(), codersdk.Me, id); err != nil {
		t.Fatal(err)
	}
	s.await("rotates", "locked out", func(got status) bool { return got.Reason == "OperatorAccessNotReady" })
	s.kubectl("--namespace", s.namespace, "patch", "secret", "coder-token", "--type=merge", "--patch", fmt.Sprintf(`{"stringData":{"token":%q}}`, made.Key))
	if got := s.awaitEnd("rotates"); got.Phase != "Succeeded" {
		t.Errorf("after the rotation: %+v", got)
	}

	s.kubectl("--namespace", s.namespace, "patch", "secret", "coder-token", "--type=merge", "--patch", `{"stringData":{"token":"wrong"}}`)
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=60s", "--for=condition=OperatorAccess=False", "ccp/coder")
	if got := s.planeCondition("OperatorAccess"); !strings.Contains(got, "put a new token into the Secret") {
		t.Errorf("a wrong token: %s", got)
	}
	o.stop(t)
	s.requireClean()
}

// TestControlPlaneDeleted has the tests of a control plane that goes clean up while its token
// works.
func TestControlPlaneDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"slow": testbed.SlowStartup()})
	o := s.operate()
	s.controlPlane()
	s.test("slow", "slow", "")
	s.await("slow", "waiting for its agents", func(got status) bool { return got.Reason == "WaitingForAgents" })
	s.kubectl("--namespace", s.namespace, "delete", "ccp", "coder", "--timeout=120s")
	if got := s.awaitEnd("slow"); got.Reason != "ControlPlaneGone" || got.workspaceDeleted() != "True/Deleted" {
		t.Errorf("%+v, want ControlPlaneGone and a deleted workspace", got)
	}
	s.requireClean()
	s.kubectl("--namespace", s.namespace, "delete", "ctt", "slow", "--timeout=60s")
	o.stop(t)
}

// TestNamespaceDeleted has a namespace with a running test go: its workspace too, since the
// operator still has the token that went with the namespace.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"slow": testbed.SlowStartup()})
	s.everywhere()
	o := s.operate()
	s.controlPlane()
	s.test("slow", "slow", "")
	s.await("slow", "waiting for its agents", func(got status) bool { return got.Reason == "WaitingForAgents" })
	s.kubectl("delete", "namespace", s.namespace, "--timeout=180s")
	s.requireClean()
	o.stop(t)
}

// TestNamespaceDeletedWhileCoderIsAway has a namespace go that nobody can clean up behind: it
// never waits longer than a control plane may.
func TestNamespaceDeletedWhileCoderIsAway(t *testing.T) {
	t.Parallel()
	bed := testbed.RequireOwn(t)
	s := newStage(t, bed, map[string]testbed.Template{"slow": testbed.SlowStartup()})
	s.everywhere()
	o := s.operate()
	s.controlPlane()
	s.test("slow", "slow", "")
	s.await("slow", "waiting for its agents", func(got status) bool { return got.Reason == "WaitingForAgents" })
	if err := bed.StopCoder(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await("slow", "cut off", func(got status) bool { return got.Reason == "CoderUnavailable" })
	s.kubectl("delete", "namespace", s.namespace, "--timeout=240s")
	o.stop(t)
}

// TestManagedCoderThroughKubectl runs Coder as the operator does: its pods are made ready by kwok,
// and the name of its Service leads to a real, empty deployment. It gets its first user, a
// token and a tester, and a test passes.
func TestManagedCoderThroughKubectl(t *testing.T) {
	t.Parallel()
	bed := testbed.RequireEmpty(t)
	s := newEmptyStage(t, testbed.RequireKubernetesWithNode(t), bed, "manifests/crd")
	door := testbed.NewDoor(t, bed.URL)
	// The proxy stands for the cluster's DNS and network.
	s.environment = []string{"HTTP_PROXY=" + door.URL, "NO_PROXY="}
	s.kubectl("--namespace", s.namespace, "create", "rolebinding", "assay-operator-managed", "--clusterrole=assay-operator-managed", "--user="+operatorUser)
	o := s.operate("--managed-control-planes")
	s.mustApply("apiVersion: coder.com/v1alpha1\nkind: CoderControlPlane\nmetadata: {name: coder}\n")
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=180s", "--for=condition=OperatorAccess", "ccp/coder")
	// The proxy lets Coder answer before its pods are ready.
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=180s", "--for=jsonpath={.status.phase}=Ready", "ccp/coder")
	if got := s.kubectl("--namespace", s.namespace, "get", "ccp", "coder", "-o", "jsonpath={.status.phase} {.status.readyReplicas} {.status.url}"); got != "Ready 1 http://coder."+s.namespace+".svc.cluster.local:80" {
		t.Errorf("the status is %s", got)
	}
	encoded := s.kubectl("--namespace", s.namespace, "get", "secret", "coder-operator-token", "-o", "jsonpath={.data.token}")
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if err := bed.Adopt(t.Context(), string(token)); err != nil {
		t.Fatal(err)
	}
	s.push(map[string]testbed.Template{"passing": testbed.Passing()})
	generation := s.kubectl("--namespace", s.namespace, "get", "deployment", "coder", "-o", "jsonpath={.metadata.generation}")
	s.kubectl("--namespace", s.namespace, "patch", "ccp", "coder", "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"templateTests":{"ownerUserID":%q}}}`, s.tester.ID))
	s.test("first", "passing", "")
	if got := s.awaitEnd("first"); got.Phase != "Succeeded" {
		t.Errorf("the first test: %+v", got)
	}
	s.requireClean()
	if again := s.kubectl("--namespace", s.namespace, "get", "deployment", "coder", "-o", "jsonpath={.metadata.generation}"); again != generation {
		t.Errorf("the policy rolls the pods: generation %s became %s", generation, again)
	}
	s.kubectl("--namespace", s.namespace, "delete", "ccp", "coder", "--timeout=150s")
	o.stop(t)
}
