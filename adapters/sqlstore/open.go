package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/assay-dev/assay/ports"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DefaultPollInterval is how often a store on SQLite that is watched looks for the
// changes of other processes. Its own changes are told at once.
const DefaultPollInterval = time.Second

// DefaultBusyTimeout is how long a statement waits for another process's transaction.
// Transactions here take milliseconds.
const DefaultBusyTimeout = 10 * time.Second

// Option changes how a store works.
type Option func(*Store)

// WithPollInterval sets how often Changes looks for the changes of other
// processes; see DefaultPollInterval and DefaultFallbackInterval.
func WithPollInterval(d time.Duration) Option { return func(s *Store) { s.pollInterval = d } }

// WithBusyTimeout sets how long a statement waits for another process's transaction, in
// whole milliseconds; see DefaultBusyTimeout.
func WithBusyTimeout(d time.Duration) Option { return func(s *Store) { s.busyTimeout = d } }

// newStore makes a store that has no database yet. poll is the interval unless an option
// sets another one.
func newStore(place string, clock ports.Clock, poll time.Duration, options []Option) *Store {
	store := &Store{
		place: place, clock: clock, pollInterval: poll, busyTimeout: DefaultBusyTimeout, historyTime: DefaultHistoryTime,
		writing: make(chan struct{}, 1), changed: newBroadcast(), stopListening: func() {},
	}
	for _, option := range options {
		option(store)
	}
	return store
}

// Close waits for running statements and closes the database.
func (s *Store) Close() error {
	s.stopListening()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", s.place, err)
	}
	return nil
}

var (
	errFromTheFuture = errors.New("written by a newer version of assay")
	errDamaged       = errors.New("its pages do not fit together")
	errForeign       = errors.New("another program made it")
)

// refuseForeign refuses databases that another program made.
func (s *Store) refuseForeign(ctx context.Context) error {
	var tables, ours int
	err := s.db.QueryRowContext(ctx, s.dialect.countTables).Scan(&tables, &ours)
	if err == nil && tables > 0 && ours == 0 {
		return errForeign
	}
	return err
}

// migrationAttempts bounds how often a migration is tried again that failed because
// another process migrates the same file. One other process needs one more try.
const migrationAttempts = 5

// migrate brings the schema and the rows up to date.
func (s *Store) migrate(ctx context.Context) error {
	if err := s.migrateSchema(ctx); err != nil {
		return err
	}
	return s.fillSought(ctx)
}

// migrateSchema brings the schema up to date, each migration in a transaction of its own.
func (s *Store) migrateSchema(ctx context.Context) error {
	sources, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(s.dialect.goose, s.db, sources, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	began := s.clock.Monotonic()
	for attempt := 1; ; attempt++ {
		current, target, versionErr := provider.GetVersions(ctx)
		switch {
		case versionErr == nil && current == target:
			return nil
		case versionErr != nil && s.dialect.permanent(versionErr):
			return versionErr
		case versionErr == nil && current > target:
			return fmt.Errorf("%w (its schema is %d, this version knows %d)", errFromTheFuture, current, target)
		}
		_, err := provider.Up(ctx)
		if err == nil {
			return nil
		}
		// Another process can be at the same migration: then its outcome counts. One that
		// keeps the file locked has been waited for already.
		if attempt == migrationAttempts || ctx.Err() != nil || s.dialect.permanent(err) || s.clock.Monotonic()-began >= s.busyTimeout {
			return err
		}
	}
}
