package sqlstore_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// onEach runs f on each kind of database; open opens one and the same each time.
func onEach(t *testing.T, f func(t *testing.T, open func(t *testing.T) *sqlstore.Store)) {
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "assay.db")
		f(t, func(t *testing.T) *sqlstore.Store { return open(t, path, clock.New(start)) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		dsn := testbed.RequirePostgres(t)
		f(t, func(t *testing.T) *sqlstore.Store { return openPostgres(t, dsn, clock.New(start)) })
	})
}

// TestContractOfFencedStore has the server hold the lease of each test.
func TestContractOfFencedStore(t *testing.T) {
	fenced := func(store *sqlstore.Store) porttest.StoreFixture {
		return fixtureOf(store.FencedBy("one"), store, func(t *testing.T, test uuid.UUID) { takeLease(t, store, test) })
	}
	t.Run("SQLite", func(t *testing.T) {
		porttest.WorkspaceStore(t, func(t *testing.T) porttest.StoreFixture {
			return fenced(open(t, filepath.Join(t.TempDir(), "assay.db"), clock.New(start)))
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		porttest.WorkspaceStore(t, func(t *testing.T) porttest.StoreFixture {
			return fenced(openPostgres(t, testbed.RequirePostgres(t), clock.New(start)))
		})
	})
}

// fixtureOf has people make what the store then works with. created, if not nil, learns of
// each record.
func fixtureOf(store ports.WorkspaceStore, people ports.TestRegistry, created func(*testing.T, uuid.UUID)) porttest.StoreFixture {
	return porttest.StoreFixture{
		Store: store,
		Create: func(t *testing.T, record core.Record) core.Record {
			record, err := people.Create(t.Context(), record)
			if err != nil {
				t.Fatal(err)
			}
			if created != nil {
				created(t, record.ID)
			}
			return record
		},
		RequestDeletion: func(t *testing.T, id uuid.UUID) {
			if err := people.RequestDeletion(t.Context(), id); err != nil {
				t.Error(err)
			}
		},
	}
}

// takeLease has the server "one" take the lease of a test.
func takeLease(t *testing.T, store *sqlstore.Store, test uuid.UUID) core.Lease {
	t.Helper()
	lease, err := store.TakeLease(t.Context(), core.Lease{Test: test, Holder: "one", Until: start.Add(time.Minute)}, core.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// takeOver takes a lease that was watched.
func takeOver(t *testing.T, store *sqlstore.Store, seen core.Lease, holder string) {
	t.Helper()
	want := core.Lease{Test: seen.Test, Holder: holder, Until: seen.Until.Add(time.Minute)}
	if _, err := store.TakeLease(t.Context(), want, seen); err != nil {
		t.Fatal(err)
	}
}

func TestServerWithoutTheLeaseStoresNothing(t *testing.T) {
	changes := []struct {
		name string
		call func(t *testing.T, registry ports.TestRegistry, record core.Record) error
	}{
		{"save", func(t *testing.T, registry ports.TestRegistry, record core.Record) error {
			record.Status.Phase = core.PhaseRunning
			_, err := registry.Save(t.Context(), record)
			return err
		}},
		{"take the hold", func(t *testing.T, registry ports.TestRegistry, record core.Record) error {
			_, err := registry.TakeHold(t.Context(), record)
			return err
		}},
		{"release the hold", func(t *testing.T, registry ports.TestRegistry, record core.Record) error {
			_, err := registry.ReleaseHold(t.Context(), record)
			return err
		}},
		{"delete", func(t *testing.T, registry ports.TestRegistry, record core.Record) error {
			return registry.Delete(t.Context(), record)
		}},
	}
	onEach(t, func(t *testing.T, open func(t *testing.T) *sqlstore.Store) {
		one, two := open(t), open(t)
		record, err := one.Create(t.Context(), porttest.NewRecord())
		if err != nil {
			t.Fatal(err)
		}
		refused := func(t *testing.T, registry ports.TestRegistry, why string) {
			t.Helper()
			for _, change := range changes {
				if err := change.call(t, registry, record); !errors.Is(err, ports.ErrLeased) {
					t.Errorf("%s: error is %v, want ErrLeased: %s", change.name, err, why)
				}
			}
			got, err := two.Load(t.Context(), record.ID, ports.Live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(record, got); diff != "" {
				t.Errorf("the record changed (-want +got):\n%s", diff)
			}
		}
		refused(t, one.FencedBy("one"), "it never had the lease")
		takeOver(t, two, takeLease(t, one, record.ID), "two")
		refused(t, one.FencedBy("one"), "another server took the test over, and the revision is the newest")
		if err := changes[0].call(t, two.FencedBy("two"), record); err != nil {
			t.Errorf("the server that took the test over: %v", err)
		}
		if err := one.FencedBy("one").RequestDeletion(t.Context(), record.ID); err != nil {
			t.Errorf("what people ask for needs no lease: %v", err)
		}
	})
}

// TestNothingIsStoredAfterATakeOver has one server save without a pause while the other one
// takes the test over: what that reads afterwards is the last word.
func TestNothingIsStoredAfterATakeOver(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t *testing.T) *sqlstore.Store) {
		one, two := open(t), open(t)
		record, err := one.Create(t.Context(), porttest.NewRecord())
		if err != nil {
			t.Fatal(err)
		}
		lease := takeLease(t, one, record.ID)
		saved, ended := make(chan struct{}, 1000), make(chan error, 1)
		go func() {
			record, fenced := record, one.FencedBy("one")
			for {
				record.Status.DeleteAttempts++
				var err error
				if record, err = fenced.Save(t.Context(), record); err != nil {
					ended <- err
					return
				}
				select {
				case saved <- struct{}{}:
				default:
				}
			}
		}()
		for range 10 {
			select {
			case <-saved:
			case err := <-ended:
				t.Fatalf("the server that has the lease: %v", err)
			}
		}
		takeOver(t, two, lease, "two")
		taken, err := two.Load(t.Context(), record.ID, ports.Live)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, ports.ErrLeased) {
			t.Errorf("the server that lost the lease: error is %v, want ErrLeased", err)
		}
		last, err := two.Load(t.Context(), record.ID, ports.Live)
		if err != nil || last.Revision != taken.Revision {
			t.Errorf("revision %q (error %v) after %q was taken over", last.Revision, err, taken.Revision)
		}
	})
}

func TestStaleCopyStoresNothing(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t *testing.T) *sqlstore.Store) {
		one, two := open(t), open(t)
		stale, err := one.Create(t.Context(), porttest.NewRecord())
		if err != nil {
			t.Fatal(err)
		}
		fresh := stale
		fresh.Status.Phase = core.PhaseRunning
		if fresh, err = two.Save(t.Context(), fresh); err != nil {
			t.Fatal(err)
		}
		stale.Status.Phase = core.PhaseFailed
		if _, err := one.Save(t.Context(), stale); !errors.Is(err, ports.ErrConflict) {
			t.Errorf("error is %v, want ErrConflict", err)
		}
		got, err := one.Load(t.Context(), fresh.ID, ports.Live)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, got); diff != "" {
			t.Errorf("the record changed (-want +got):\n%s", diff)
		}
	})
}
