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
	skipUnlessE2E(t)
	bed, err := Start(t.Context(), Options{Log: os.Stderr})
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

func skipUnlessE2E(t testing.TB) {
	t.Helper()
	if os.Getenv("ASSAY_E2E") != "1" {
		t.Skip("needs a real Coder server: set ASSAY_E2E=1 (the first run builds for about 10 minutes)")
	}
}
