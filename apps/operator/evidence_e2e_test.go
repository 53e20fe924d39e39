package operator_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestEvidenceThroughKubectl reads why a template failed, when its workspace is gone.
func TestEvidenceThroughKubectl(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"startup": testbed.StartupFails(), "passing": testbed.Passing()})
	s.controlPlane()
	s.kubectl("--namespace", s.namespace, "create", "rolebinding", "assay-operator-evidence",
		"--clusterrole=assay-operator-evidence", "--user="+operatorUser)
	o := s.operate("--evidence")
	s.test("startup", "startup", "")
	s.test("passing", "passing", "")
	s.awaitEnd("startup")
	s.awaitEnd("passing")
	s.requireClean()

	var secret struct {
		Metadata struct{ Labels map[string]string }
		Data     map[string]string
	}
	text := s.kubectl("--namespace", s.namespace, "get", "secret", "startup-evidence", "-o", "json")
	if err := json.Unmarshal([]byte(text), &secret); err != nil {
		t.Fatal(err)
	}
	logs := map[string]string{}
	for key, encoded := range secret.Data {
		content, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		logs[key] = string(content)
		if strings.Contains(logs[key], s.tester.Token) {
			t.Errorf("the token is in %s", key)
		}
	}
	if !strings.Contains(logs["workspace.json"], `"start_error"`) || logs["build.log"] == "" || len(logs) < 3 {
		t.Errorf("the evidence does not show the failure: %v", logs)
	}
	if secret.Metadata.Labels["coder.com/template-test"] != "startup" {
		t.Errorf("labels are %v", secret.Metadata.Labels)
	}
	if names := s.kubectl("--namespace", s.namespace, "get", "secret", "-l", "app.kubernetes.io/managed-by=assay-operator", "-o", "name"); strings.TrimSpace(names) != "secret/startup-evidence" {
		t.Errorf("Secrets with evidence are %q, want that of the failed test alone", names)
	}
	s.kubectl("--namespace", s.namespace, "delete", "ctt", "startup", "--timeout=60s")
	s.kubectl("--namespace", s.namespace, "wait", "--for=delete", "secret/startup-evidence", "--timeout=60s")
	o.stop(t)
}
