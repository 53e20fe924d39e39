package install_test

import "testing"

const (
	base    = "../manifests"
	overlay = "../overlays/namespaced"
)

// install applies what kustomize makes of a folder, first in a dry run.
func (c cluster) install(folder, namespace string) string {
	c.t.Helper()
	c.definitions()
	c.namespace(namespace)
	c.kubectl("label", "--overwrite", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	text := c.kubectl("kustomize", folder)
	c.apply(text, "--dry-run=server")
	c.apply(text)
	c.apply(podOf(c.t, find(c.t, parse(c.t, text), "Deployment")), "--dry-run=server")
	return text
}

// right is what a service account may, or may not, do. An empty namespace is all of them.
type right struct {
	verb, resource, namespace string
	may                       bool
}

func (c cluster) check(account string, rights []right) {
	c.t.Helper()
	for _, r := range rights {
		if may := c.may(account, r.verb, r.resource, r.namespace); may != r.may {
			c.t.Errorf("%s may %s %s in %q: %v, want %v", account, r.verb, r.resource, r.namespace, may, r.may)
		}
	}
}

// never is what no operator may do anywhere, whatever is switched on.
func never(namespace string) []right {
	var rights []right
	for _, pair := range [][2]string{
		{"create", "codertemplatetests"},
		{"update", "codertemplatetests"},
		{"create", "codercontrolplanes"},
		{"delete", "codercontrolplanes"},
		{"delete", "secrets"},
		{"patch", "leases"},
		{"delete", "namespaces"},
		{"get", "nodes"},
		{"list", "namespaces"},
		{"create", "pods/exec"},
		{"create", "serviceaccounts/token"},
		{"create", "clusterroles"},
		{"create", "clusterrolebindings"},
		{"escalate", "roles"},
		{"bind", "clusterroles"},
		{"impersonate", "users"},
		{"update", "customresourcedefinitions"},
		{"create", "validatingwebhookconfigurations"},
		{"*", "*"},
	} {
		rights = append(rights, right{pair[0], pair[1], namespace, false})
	}
	return rights
}

// works is what the operator needs where tests are.
func works(namespace string, may bool) []right {
	var rights []right
	for _, pair := range [][2]string{
		{"get", "codertemplatetests"},
		{"list", "codertemplatetests"},
		{"watch", "codertemplatetests"},
		{"patch", "codertemplatetests"},
		{"delete", "codertemplatetests"},
		{"update", "codertemplatetests/status"},
		{"list", "codercontrolplanes"},
		{"get", "secrets"},
		{"create", "events"},
	} {
		rights = append(rights, right{pair[0], pair[1], namespace, may})
	}
	return rights
}

func TestKustomizeBase(t *testing.T) {
	c := requireCluster(t)
	c.install(base, "assay-system")
	account := "assay-system:assay-operator"
	c.check(account, works("", true))
	c.check(account, never(""))
	c.check(account, []right{
		{"create", "leases", "assay-system", true},
		{"update", "leases", "assay-system", true},
		{"update", "leases", "kube-system", false},
		{"create", "tokenreviews", "", true},
		{"create", "subjectaccessreviews", "", true},
	})
	c.operate(account, find(t, parse(t, c.kubectl("kustomize", base)), "Deployment").GetNamespace(), nil)
}

func TestKustomizeForOneNamespace(t *testing.T) {
	c := requireCluster(t)
	text := c.install(overlay, "coder-tests")
	for _, object := range parse(t, text) {
		if object.GetNamespace() != "coder-tests" {
			t.Errorf("%s %s is in namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
	account := "coder-tests:assay-operator"
	c.check(account, works("coder-tests", true))
	c.check(account, works("default", false))
	c.check(account, never("coder-tests"))
	c.check(account, []right{
		{"create", "leases", "coder-tests", true},
		{"create", "leases", "default", false},
		{"create", "tokenreviews", "", false},
		{"create", "subjectaccessreviews", "", false},
	})
	c.operate(account, "coder-tests", arguments(t, find(t, parse(t, text), "Deployment")))
}
