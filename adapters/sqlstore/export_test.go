package sqlstore

import (
	"context"
	"database/sql"
)

// Pragma reads a setting of the database as the store's connections have it.
func (s *Store) Pragma(ctx context.Context, name string) (value string, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value)
	return value, err
}

// FillDisk lets the file grow no further, as a full disk does. SQLite bounds one
// connection only, so the store is left with one.
func (s *Store) FillDisk(ctx context.Context) error {
	s.db.SetMaxOpenConns(1)
	var pages int64
	if err := s.db.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return err
	}
	return s.bound(ctx, pages)
}

// FreeDisk ends what FillDisk did.
func (s *Store) FreeDisk(ctx context.Context) error { return s.bound(ctx, 1<<30) }

func (s *Store) bound(ctx context.Context, pages int64) error {
	var now int64
	return s.db.QueryRowContext(ctx, "PRAGMA max_page_count = "+formatRevision(pages)).Scan(&now)
}

// DB is the database itself.
func (s *Store) DB() *sql.DB { return s.db }

// Write runs f in a transaction as the store's own changes run.
func (s *Store) Write(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return s.write(ctx, f)
}

// WriteAttempts is how often Write runs f at most.
const WriteAttempts = writeAttempts
