package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/assay-dev/assay/ports"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DefaultPollInterval is how often a store that is watched looks for the changes
// of other processes. Its own changes are told at once.
const DefaultPollInterval = time.Second

// DefaultBusyTimeout is how long a statement waits for another process's transaction.
// Transactions here take milliseconds.
const DefaultBusyTimeout = 10 * time.Second

// Option changes how a store works.
type Option func(*Store)

// WithPollInterval sets how often Changes looks for the changes of other
// processes; see DefaultPollInterval.
func WithPollInterval(d time.Duration) Option { return func(s *Store) { s.pollInterval = d } }

// WithBusyTimeout sets how long a statement waits for another process's transaction, in
// whole milliseconds; see DefaultBusyTimeout.
func WithBusyTimeout(d time.Duration) Option { return func(s *Store) { s.busyTimeout = d } }

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
	store := &Store{
		path: path, clock: clock, pollInterval: DefaultPollInterval, busyTimeout: DefaultBusyTimeout, changed: newBroadcast(),
	}
	for _, option := range options {
		option(store)
	}
	db, err := openSQLite(path, store.busyTimeout)
	if err != nil {
		return nil, fmt.Errorf("open state file %s: %w", path, err)
	}
	store.db = db
	if err := check(ctx, db); err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	if err := useWAL(ctx, db); err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	if err := store.migrate(ctx); err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	return store, nil
}

// Close waits for running statements and closes the database.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close state file: %w", err)
	}
	return nil
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

var (
	errFromTheFuture = errors.New("written by a newer version of assay")
	errDamaged       = errors.New("its pages do not fit together")
	errForeign       = errors.New("another program made it")
)

// check has SQLite look at every page: a file that was cut short or overwritten in
// part would else be noticed only by the first query that meets the damage. And it
// refuses databases that never were a state file.
func check(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errDamaged
	}
	var tables, ours int
	err := db.QueryRowContext(ctx, `
		SELECT count(*), count(CASE WHEN name = 'goose_db_version' THEN 1 END) FROM sqlite_master WHERE type = 'table'`).
		Scan(&tables, &ours)
	if err == nil && tables > 0 && ours == 0 {
		return errForeign
	}
	return err
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

// migrationAttempts bounds how often a migration is tried again that failed because
// another process migrates the same file. One other process needs one more try.
const migrationAttempts = 5

// migrate brings the schema up to date, each migration in a transaction of its own.
func (s *Store) migrate(ctx context.Context) error {
	sources, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, s.db, sources, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	began := s.clock.Monotonic()
	for attempt := 1; ; attempt++ {
		current, target, versionErr := provider.GetVersions(ctx)
		switch {
		case versionErr == nil && current == target:
			return nil
		case versionErr == nil && current > target:
			return fmt.Errorf("%w (its schema is %d, this version knows %d)", errFromTheFuture, current, target)
		}
		_, err := provider.Up(ctx)
		if err == nil {
			return nil
		}
		// Another process can be at the same migration: then its outcome counts. One that
		// keeps the file locked has been waited for already.
		if attempt == migrationAttempts || ctx.Err() != nil || permanent(err) || s.clock.Monotonic()-began >= s.busyTimeout {
			return err
		}
	}
}
