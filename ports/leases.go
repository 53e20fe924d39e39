package ports

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// ErrLeased tells that another process runs the test; nothing was stored.
var ErrLeased = errors.New("another process runs the test")

// Leases say which process runs which test, where several share a store. Every
// method takes effect as a whole or returns an error; an error other than the one
// named can also mean that the effect happened.
type Leases interface {
	// TakeLease stores the lease if its test has none, if the test's lease has ended by
	// the store's clock, if it is the same holder's, or if it is exactly seen: whoever
	// watched a lease for long enough and saw no renewal takes it over, whatever the
	// clocks of the two processes say. It returns the lease that stands afterwards, with
	// ErrLeased if that is another holder's. The zero seen is no lease.
	TakeLease(ctx context.Context, want, seen core.Lease) (standing core.Lease, err error)
	// RenewLeases moves every lease of the holder to until, ended ones that nobody
	// took included, and returns their tests in no order.
	RenewLeases(ctx context.Context, holder string, until time.Time) ([]uuid.UUID, error)
	// ReleaseLeases ends the holder's leases of the tests. One that is gone, or
	// another holder's, is no error and stays as it is.
	ReleaseLeases(ctx context.Context, holder string, tests ...uuid.UUID) error
	// ListLeases lists the leases that have not ended by the store's clock, in no order.
	ListLeases(ctx context.Context) ([]core.Lease, error)
}
