package testbed

import (
	"context"
	"os"
	"sync"
	"testing"
)

// shared is the bed of this process, started by the first test that needs it.
var shared = sync.OnceValues(func() (*Bed, error) {
	ctx := context.Background()
	if address := os.Getenv("ASSAY_TESTBED_URL"); address != "" {
		return Attach(ctx, address, os.Getenv("ASSAY_TESTBED_TOKEN_FILE"))
	}
	return Start(ctx, Options{Log: os.Stderr})
})

// Require returns the bed that all tests of the process share: the running one
// that the environment names, else one that the first caller starts. It ends
// with the process. Tests that share a bed keep apart by the names that they
// choose ([UniqueName]).
//
// The test is skipped unless ASSAY_E2E is 1, and fails if no bed can be had.
func Require(t testing.TB) *Bed {
	t.Helper()
	skipUnlessE2E(t)
	bed, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return bed
}

// RequireOwn starts a bed for this test alone, which may stop Coder without
// disturbing others, and closes it with the test. Otherwise it is [Require].
func RequireOwn(t testing.TB) *Bed {
	t.Helper()
	return requireOwn(t, Options{Log: os.Stderr})
}

// RequireEmpty is [RequireOwn] with a deployment that has no user yet.
func RequireEmpty(t testing.TB) *Bed {
	t.Helper()
	return requireOwn(t, Options{Log: os.Stderr, Empty: true})
}

func requireOwn(t testing.TB, o Options) *Bed {
	t.Helper()
	skipUnlessE2E(t)
	bed, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// sharedKubernetes is the cluster of this process.
var sharedKubernetes = sync.OnceValues(func() (*Kubernetes, error) {
	if kubeconfig := os.Getenv("ASSAY_TESTBED_KUBECONFIG"); kubeconfig != "" {
		return AttachKubernetes(kubeconfig, os.Stderr)
	}
	return StartKubernetes(context.Background(), kubernetesOfTests())
})

// RequireKubernetes returns the cluster that all tests of the process share,
// with a controller manager: the running one that the environment names, else
// one that the first caller starts. It ends with the process. Tests that share
// a cluster keep apart by namespaces that they choose ([UniqueName]).
//
// The test is skipped unless ASSAY_E2E is 1, and fails if no cluster can be
// had.
func RequireKubernetes(t testing.TB) *Kubernetes {
	t.Helper()
	skipUnlessE2E(t)
	k, err := sharedKubernetes()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// RequireOwnKubernetes starts a cluster for this test alone, which may stop
// the API server without disturbing others, and closes it with the test.
// Otherwise it is [RequireKubernetes].
func RequireOwnKubernetes(t testing.TB) *Kubernetes {
	t.Helper()
	return requireOwnKubernetes(t, kubernetesOfTests())
}

// RequireKubernetesWithNode is [RequireOwnKubernetes] with a node that pretends
// to run pods. No other test has such a cluster: most want pods to stay
// pending.
func RequireKubernetesWithNode(t testing.TB) *Kubernetes {
	t.Helper()
	o := kubernetesOfTests()
	o.WithNode = true
	return requireOwnKubernetes(t, o)
}

func requireOwnKubernetes(t testing.TB, o KubernetesOptions) *Kubernetes {
	t.Helper()
	skipUnlessE2E(t)
	k, err := StartKubernetes(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// RequireHelm returns the helm program.
//
// The test is skipped unless ASSAY_E2E is 1, and fails if helm cannot be had.
func RequireHelm(t testing.TB) string {
	t.Helper()
	skipUnlessE2E(t)
	file, err := HelmBinary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func kubernetesOfTests() KubernetesOptions {
	return KubernetesOptions{Log: os.Stderr, WithControllerManager: true}
}

func skipUnlessE2E(t testing.TB) {
	t.Helper()
	if os.Getenv("ASSAY_E2E") != "1" {
		t.Skip("needs real components: set ASSAY_E2E=1 (the first run builds for about 10 minutes)")
	}
}
