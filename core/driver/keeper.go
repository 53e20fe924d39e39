package driver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// LeaseTime is how long a lease lasts unless it is renewed: how long the tests of
	// a process that was killed stay its own.
	LeaseTime = 15 * time.Second
	// RenewInterval is how often leases are renewed. Two renewals can fail before a
	// lease ends.
	RenewInterval = LeaseTime / 3
)

// Keeper holds the leases of the tests that this process drives. Leases spare work,
// they are no lock: a process that was suspended can come back after another one took
// its tests over, and that is safe (lifecycle section 3), also where the store lets it go on.
type Keeper struct {
	leases ports.Leases
	clock  ports.Clock
	holder string
	log    *slog.Logger

	mu   sync.Mutex
	held map[uuid.UUID]bool
}

// NewKeeper makes a Keeper without leases. holder names this process and no other
// one; it is shown to people. A nil logger hears nothing.
func NewKeeper(leases ports.Leases, clock ports.Clock, holder string, logger *slog.Logger) (*Keeper, error) {
	if leases == nil || clock == nil || holder == "" {
		return nil, errors.New("driver: a keeper's leases, clock and holder must be set")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{leases: leases, clock: clock, holder: holder, log: logger, held: map[uuid.UUID]bool{}}, nil
}

// Take takes the lease of a test. ErrLeased of package ports, with the lease that
// stands, when another process runs the test. Only Run renews what is taken.
func (k *Keeper) Take(ctx context.Context, test uuid.UUID) (standing core.Lease, err error) {
	return k.take(ctx, test, core.Lease{})
}

// TakeOver is Take that gives a process that was killed the time to be noticed: a
// lease that stands is watched until its end, for LeaseTime at most, and taken unless it
// was renewed. on, if not nil, is called with a lease that is watched.
func (k *Keeper) TakeOver(ctx context.Context, test uuid.UUID, on func(core.Lease)) (standing core.Lease, err error) {
	standing, err = k.Take(ctx, test)
	if !errors.Is(err, ports.ErrLeased) {
		return standing, err
	}
	if on != nil {
		on(standing)
	}
	over := make(chan struct{})
	wait := min(standing.Until.Sub(k.clock.Now()), LeaseTime)
	timer := k.clock.AfterFunc(wait, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return k.take(ctx, test, standing)
	case <-ctx.Done():
		return standing, ctx.Err()
	}
}

func (k *Keeper) take(ctx context.Context, test uuid.UUID, seen core.Lease) (core.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	standing, err := k.leases.TakeLease(ctx, core.Lease{Test: test, Holder: k.holder, Until: k.end()}, seen)
	if err == nil {
		k.held[test] = true
	}
	return standing, err
}

// end is when a lease that begins now ends.
func (k *Keeper) end() time.Time { return k.clock.Now().Add(LeaseTime) }

// Run renews the leases until ctx is done, and then releases them. What goes wrong
// with a lease is logged and stops no test.
func (k *Keeper) Run(ctx context.Context) {
	for {
		due := make(chan struct{})
		timer := k.clock.AfterFunc(RenewInterval, func() { close(due) })
		select {
		case <-due:
			k.renew(ctx)
		case <-ctx.Done():
			timer.Stop()
			k.release(context.WithoutCancel(ctx))
			return
		}
	}
}

func (k *Keeper) renew(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.held) == 0 {
		return
	}
	renewed, err := k.leases.RenewLeases(ctx, k.holder, k.end())
	if err != nil {
		if ctx.Err() == nil {
			k.log.Warn("the leases of the tests could not be renewed", "error", err)
		}
		return
	}
	for test := range k.held {
		if !slices.Contains(renewed, test) {
			k.log.Warn("another process took a test over while this one did not renew its lease, and runs it now", "test", test)
			delete(k.held, test)
		}
	}
}

// Release gives back the lease of a test that this process drives no more. One that it
// does not hold is no error; one that cannot be given back ends by itself.
func (k *Keeper) Release(ctx context.Context, test uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.held[test] {
		return
	}
	delete(k.held, test)
	if err := k.leases.ReleaseLeases(ctx, k.holder, test); err != nil {
		k.log.Warn("the lease of a test could not be released; it ends by itself", "test", test, "error", err, "after", fmt.Sprint(LeaseTime))
	}
}

func (k *Keeper) release(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tests := slices.Collect(maps.Keys(k.held))
	clear(k.held)
	if len(tests) == 0 {
		return
	}
	if err := k.leases.ReleaseLeases(ctx, k.holder, tests...); err != nil {
		k.log.Warn("the leases of the tests could not be released; they end by themselves",
			"error", err, "after", fmt.Sprint(LeaseTime))
	}
}
