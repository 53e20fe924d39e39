package install_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/apps/operator"
)

// operatorVariable makes this test binary an operator: one process can run only one.
const operatorVariable = "ASSAY_TEST_BE_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(operatorVariable) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code := operator.Run(ctx, operator.SystemEnv(os.Args[1:]))
	stop()
	os.Exit(code)
}

// operate runs the operator as a service account and waits until it is ready, which it is
// once it could list and watch all that it needs, and until it leads.
func (c cluster) operate(account, namespace string, args []string) {
	c.t.Helper()
	from, name, _ := strings.Cut(account, ":")
	config := rest.AnonymousClientConfig(c.Config())
	config.BearerToken = strings.TrimSpace(c.kubectl("create", "token", name, "--namespace", from))
	file := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := testbed.WriteKubeconfig(file, config); err != nil {
		c.t.Fatal(err)
	}
	probes := freeAddress(c.t)
	args = append(append([]string{}, args...), "--kubeconfig="+file, "--leader-election-namespace="+namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	log, err := os.Create(filepath.Join(c.t.TempDir(), "log"))
	if err != nil {
		c.t.Fatal(err)
	}
	command := exec.CommandContext(c.t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), operatorVariable+"=1")
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	logged := func() string {
		text, err := os.ReadFile(log.Name())
		return fmt.Sprint(string(text), err)
	}
	defer func() {
		if c.t.Failed() {
			c.t.Logf("the operator's log:\n%s", logged())
		}
	}()
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
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		c.t.Errorf("the operator ended with %v", err)
	}
	if strings.Contains(logged(), "forbidden") {
		c.t.Error("the operator lacks a right")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
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
