package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/assay-dev/assay/adapters/testbed"
)

// everything switches on all that the chart has.
var everything = []string{
	"--set", "evidence.enabled=true", "--set", "managedControlPlanes.enabled=true", "--set", "networkPolicy.enabled=true",
	"--set", "metrics.serviceMonitor.enabled=true", "--set", "metrics.serviceMonitor.labels.release=prometheus",
	"--set", "metrics.reader.serviceAccountName=prometheus", "--set", "metrics.reader.namespace=monitoring",
	"--set-json", `networkPolicy.egress=[{"ports":[{"port":443}]}]`,
	"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]`,
	"--set-json", `imagePullSecrets=[{"name":"registry"}]`, "--set-json", `tolerations=[{"operator":"Exists"}]`,
	"--set-json", `affinity={"nodeAffinity":{}}`, "--set", "nodeSelector.disk=ssd", "--set", "podAnnotations.a=b", "--set", "podLabels.c=d",
	"--set", "priorityClassName=system-cluster-critical", "--set", "podDisruptionBudget.maxUnavailable=50%",
	"--set-json", `extraArgs=["--workers=3"]`, "--set-json", `extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]`,
	"--set", "image.digest=sha256:" + strings.Repeat("0", 64),
}

func TestChartIsLinted(t *testing.T) {
	testbed.RequireHelm(t)
	for _, row := range []struct {
		why  string
		args []string
	}{{"as it is", nil}, {"with everything", everything}, {"for one namespace", []string{"--set", "watchNamespaces={a}"}}} {
		if output, err := helm(t, append([]string{"lint", "--strict", "../chart"}, row.args...)...); err != nil {
			t.Errorf("%s: %v: %s", row.why, err, output)
		}
	}
}

// TestChartIsAccepted has the real API server look at what is rendered.
func TestChartIsAccepted(t *testing.T) {
	c := requireCluster(t)
	first, second := testbed.UniqueName("first"), testbed.UniqueName("second")
	for _, namespace := range []string{first, second} {
		c.namespace(namespace)
		c.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	}
	for _, row := range []struct {
		why  string
		args []string
	}{
		{"as it is", nil},
		{"with everything", everything},
		{"for two namespaces", []string{"--set", "watchNamespaces={" + first + "," + second + "}"}},
		{"without anything of the cluster", []string{
			"--set", "watchNamespaces={" + first + "}", "--set", "metrics.enabled=false", "--set", "crds.install=false",
		}},
		{"one replica has no budget", []string{"--set", "replicas=1"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := cluster{c.Kubernetes, t}
			objects := parse(t, render(t, append([]string{"--namespace", first}, row.args...)...))
			// The test cluster does not know the Prometheus operator's kinds.
			c.apply(without(t, objects, "ServiceMonitor"), "--dry-run=server")
			c.apply(podOf(t, find(t, objects, "Deployment")), "--dry-run=server")
		})
	}
	for _, object := range parse(t, render(t, "--namespace", first, "--set", "watchNamespaces={"+first+"}",
		"--set", "metrics.enabled=false", "--set", "crds.install=false")) {
		if object.GetNamespace() != first {
			t.Errorf("%s %s belongs to the cluster", object.GetKind(), object.GetName())
		}
	}
}

