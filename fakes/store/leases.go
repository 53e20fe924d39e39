package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Leases are leases in memory. They are safe for concurrent use.
type Leases struct {
	clock ports.Clock
	mu    sync.Mutex
	rows  map[uuid.UUID]core.Lease
}

var _ ports.Leases = (*Leases)(nil)

// NewLeases makes a store without leases, whose clock says when they end.
func NewLeases(clock ports.Clock) *Leases {
	return &Leases{clock: clock, rows: map[uuid.UUID]core.Lease{}}
}

// TakeLease implements ports.Leases.
func (l *Leases) TakeLease(ctx context.Context, want, seen core.Lease) (core.Lease, error) {
	if err := ctx.Err(); err != nil {
		return core.Lease{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	standing, taken := l.rows[want.Test]
	if taken && standing.Holder != want.Holder && standing.Until.After(l.clock.Now()) && standing != seen {
		return standing, fmt.Errorf("test %s is run by %s: %w", want.Test, standing.Holder, ports.ErrLeased)
	}
	l.rows[want.Test] = inStore(want)
	return l.rows[want.Test], nil
}

// RenewLeases implements ports.Leases.
func (l *Leases) RenewLeases(ctx context.Context, holder string, until time.Time) ([]uuid.UUID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var tests []uuid.UUID
	for id, lease := range l.rows {
		if lease.Holder == holder {
			lease.Until = until
			l.rows[id] = inStore(lease)
			tests = append(tests, id)
		}
	}
	return tests, nil
}

// ReleaseLeases implements ports.Leases.
func (l *Leases) ReleaseLeases(ctx context.Context, holder string, tests ...uuid.UUID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range tests {
		if l.rows[id].Holder == holder {
			delete(l.rows, id)
		}
	}
	return nil
}

// ListLeases implements ports.Leases.
func (l *Leases) ListLeases(ctx context.Context) ([]core.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var leases []core.Lease
	for _, lease := range l.rows {
		if lease.Until.After(l.clock.Now()) {
			leases = append(leases, lease)
		}
	}
	return leases, nil
}

// inStore is a lease as a database keeps it.
func inStore(lease core.Lease) core.Lease {
	lease.Until = lease.Until.UTC().Truncate(time.Microsecond)
	return lease
}
