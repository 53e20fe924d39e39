// Package runner has one server run tests, beside others that share its store: which
// tests, is a matter of leases; how, is the driver's.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// ScanInterval is how often a server looks for tests that nobody runs. Together with the
// time of a lease it bounds how long the tests of a server that was killed stand still.
const ScanInterval = 3 * time.Second

// Keeper is what a Runner needs of *driver.Keeper.
type Keeper interface {
	Take(ctx context.Context, test uuid.UUID) (standing core.Lease, err error)
	Release(ctx context.Context, test uuid.UUID)
}

// Driver is what a Runner needs of *driver.Driver.
type Driver interface {
	Add(test uuid.UUID)
}

// Leases lists who runs what.
type Leases interface {
	ListLeases(ctx context.Context) ([]core.Lease, error)
}

// Config is what a Runner is made of.
type Config struct {
	Tests  ports.TestFinder
	Leases Leases
	Keeper Keeper
	Clock  ports.Clock
	Logger *slog.Logger
}

// Runner gives tests to the driver, each with its lease.
type Runner struct {
	Config

	driver Driver

	mu     sync.Mutex
	driven map[uuid.UUID]bool
}

// New makes a Runner that runs nothing.
func New(config Config) *Runner { return &Runner{Config: config, driven: map[uuid.UUID]bool{}} }

// SetDriver says who does the steps. It comes before the first test: the driver itself tells
// the runner of tests that leave it.
func (r *Runner) SetDriver(driver Driver) { r.driver = driver }

// Take gets the lease of a test.
func (r *Runner) Take(ctx context.Context, test uuid.UUID) error {
	_, err := r.Keeper.Take(ctx, test)
	return err
}

// Drop gives the lease of a test back that is not going to be driven.
func (r *Runner) Drop(ctx context.Context, test uuid.UUID) { r.Keeper.Release(ctx, test) }

// Drive has a test run whose lease was taken.
func (r *Runner) Drive(test uuid.UUID) {
	r.mu.Lock()
	r.driven[test] = true
	r.mu.Unlock()
	r.driver.Add(test)
}

// Left is called by the driver once it has nothing more to do with a test, because it is
// done or because another server runs it.
func (r *Runner) Left(ctx context.Context, test uuid.UUID) {
	r.mu.Lock()
	delete(r.driven, test)
	r.mu.Unlock()
	r.Keeper.Release(ctx, test)
}

// Driven is how many tests this server runs.
func (r *Runner) Driven() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.driven)
}

// Run looks for tests that nobody runs, at once and then each ScanInterval, until ctx is
// done.
func (r *Runner) Run(ctx context.Context) {
	for {
		if err := r.scan(ctx); err != nil && ctx.Err() == nil {
			r.Logger.Warn("tests that nobody runs could not be looked for; it is tried again", "error", err)
		}
		due := make(chan struct{})
		timer := r.Clock.AfterFunc(ScanInterval, func() { close(due) })
		select {
		case <-due:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (r *Runner) scan(ctx context.Context) error {
	leases, err := r.Leases.ListLeases(ctx)
	if err != nil {
		return err
	}
	leased := make(map[uuid.UUID]bool, len(leases))
	for _, lease := range leases {
		leased[lease.Test] = true
	}
	query := core.TestQuery{Unfinished: true, Limit: core.MaxTestPage}
	for {
		page, err := r.Tests.FindTests(ctx, query)
		if err != nil {
			return err
		}
		for i := range page.Records {
			if id := page.Records[i].ID; !leased[id] && !r.drives(id) {
				if err := r.adopt(ctx, id); err != nil {
					return err
				}
			}
		}
		if query.After = page.Next; page.Next == "" {
			return nil
		}
	}
}

func (r *Runner) drives(test uuid.UUID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.driven[test]
}

// adopt takes over a test that nobody runs.
func (r *Runner) adopt(ctx context.Context, test uuid.UUID) error {
	err := r.Take(ctx, test)
	if errors.Is(err, ports.ErrLeased) {
		return nil // another server was faster
	}
	if err != nil {
		return err
	}
	r.Logger.Info("a test that nobody ran goes on here", "test", test)
	r.Drive(test)
	return nil
}