func TestServiceMonitor(t *testing.T) {
	monitor := find(t, parse(t, render(t, append([]string{"--namespace", "assay-system"}, everything...)...)), "ServiceMonitor")
	selector := map[string]any{"app.kubernetes.io/name": "assay-operator", "app.kubernetes.io/instance": "assay"}
	want := map[string]any{
		"selector":          map[string]any{"matchLabels": selector},
		"namespaceSelector": map[string]any{"matchNames": []any{"assay-system"}},
		"endpoints": []any{map[string]any{
			"port": "metrics", "scheme": "https", "interval": "30s",
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
			"tlsConfig":       map[string]any{"insecureSkipVerify": true},
		}},
	}
	if diff := cmp.Diff(want, monitor.Object["spec"]); diff != "" {
		t.Errorf("the spec differs (-want +got):\n%s", diff)
	}
	if monitor.GetAPIVersion() != "monitoring.coreos.com/v1" || monitor.GetLabels()["release"] != "prometheus" {
		t.Errorf("it is of %s with the labels %v", monitor.GetAPIVersion(), monitor.GetLabels())
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	testbed.RequireHelm(t)
	for _, row := range []struct{ why, set, want string }{
		{"a misspelled name", "replica=2", "replica"},
		{"a misspelled name inside", "log.levels=info", "levels"},
		{"an unknown level", "log.level=loud", "level"},
		{"no worker", "workers=0", "workers"},
		{"a name that no namespace has", "watchNamespaces={Team_A}", "watchNamespaces"},
		{"a namespace twice", "watchNamespaces={a,a}", "watchNamespaces"},
		{"a number where a switch is", "crds.install=1", "install"},
		{"a digest that is none", "image.digest=latest", "digest"},
		{"the port of the probes", "metrics.port=8081", "port"},
		{"an argument that is no flag", "extraArgs={server}", "extraArgs"},
		{"no service account at all", "serviceAccount.create=false", "serviceAccount.name"},
		{"a reader from nowhere", "metrics.reader.serviceAccountName=prometheus", "metrics.reader.namespace"},
	} {
		output, err := helm(t, "template", "assay", "../chart", "--set", row.set)
		if err == nil || !strings.Contains(output, row.want) {
			t.Errorf("%s: %v, want an error that names %q: %s", row.why, err, row.want, output)
		}
	}
}

// TestChartShipsTheDefinitions compares the rendered definitions with the generated ones.
func TestChartShipsTheDefinitions(t *testing.T) {
	rendered := map[string]*unstructured.Unstructured{}
	for _, object := range parse(t, render(t)) {
		if object.GetKind() == "CustomResourceDefinition" {
			rendered[object.GetName()] = object
		}
	}
	files, err := filepath.Glob("../manifests/crd/*.yaml")
	if err != nil || len(files) != len(rendered) {
		t.Fatalf("%d files, %d rendered: %v", len(files), len(rendered), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := parse(t, string(text))[0]
		got := rendered[want.GetName()]
		if got == nil {
			t.Fatalf("%s is not rendered", want.GetName())
		}
		if got.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would go with the release, and every test with it", want.GetName())
		}
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s differs (-generated +rendered):\n%s", file, diff)
		}
	}
}

// TestChartGrants installs releases and asks what their service accounts may do.
func TestChartGrants(t *testing.T) {
	c := requireCluster(t)
	c.definitions()
	home, team, other := testbed.UniqueName("home"), testbed.UniqueName("team"), testbed.UniqueName("other")
	for _, namespace := range []string{home, team, other} {
		c.namespace(namespace)
	}
	c.apply(render(t, "--namespace", home, "--set", "crds.install=false", "--set", "fullnameOverride=plain",
		"--set", "watchNamespaces={"+team+"}", "--set", "managedControlPlanes.enabled=false", "--set", "metrics.enabled=false"))
	c.apply(render(t, "--namespace", home, "--set", "crds.install=false", "--set", "fullnameOverride=evident",
		"--set", "watchNamespaces={"+team+"}", "--set", "managedControlPlanes.enabled=false", "--set", "evidence.enabled=true"))

	plain, evident := home+":plain", home+":evident"
	c.check(plain, works(team, true))
	c.check(plain, works(other, false))
	c.check(plain, works(home, false))
	c.check(plain, never(team))
	c.check(plain, []right{
		{"get", "pods", team, false},
		{"create", "pods", team, false},
		{"create", "deployments", team, false},
		{"create", "roles", team, false},
		{"create", "secrets", team, false},
		{"update", "secrets", team, false},
		{"update", "leases", home, true},
		{"update", "leases", team, false},
		{"create", "tokenreviews", "", false},
	})
	c.check(evident, never(team))
	c.check(evident, []right{
		{"create", "secrets", team, true},
		{"update", "secrets", team, true},
		{"create", "secrets", other, false},
		{"create", "secrets", home, false},
		{"create", "tokenreviews", "", true},
	})
}

// TestReleaseLeavesTheDefinitions installs and uninstalls with Helm itself.
func TestReleaseLeavesTheDefinitions(t *testing.T) {
	c := requireCluster(t)
	namespace := testbed.UniqueName("release")
	for _, args := range [][]string{
		{"install", "assay", "../chart", "--namespace", namespace, "--create-namespace", "--take-ownership", "--set", "fullnameOverride=" + namespace},
		{"upgrade", "assay", "../chart", "--namespace", namespace, "--set", "fullnameOverride=" + namespace, "--set", "workers=3"},
		{"uninstall", "assay", "--namespace", namespace},
	} {
		if output, err := helm(t, args...); err != nil {
			t.Fatalf("helm %s: %v: %s", args[0], err, output)
		}
	}
	c.kubectl("get", "crd", "codertemplatetests.coder.com", "codercontrolplanes.coder.com")
	if _, err := c.Kubectl(t.Context(), "get", "clusterrole", namespace); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("the role of the release: %v", err)
	}
}
