package install_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/apps/operator"
)

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

// operate runs the operator as a service account and waits until it is ready, which it is
// once it could list and watch all that it needs.
func (c cluster) operate(account, namespace string, args []string) {
	c.t.Helper()
	from, name, _ := strings.Cut(account, ":")
	config := rest.AnonymousClientConfig(c.Config())
	config.BearerToken = strings.TrimSpace(c.kubectl("create", "token", name, "--namespace", from))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	probes := listener.Addr().String()
	listener.Close()
	args = append(append([]string{}, args...), "--leader-election-namespace="+namespace, "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	var log bytes.Buffer
	env := operator.SystemEnv(args)
	env.Stdout, env.Stderr = &log, &log
	env.Config = func(string) (*rest.Config, error) { return config, nil }
	ctx, cancel := context.WithCancel(background(c.t))
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- operator.Run(ctx, env) }()
	c.await("the operator is ready", func() bool {
		response, err := http.Get("http://" + probes + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	c.await("the operator leads", func() bool {
		holder, err := c.Kubectl(c.t.Context(), "--namespace", namespace, "get", "lease", "coder-k8s-controller.coder.com",
			"-o", "jsonpath={.spec.holderIdentity}")
		return err == nil && holder != ""
	})
	cancel()
	if code := <-ended; code != 0 {
		c.t.Errorf("the operator ended with %d:\n%s", code, log.String())
	} else if strings.Contains(log.String(), "forbidden") {
		c.t.Errorf("the operator lacks a right:\n%s", log.String())
	}
}

// patience bounds a wait: a wait that lasts as long has failed.
const patience = 2 * time.Minute

func (c cluster) await(what string, reached func() bool) {
	c.t.Helper()
	for limit := time.After(patience); !reached(); {
		select {
		case <-limit:
			c.t.Fatalf("not within %v: %s", patience, what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
