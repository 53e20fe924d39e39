package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assay-dev/assay/ports"
)

// Open opens the SQLite file at path, makes it with its folder if there is none,
// and brings its schema up to date. The file and its companions (-wal, -shm) are
// made readable by the current user only, because parameters are stored in it; the
// permissions of an existing file stay. Processes on one machine may share a file;
// network file systems do not keep SQLite's locks.
//
// A file that is damaged or cut short, that a newer version wrote, that is read-only or
// that stays locked is refused, and left as it is, with an error that says what to do.
//
// The store must be closed.
func Open(ctx context.Context, path string, clock ports.Clock, options ...Option) (*Store, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	store := newStore("state file "+path, clock, DefaultPollInterval, options)
	store.dialect = sqliteDialect
	db, err := openSQLite(path, store.busyTimeout)
	if err != nil {
		return nil, fmt.Errorf("open state file %s: %w", path, err)
	}
	store.db = db
	if err := store.prepareSQLite(ctx); err != nil {
		return nil, errors.Join(store.openError(err), db.Close())
	}
	return store, nil
}

// prepareAttempts bounds how often a file is prepared while others prepare it too. Each
// waits for its turn to write in between, so that one other process needs few.
const prepareAttempts = 50

// prepareSQLite does what must be done before the first query. SQLite says at once that a
// file is locked, whatever the busy timeout is, where waiting could last for ever: to a
// reader that wants to write, as in the switch to write-ahead logging, and to one that
// finds the log being made. Then all is done again, after those who write.
func (s *Store) prepareSQLite(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := s.prepareOnce(ctx)
		if primaryCode(err) != sqlite3.SQLITE_BUSY || attempt == prepareAttempts {
			return err
		}
		if err := waitForWriters(ctx, s.db); err != nil {
			return err
		}
	}
}

// waitForWriters returns once nobody writes, or with SQLite's error after the busy timeout.
func waitForWriters(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	return tx.Rollback()
}

func (s *Store) prepareOnce(ctx context.Context) error {
	if err := checkPages(ctx, s.db); err != nil {
		return err
	}
	if err := s.refuseForeign(ctx); err != nil {
		return err
	}
	if err := useWAL(ctx, s.db); err != nil {
		return err
	}
	return s.migrate(ctx)
}

// prepareFile makes the file before SQLite does, which would make it with the
// process's default permissions. SQLite gives its companions the same ones.
func prepareFile(path string) error {
	if path == "" {
		return errors.New("open state file: no path is given")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of state file %s: %w; choose a path that you may write to", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open state file %s: %w; choose a path that you may write to", path, errorCause(err))
	}
	return file.Close()
}

// errorCause drops the path that an fs.PathError repeats.
func errorCause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

func openSQLite(path string, busyTimeout time.Duration) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	query := url.Values{
		// A transaction takes the write lock when it begins: one that read first and
		// then wants to write could only fail when another wrote in between.
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			// With write-ahead logging only FULL syncs at each commit. A lost commit could be a create
			// marker, and with it a workspace that nobody knows.
			"synchronous(FULL)",
			"foreign_keys(ON)",
		},
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(absolute)}).EscapedPath(), RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	// Writers queue for one lock anyway; a few connections let readers pass them.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db, nil
}

// checkPages has SQLite look at every page: a file that was cut short or overwritten in
// part would else be noticed only by the first query that meets the damage.
func checkPages(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errDamaged
	}
	return nil
}

// useWAL switches the file to write-ahead logging, which it remembers: readers and the
// writer do not wait for each other. A file that is refused must not be switched.
func useWAL(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system cannot share memory between processes (journal mode %q); choose a file on a local disk", mode)
	}
	return nil
}
