package store_test

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestContract(t *testing.T) {
	porttest.TestRegistry(t, func(*testing.T) ports.TestRegistry {
		return store.New(clock.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	})
}

func TestContractOfLeases(t *testing.T) {
	porttest.Leases(t, func(*testing.T) porttest.LeasesFixture {
		virtual := clock.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		return porttest.LeasesFixture{Leases: store.NewLeases(virtual), Now: virtual.Now, Advance: virtual.Advance}
	})
}

func TestContractOfClaims(t *testing.T) {
	porttest.WorkspaceClaimer(t, func(*testing.T) porttest.ClaimingRegistry {
		return store.New(clock.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	})
}
