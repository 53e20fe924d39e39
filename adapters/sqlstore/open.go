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

// busyTimeout is how long a statement waits for another process's transaction.
// Transactions here take milliseconds.
const busyTimeout = 10 * time.Second

// Option changes how a store works.
type Option func(*Store)

// WithPollInterval sets how often Changes looks for the changes of other
// processes; see DefaultPollInterval.
func WithPollInterval(d time.Duration) Option { return func(s *Store) { s.pollInterval = d } }

// Open opens the SQLite file at path, makes it with its folder if there is none,
// and brings its schema up to date. The file and its companions (-wal, -shm) are
// made readable by the current user only, because parameters are stored in it; the
// permissions of an existing file stay. Errors say what to do. Processes on one
// machine may share a file; network file systems do not keep SQLite's locks.
//
// The store must be closed.
func Open(ctx context.Context, path string, clock ports.Clock, options ...Option) (*Store, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	db, err := openSQLite(path)
	if err != nil {
		return nil, fmt.Errorf("open state file %s: %w", path, err)
	}
	store := &Store{db: db, clock: clock, pollInterval: DefaultPollInterval, changed: newBroadcast()}
	for _, option := range options {
		option(store)
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(explain(path, err), db.Close())
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

func openSQLite(path string) (*sql.DB, error) {
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
			"journal_mode(WAL)",
			// With WAL only FULL syncs at each commit. A lost commit could be a create
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

var errFromTheFuture = errors.New("written by a newer version of assay")

// migrationAttempts bounds how often a migration is tried again that failed because
// another process migrates the same file. One other process needs one more try.
const migrationAttempts = 5

func migrate(ctx context.Context, db *sql.DB) error {
	sources, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, sources, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
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
		// Another process can be at the same migration: then its outcome counts.
		if attempt == migrationAttempts || ctx.Err() != nil || permanent(err) {
			return err
		}
	}
}
