package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// patience ends a test that would hang; none measures it.
const patience = 30 * time.Second

// never is an interval that no test waits for.
const never = 1000 * time.Hour

// TestOneOfManyServersTakesTheLease has servers after the lease of one that seems dead and
// that comes back at the same time: it renews the lease, or one other has it.
func TestOneOfManyServersTakesTheLease(t *testing.T) {
	dsn, virtual := testbed.RequirePostgres(t), clock.New(start)
	var stores []*sqlstore.Store
	for range 4 {
		stores = append(stores, openPostgres(t, dsn, virtual))
	}
	for round := range 20 {
		dead := core.Lease{Test: uuid.New(), Holder: "dead", Until: virtual.Now().Add(time.Minute)}
		if _, err := stores[0].TakeLease(t.Context(), dead, core.Lease{}); err != nil {
			t.Fatal(err)
		}
		// In every other round the lease has ended; in the others it was watched.
		if round%2 == 0 {
			virtual.Advance(time.Minute)
		}
		later := virtual.Now().Add(2 * time.Minute)
		var (
			group sync.WaitGroup
			won   atomic.Int32
		)
		for i, store := range stores {
			want := core.Lease{Test: dead.Test, Holder: fmt.Sprintf("server %d", i), Until: later}
			group.Go(func() {
				switch _, err := store.TakeLease(t.Context(), want, dead); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, ports.ErrLeased):
					t.Errorf("%s: error is %v, want ErrLeased", want.Holder, err)
				}
			})
		}
		group.Go(func() {
			renewed, err := stores[0].RenewLeases(t.Context(), dead.Holder, later)
			if err != nil {
				t.Errorf("renew: %v", err)
			}
			won.Add(int32(len(renewed)))
		})
		group.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d hold the lease, want exactly one", round, won.Load())
		}
		if err := stores[0].ReleaseLeases(t.Context(), dead.Holder, dead.Test); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConnectionKilledWithinATransaction stops a save between its statements, by a lock on
// the record's row, and kills its connection there.
func TestConnectionKilledWithinATransaction(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	store, other := openPostgres(t, dsn, clock.New(start)), connect(t, dsn)
	record, err := store.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec(`SELECT 1 FROM tests WHERE id = $1 FOR UPDATE`, record.ID.String()); err != nil {
		t.Fatal(err)
	}
	changed := record
	changed.Status.Phase = core.PhaseRunning
	ended := make(chan error, 1)
	go func() {
		_, err := store.Save(t.Context(), changed)
		ended <- err
	}()
	await(t, other, `SELECT count(pg_terminate_backend(pid)) = 1 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	if err := <-ended; err == nil {
		t.Error("the save tells of no error")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(t.Context(), record.ID, ports.Live)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(record, got); diff != "" {
		t.Errorf("something is left (-want +got):\n%s", diff)
	}
	var last string
	if err := other.QueryRow(`SELECT last FROM revisions`).Scan(&last); err != nil || last != record.Revision {
		t.Errorf("the counter is at %s (error %v), want %s", last, err, record.Revision)
	}
	if _, err := store.Save(t.Context(), changed); err != nil {
		t.Errorf("the next save: %v", err)
	}
}

// TestTakeOverWaitsForTheLastSave stops a save after it saw its lease, by a lock on the
// record's row: the lease must stay until the save is stored.
func TestTakeOverWaitsForTheLastSave(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	one, two, other := openPostgres(t, dsn, clock.New(start)), openPostgres(t, dsn, clock.New(start)), connect(t, dsn)
	record, err := one.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	seen := takeLease(t, one, record.ID)
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec(`SELECT 1 FROM tests WHERE id = $1 FOR UPDATE`, record.ID.String()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var saved, taken core.Record
	const waiting = ` FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	group.Go(func() {
		var err error
		if saved, err = one.FencedBy("one").Save(t.Context(), record); err != nil {
			t.Errorf("save: %v", err)
		}
	})
	await(t, other, `SELECT count(*) = 1`+waiting)
	group.Go(func() {
		want := core.Lease{Test: seen.Test, Holder: "two", Until: seen.Until.Add(time.Minute)}
		_, err := two.TakeLease(t.Context(), want, seen)
		if err == nil {
			taken, err = two.Load(t.Context(), record.ID, ports.Live)
		}
		if err != nil {
			t.Errorf("take over: %v", err)
		}
	})
	await(t, other, `SELECT count(*) = 2`+waiting)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if taken.Revision != saved.Revision {
		t.Errorf("revision %q was read after the test was taken over, and %q was saved", taken.Revision, saved.Revision)
	}
}

// await asks until the database answers true; the database makes the pauses.
func await(t *testing.T, database *sql.DB, question string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var ok bool
		if err := database.QueryRowContext(ctx, question).Scan(&ok); err != nil {
			t.Fatalf("wait for %s: %v", question, err)
		}
		if ok {
			return
		}
		if _, err := database.ExecContext(ctx, `SELECT pg_sleep(0.01)`); err != nil {
			t.Fatalf("wait for %s: %v", question, err)
		}
	}
}

