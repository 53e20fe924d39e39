package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/runner"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/ports"
)

// stage is a store that several servers share. It lives in a bubble: advance returns once
// nothing moves.
type stage struct {
	*testing.T
	clock  *clock.Clock
	leases *store.Leases
	tests  *tests
	log    bytes.Buffer
}

func onStage(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		f(t, &stage{T: t, clock: virtual, leases: store.NewLeases(virtual), tests: &tests{}})
	})
}

func (s *stage) advance(d time.Duration) {
	for ; d > 0; d -= time.Second {
		s.clock.Advance(time.Second)
		synctest.Wait()
	}
}

// server starts a server of the stage, which renews its leases until the end of the test.
func (s *stage) server(name string) (*runner.Runner, *driven) {
	s.Helper()
	keeper := s.keeper(name)
	go keeper.Run(s.Context())
	one := runner.New(runner.Config{
		Tests: s.tests, Leases: s.leases, Keeper: keeper, Clock: s.clock, Logger: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	tests := &driven{}
	one.SetDriver(tests)
	go one.Run(s.Context())
	synctest.Wait()
	return one, tests
}

func (s *stage) keeper(name string) *driver.Keeper {
	s.Helper()
	keeper, err := driver.NewKeeper(s.leases, s.clock, name, nil)
	if err != nil {
		s.Fatal(err)
	}
	return keeper
}

func TestATestThatNobodyRunsIsFound(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		early := s.tests.add()
		_, driven := s.server("one")
		if got := driven.list(); !slices.Equal(got, []uuid.UUID{early}) {
			t.Errorf("at its start it drives %v, want what was there", got)
		}
		late := s.tests.add()
		s.advance(runner.ScanInterval)
		if got := driven.list(); !slices.Equal(got, []uuid.UUID{early, late}) {
			t.Errorf("later it drives %v, want what came too, and nothing twice", got)
		}
	})
}

func TestATestOfAKilledServerIsTakenOver(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		test := s.tests.add()
		// A keeper that never runs renews nothing, as a process that was killed.
		if _, err := s.keeper("killed").Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		_, driven := s.server("two")
		s.advance(driver.LeaseTime - time.Second)
		if got := driven.list(); len(got) != 0 {
			t.Fatalf("it drives %v while the lease stands", got)
		}
		s.advance(time.Second + runner.ScanInterval)
		if got := driven.list(); !slices.Equal(got, []uuid.UUID{test}) {
			t.Errorf("it drives %v, want the test within one look after the lease's end", got)
		}
	})
}

func TestEachTestIsRunOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for range 2*core.MaxTestPage + 50 {
			s.tests.add()
		}
		_, one := s.server("one")
		_, two := s.server("two")
		s.advance(4 * runner.ScanInterval)
		if all := len(one.list()) + len(two.list()); all != 2*core.MaxTestPage+50 {
			t.Errorf("%d tests are driven, want each one once, from all pages", all)
		}
	})
}

func TestATestThatLeftIsFreeForOthers(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		one, driven := s.server("one")
		test := s.tests.add()
		if err := one.Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		one.Drive(test)
		if one.Driven() != 1 || len(driven.list()) != 1 {
			t.Fatalf("it runs %d tests, want 1", one.Driven())
		}
		if _, err := s.keeper("two").Take(t.Context(), test); !errors.Is(err, ports.ErrLeased) {
			t.Errorf("two takes it: %v, want ErrLeased", err)
		}
		one.Left(t.Context(), test)
		if _, err := s.keeper("two").Take(t.Context(), test); err != nil || one.Driven() != 0 {
			t.Errorf("two takes it: %v, and one runs %d; it left", err, one.Driven())
		}
	})
}

func TestATestThatWasNotStoredIsGivenBack(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		one, _ := s.server("one")
		test := uuid.New()
		if err := one.Take(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		one.Drop(t.Context(), test)
		if leases, err := s.leases.ListLeases(t.Context()); err != nil || len(leases) != 0 {
			t.Errorf("leases %v, %v; want none", leases, err)
		}
	})
}

func TestAStoreThatFailsIsAskedAgain(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.tests.fail(errors.New("the disk is full"))
		_, driven := s.server("one")
		test := s.tests.add()
		s.tests.fail(nil)
		s.advance(runner.ScanInterval)
		if got := driven.list(); !slices.Equal(got, []uuid.UUID{test}) {
			t.Errorf("it drives %v, want the test: the store works again", got)
		}
		if !strings.Contains(s.log.String(), "the disk is full") {
			t.Errorf("the log is %q, want the reason", s.log.String())
		}
	})
}

// tests are the unfinished tests of a store.
type tests struct {
	mu  sync.Mutex
	ids []uuid.UUID
	err error
}

func (s *tests) add() uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, uuid.New())
	return s.ids[len(s.ids)-1]
}

func (s *tests) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// FindTests implements ports.TestFinder. A page begins at a number.
func (s *tests) FindTests(_ context.Context, query core.TestQuery) (core.TestPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || !query.Unfinished {
		return core.TestPage{}, s.err
	}
	from, _ := strconv.Atoi(query.After)
	var page core.TestPage
	for _, id := range s.ids[from:min(from+query.Limit, len(s.ids))] {
		page.Records = append(page.Records, core.Record{ID: id})
	}
	if next := from + query.Limit; next < len(s.ids) {
		page.Next = strconv.Itoa(next)
	}
	return page, nil
}

// CountTests implements ports.TestFinder.
func (s *tests) CountTests(context.Context) (map[core.Phase]int, error) { return nil, nil }

// driven are the tests that a driver was given.
type driven struct {
	mu  sync.Mutex
	ids []uuid.UUID
}

// Add implements runner.Driver.
func (d *driven) Add(test uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids = append(d.ids, test)
}

func (d *driven) list() []uuid.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ids)
}
