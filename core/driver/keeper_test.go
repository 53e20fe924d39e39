package driver_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/ports"
)

// leaseStage is a store of leases that several processes share. It lives in a bubble:
// advance returns once nothing moves.
type leaseStage struct {
	*testing.T
	clock  *clock.Clock
	leases *failingLeases
	log    *lockedText
}

func withLeases(t *testing.T, f func(t *testing.T, s *leaseStage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		f(t, &leaseStage{T: t, clock: virtual, leases: &failingLeases{Leases: store.NewLeases(virtual)}, log: &lockedText{}})
	})
}

// process starts a keeper and returns it with what ends it in order.
func (s *leaseStage) process(holder string) (keeper *driver.Keeper, end func()) {
	s.Helper()
	keeper, err := driver.NewKeeper(s.leases, s.clock, holder, slog.New(slog.NewTextHandler(s.log, nil)))
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	go keeper.Run(ctx)
	synctest.Wait()
	return keeper, func() { cancel(); synctest.Wait() }
}

// killed has the process "one" take the test's lease and renew it no more.
func (s *leaseStage) killed(test uuid.UUID) {
	s.Helper()
	keeper, err := driver.NewKeeper(s.leases, s.clock, "one", nil)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := keeper.Take(s.Context(), test); err != nil {
		s.Fatal(err)
	}
}

func (s *leaseStage) advance(d time.Duration) {
	s.clock.Advance(d)
	synctest.Wait()
}

// holder is who has the test's lease, empty for nobody.
func (s *leaseStage) holder(test uuid.UUID) string {
	s.Helper()
	leases, err := s.leases.Leases.ListLeases(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, lease := range leases {
		if lease.Test == test {
			return lease.Holder
		}
	}
	return ""
}

func TestKeeperRenewsUntilItEnds(t *testing.T) {
	withLeases(t, func(t *testing.T, s *leaseStage) {
		test := uuid.New()
		one, end := s.process("one")
		if _, err := one.Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			s.advance(driver.RenewInterval)
		}
		if got := s.holder(test); got != "one" {
			t.Errorf("after a while the lease is %q's, want one's: it is renewed", got)
		}
		two, endTwo := s.process("two")
		defer endTwo()
		if _, err := two.Take(t.Context(), test); !errors.Is(err, ports.ErrLeased) {
			t.Errorf("two takes it: error is %v, want ErrLeased", err)
		}
		end()
		if got := s.holder(test); got != "" {
			t.Errorf("after its end the lease is %q's, want nobody's: it is released", got)
		}
	})
}

func TestTakeOver(t *testing.T) {
	for _, row := range []struct {
		name string
		// before happens before two takes the test over.
		before func(t *testing.T, s *leaseStage, test uuid.UUID) (end func())
		// waits says whether two must watch the lease.
		waits, taken bool
		why          string
	}{
		{
			"nobody's", func(*testing.T, *leaseStage, uuid.UUID) func() { return func() {} },
			false, true, "nobody has to be waited for",
		},
		{
			"of a killed process", func(_ *testing.T, s *leaseStage, test uuid.UUID) func() { s.killed(test); return func() {} },
			true, true, "nobody renews it",
		},
		{
			"of a process killed long ago",
			func(_ *testing.T, s *leaseStage, test uuid.UUID) func() {
				s.killed(test)
				s.advance(driver.LeaseTime)
				return func() {}
			},
			false, true, "it has ended",
		},
		{
			"of a clock that was ahead",
			func(_ *testing.T, s *leaseStage, test uuid.UUID) func() {
				s.clock.Jump(time.Hour)
				s.killed(test)
				s.clock.Jump(-time.Hour)
				return func() {}
			},
			true, true, "no renewal was seen for as long as a lease lasts",
		},
		{
			"of a process that lives",
			func(t *testing.T, s *leaseStage, test uuid.UUID) func() {
				one, end := s.process("one")
				if _, err := one.Take(t.Context(), test); err != nil {
					t.Fatal(err)
				}
				return end
			},
			true, false, "it is renewed meanwhile",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			withLeases(t, func(t *testing.T, s *leaseStage) {
				test := uuid.New()
				defer row.before(t, s, test)()
				two, end := s.process("two")
				defer end()
				watched := make(chan core.Lease, 1)
				ended := make(chan error, 1)
				go func() {
					_, err := two.TakeOver(t.Context(), test, func(lease core.Lease) { watched <- lease })
					ended <- err
				}()
				synctest.Wait()
				if waits := len(watched) > 0; waits != row.waits {
					t.Errorf("the lease is watched: %v, want %v: %s", waits, row.waits, row.why)
				}
				for range driver.LeaseTime / driver.RenewInterval {
					s.advance(driver.RenewInterval)
				}
				err := <-ended
				if taken := err == nil; taken != row.taken || err != nil && !errors.Is(err, ports.ErrLeased) {
					t.Errorf("taken: %v (error %v), want %v: %s", taken, err, row.taken, row.why)
				}
			})
		})
	}
}