func TestServerThatKeepsTheDatabaseLocked(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	openPostgres(t, dsn, clock.New(start))
	impatient := openPostgres(t, dsn, clock.New(start), sqlstore.WithBusyTimeout(time.Second))
	tx, err := connect(t, dsn).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec(`UPDATE revisions SET last = last`); err != nil {
		t.Fatal(err)
	}
	if _, err := impatient.Create(t.Context(), porttest.NewRecord()); err == nil || !strings.Contains(err.Error(), "another server keeps it locked") {
		t.Errorf("error is %v, want one that says that the database is locked and what to do", err)
	}
	if _, err := impatient.List(t.Context()); err != nil {
		t.Errorf("reading waits for no writer: %v", err)
	}
}

func TestTransactionsThatTheDatabaseUndoesAreRunAgain(t *testing.T) {
	store := openPostgres(t, testbed.RequirePostgres(t), clock.New(start))
	for _, row := range []struct {
		code       string
		fails      int
		runs       int
		wantsError bool
		why        string
	}{
		{"40001", 2, 3, false, "a serialization failure left nothing"},
		{"40P01", 1, 2, false, "neither did a deadlock"},
		{"40001", 1000, sqlstore.WriteAttempts, true, "attempts are bounded"},
		{"23505", 1, 1, true, "other errors would come again, or have an effect"},
	} {
		runs := 0
		err := store.Write(t.Context(), func(context.Context, *sql.Tx) error {
			if runs++; runs <= row.fails {
				return &pgconn.PgError{Code: row.code}
			}
			return nil
		})
		if runs != row.runs || (err != nil) != row.wantsError {
			t.Errorf("%s, %d failures: %d runs, error %v; want %d: %s", row.code, row.fails, runs, err, row.runs, row.why)
		}
	}
}

// TestDeadlockOfTwoServers has two transactions lock two leases in opposite order. The one
// that is undone begins again when the other one ended.
func TestDeadlockOfTwoServers(t *testing.T) {
	dsn := testbed.RequirePostgres(t)
	one, two := openPostgres(t, dsn, clock.New(start)), openPostgres(t, dsn, clock.New(start))
	a, b := uuid.New(), uuid.New()
	takeLease(t, one, a)
	takeLease(t, one, b)
	var (
		group sync.WaitGroup
		met   sync.WaitGroup
		runs  atomic.Int32
	)
	met.Add(2)
	touch := func(store *sqlstore.Store, first, second uuid.UUID, ended chan<- struct{}, otherEnded <-chan struct{}) {
		defer close(ended)
		again := false
		err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			runs.Add(1)
			if again {
				<-otherEnded
			}
			if _, err := tx.ExecContext(ctx, `SET LOCAL deadlock_timeout = '10ms'`); err != nil {
				return err
			}
			for _, test := range []uuid.UUID{first, second} {
				if _, err := tx.ExecContext(ctx, `UPDATE leases SET until = until WHERE test_id = $1`, test.String()); err != nil {
					return err
				}
				if !again {
					again = true
					met.Done()
					met.Wait()
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("the transaction was not run again: %v", err)
		}
	}
	oneEnded, twoEnded := make(chan struct{}), make(chan struct{})
	group.Go(func() { touch(one, a, b, oneEnded, twoEnded) })
	group.Go(func() { touch(two, b, a, twoEnded, oneEnded) })
	group.Wait()
	if runs.Load() != 3 {
		t.Errorf("%d runs of two transactions, want one to be undone and run again", runs.Load())
	}
}

// TestChangesOfAnotherServer never comes to an interval: what is heard was told.
func TestChangesOfAnotherServer(t *testing.T) {
	dsn, virtual := testbed.RequirePostgres(t), clock.New(start)
	watching := openPostgres(t, dsn, virtual, sqlstore.WithPollInterval(never))
	writing, other := openPostgres(t, dsn, clock.New(start)), connect(t, dsn)
	const listening = `SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN assay_changes' AND state = 'idle'`
	await(t, other, listening)

	heard := make(chan uuid.UUID, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watching.Changes(ctx, func(id uuid.UUID) { heard <- id }) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("changes: %v", err)
		}
	}()
	record := untilHeard(t, writing, heard)

	if err := writing.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	expect(t, heard, record.ID, "the deletion", func() {})

	await(t, other, `SELECT count(pg_terminate_backend(pid)) >= 0 FROM pg_stat_activity
		WHERE datname = current_database() AND query = 'LISTEN assay_changes'`)
	await(t, other, `SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN assay_changes'`)
	unheard, err := writing.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, heard, unheard.ID, "what changed while nobody listened", func() { virtual.Advance(sqlstore.ListenAgainAfter) })
	again, err := writing.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, heard, again.ID, "a change after the connection broke", func() {})
}

// untilHeard changes a record until that is heard: nothing tells that Changes watches.
func untilHeard(t *testing.T, store *sqlstore.Store, heard <-chan uuid.UUID) core.Record {
	t.Helper()
	record, err := store.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	for {
		if record, err = store.Save(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
			return record
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// expect waits for news of the test, and calls meanwhile now and then; older news can come
// before.
func expect(t *testing.T, heard <-chan uuid.UUID, test uuid.UUID, what string, meanwhile func()) {
	t.Helper()
	over := time.After(patience)
	for {
		select {
		case id := <-heard:
			if id == test {
				return
			}
		case <-time.After(10 * time.Millisecond):
			meanwhile()
		case <-over:
			t.Fatalf("nobody told of %s", what)
		}
	}
}
