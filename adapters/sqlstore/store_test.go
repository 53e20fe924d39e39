package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, path string, c ports.Clock) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), path, c)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store
}

func TestContract(t *testing.T) {
	porttest.TestRegistry(t, func(t *testing.T) ports.TestRegistry {
		return open(t, filepath.Join(t.TempDir(), "assay.db"), clock.New(start))
	})
}

// TestContractOfTwoProcesses runs the rows over two stores on one file, as two
// processes would have them: reads go to one, changes to the other.
func TestContractOfTwoProcesses(t *testing.T) {
	porttest.WorkspaceStore(t, func(t *testing.T) porttest.StoreFixture {
		path := filepath.Join(t.TempDir(), "assay.db")
		one, other := open(t, path, clock.New(start)), open(t, path, clock.New(start))
		return porttest.StoreFixture{
			Store: split{TestRegistry: one, reads: other},
			Create: func(t *testing.T, record core.Record) core.Record {
				record, err := other.Create(t.Context(), record)
				if err != nil {
					t.Fatal(err)
				}
				return record
			},
			RequestDeletion: func(t *testing.T, id uuid.UUID) {
				if err := other.RequestDeletion(t.Context(), id); err != nil {
					t.Error(err)
				}
			},
		}
	})
}

type split struct {
	ports.TestRegistry
	reads ports.TestRegistry
}

func (s split) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	return s.reads.Load(ctx, id, fresh)
}

func TestReopenedFileHasEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a folder", "odd ?#% name.db")
	first, err := sqlstore.Open(t.Context(), path, clock.New(start))
	if err != nil {
		t.Fatal(err)
	}
	want, err := first.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	if want, err = first.TakeHold(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file has another name than asked for: %v", err)
	}
	got, err := open(t, path, clock.New(start)).Load(t.Context(), want.ID, ports.Live)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record differs after reopening (-want +got):\n%s", diff)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	store := open(t, filepath.Join(folder, "assay.db"), clock.New(start))
	if _, err := store.Create(t.Context(), porttest.NewRecord()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 2 {
		t.Errorf("%d files, want the database and its write-ahead log", len(entries))
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %o, want nothing for others", entry.Name(), mode)
		}
	}
}

func TestManyProcessesOpenANewFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			store, err := sqlstore.Open(t.Context(), path, clock.New(start))
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer store.Close()
			if _, err := store.Create(t.Context(), porttest.NewRecord()); err != nil {
				t.Errorf("create: %v", err)
			}
		})
	}
	group.Wait()
	records, err := open(t, path, clock.New(start)).List(t.Context())
	if err != nil || len(records) != 8 {
		t.Errorf("%d records, error %v; want 8", len(records), err)
	}
}

func TestSettingsThatSafetyNeeds(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "assay.db"), clock.New(start))
	for _, row := range []struct{ pragma, want, why string }{
		{"journal_mode", "wal", "readers must not wait for a writer"},
		{"synchronous", "2", "a commit that a power cut takes back could be a create marker"},
		{"foreign_keys", "1", "SQLite leaves them off"},
		{"busy_timeout", "10000", "another process's transaction is waited for"},
	} {
		got, err := store.Pragma(t.Context(), row.pragma)
		if err != nil || got != row.want {
			t.Errorf("%s is %q (error %v), want %q: %s", row.pragma, got, err, row.want, row.why)
		}
	}
}

func TestChangesOfAnotherProcess(t *testing.T) {
	synctest.Test(t, changesOfAnotherProcess)
}

// changesOfAnotherProcess runs in a bubble, to know when Changes waits.
func changesOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	virtual := clock.New(start)
	watching, writing := open(t, path, virtual), open(t, path, virtual)

	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan uuid.UUID, 100)
	ended := make(chan error, 1)
	go func() { ended <- watching.Changes(ctx, func(id uuid.UUID) { heard <- id }) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("changes: %v", err)
		}
	}()

	record := porttest.NewRecord()
	steps := []struct {
		what string
		call func() error
	}{
		{"create", func() (err error) { record, err = writing.Create(t.Context(), record); return err }},
		{"delete", func() error { return writing.Delete(t.Context(), record) }},
	}
	synctest.Wait()
	for _, step := range steps {
		if err := step.call(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		virtual.Advance(sqlstore.DefaultPollInterval - 1)
		synctest.Wait()
		if len(heard) != 0 {
			t.Errorf("%s: heard before the interval was over", step.what)
		}
		virtual.Advance(1)
		synctest.Wait()
		select {
		case id := <-heard:
			if id != record.ID {
				t.Errorf("%s: heard of %s, want %s", step.what, id, record.ID)
			}
		default:
			t.Fatalf("%s was not told", step.what)
		}
	}
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	notOurs := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notOurs, []byte(strings.Repeat("this is not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	future := filepath.Join(t.TempDir(), "future.db")
	if err := errors.Join(open(t, future, clock.New(start)).Close(), pretendNewer(future)); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want, why string }{
		{"no path", "", "no path is given", "an empty path would be a temporary database"},
		{"a folder", t.TempDir(), "choose a path", "a folder cannot be a database"},
		{"below a file", filepath.Join(notOurs, "assay.db"), "choose a path", "the folder cannot be made"},
		{"somebody else's file", notOurs, "choose another file", "it must not be overwritten"},
		{"a newer file", future, "newer version of assay (its schema is 9999", "its records could be misread"},
	} {
		t.Run(row.name, func(t *testing.T) {
			store, err := sqlstore.Open(t.Context(), row.path, clock.New(start))
			if err == nil {
				store.Close()
				t.Fatalf("opened, want an error: %s", row.why)
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %q, want it to say %q: %s", err, row.want, row.why)
			}
		})
	}
}

// pretendNewer notes a migration that this version does not have.
func pretendNewer(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	if err != nil {
		err = fmt.Errorf("pretend: %w", err)
	}
	return errors.Join(err, db.Close())
}

func TestRevisionOfAnotherStoreConflicts(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "assay.db"), clock.New(start))
	record, err := store.Create(t.Context(), porttest.NewRecord())
	if err != nil {
		t.Fatal(err)
	}
	record.Revision = "abc"
	if _, err := store.Save(t.Context(), record); !errors.Is(err, ports.ErrConflict) {
		t.Errorf("error is %v, want a conflict", err)
	}
}

func TestContractOfClaims(t *testing.T) {
	porttest.WorkspaceClaimer(t, func(t *testing.T) porttest.ClaimingRegistry {
		return open(t, filepath.Join(t.TempDir(), "assay.db"), clock.New(start))
	})
}