func TestTakeOverEndsWithItsContext(t *testing.T) {
	withLeases(t, func(t *testing.T, s *leaseStage) {
		test := uuid.New()
		s.killed(test)
		two, end := s.process("two")
		defer end()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := two.TakeOver(ctx, test, nil)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want the context's", err)
		}
		if got := s.holder(test); got != "one" {
			t.Errorf("the lease is %q's, want one's: nobody took it", got)
		}
	})
}

func TestKeeperTellsOfTrouble(t *testing.T) {
	for _, row := range []struct {
		name    string
		trouble func(s *leaseStage, test uuid.UUID)
		want    string
		why     string
	}{
		{
			"taken over",
			func(s *leaseStage, test uuid.UUID) {
				seen, _ := s.leases.Leases.ListLeases(s.Context())
				_, _ = s.leases.TakeLease(s.Context(), core.Lease{Test: test, Holder: "two", Until: s.clock.Now().Add(time.Hour)}, seen[0])
			},
			"another process took a test over", "a process that was suspended must know",
		},
		{
			"store fails", func(s *leaseStage, _ uuid.UUID) { s.leases.fail(errors.New("the disk is full")) },
			"the disk is full", "the lease will end while the test still runs",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			withLeases(t, func(t *testing.T, s *leaseStage) {
				test := uuid.New()
				one, end := s.process("one")
				if _, err := one.Take(t.Context(), test); err != nil {
					t.Fatal(err)
				}
				row.trouble(s, test)
				s.advance(driver.RenewInterval)
				if got := s.log.String(); !strings.Contains(got, row.want) {
					t.Errorf("the log is %q, want it to say %q: %s", got, row.want, row.why)
				}
				before := s.log.String()
				s.advance(driver.RenewInterval)
				if row.name == "taken over" && s.log.String() != before {
					t.Errorf("a test that is lost is told twice: %q", s.log.String())
				}
				end()
				if row.name == "store fails" && !strings.Contains(s.log.String(), "could not be released") {
					t.Errorf("the log is %q, want it to tell of the lease that stays", s.log.String())
				}
			})
		})
	}
}

func TestRelease(t *testing.T) {
	withLeases(t, func(t *testing.T, s *leaseStage) {
		one, end := s.process("one")
		defer end()
		test, others := uuid.New(), uuid.New()
		s.killed(others)
		if _, err := one.Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		one.Release(t.Context(), test)
		one.Release(t.Context(), test)
		one.Release(t.Context(), uuid.New())
		s.advance(driver.RenewInterval)
		if got := s.holder(test); got != "" {
			t.Errorf("the lease is %q's, want nobody's: it is given back, and not renewed", got)
		}
		s.leases.fail(errors.New("the disk is full"))
		if _, err := one.Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		one.Release(t.Context(), test)
		if got := s.log.String(); !strings.Contains(got, "it ends by itself") {
			t.Errorf("the log is %q, want it to tell of the lease that stays", got)
		}
	})
}

func TestNewKeeperNeedsItsParts(t *testing.T) {
	virtual := clock.New(time.Time{})
	for _, row := range []struct {
		leases ports.Leases
		clock  ports.Clock
		holder string
		why    string
	}{
		{nil, virtual, "one", "no store"},
		{store.NewLeases(virtual), nil, "one", "no clock"},
		{store.NewLeases(virtual), virtual, "", "every process would be the same holder"},
	} {
		if _, err := driver.NewKeeper(row.leases, row.clock, row.holder, nil); err == nil {
			t.Errorf("made, want an error: %s", row.why)
		}
	}
}

// failingLeases fail from a moment on.
type failingLeases struct {
	ports.Leases
	mu  sync.Mutex
	err error
}

func (l *failingLeases) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *failingLeases) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *failingLeases) RenewLeases(ctx context.Context, holder string, until time.Time) ([]uuid.UUID, error) {
	if err := l.failure(); err != nil {
		return nil, err
	}
	return l.Leases.RenewLeases(ctx, holder, until)
}

func (l *failingLeases) ReleaseLeases(ctx context.Context, holder string, tests ...uuid.UUID) error {
	if err := l.failure(); err != nil {
		return err
	}
	return l.Leases.ReleaseLeases(ctx, holder, tests...)
}

// lockedText is what several goroutines logged.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
