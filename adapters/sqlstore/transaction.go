package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// transact is write for changes of records: it wakes those who wait for them.
func (s *Store) transact(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	committing := false
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := f(ctx, tx)
		if err == nil && s.dialect.notify != "" {
			_, err = tx.ExecContext(ctx, s.dialect.notify)
		}
		committing = err == nil
		return err
	})
	if committing {
		// A commit that failed may have happened.
		s.changed.send()
	}
	return err
}

// writeAttempts bounds how often a transaction is run that the database rolled back for
// the sake of others: by the order in which transactions take their locks that is rare.
const writeAttempts = 5

// write runs f in a transaction and commits it if f succeeds. It runs f again if the
// database rolled the transaction back for the sake of others. f uses the context that it
// is given, which is bounded.
func (s *Store) write(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writing }()
	for attempt := 1; ; attempt++ {
		err := s.writeOnce(ctx, f)
		if err == nil || attempt == writeAttempts || !s.dialect.undone(err) || ctx.Err() != nil {
			return s.explain(err)
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	// When ctx ends, another goroutine rolls the transaction back. Closing waits for
	// it: the next writer must not meet its lock.
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, s.dialect.transactions)
	if err != nil {
		return err
	}
	if err := f(ctx, tx); err != nil {
		if rollbackErr := tx.Rollback(); rollbackErr != nil && !errors.Is(rollbackErr, sql.ErrTxDone) {
			err = errors.Join(err, rollbackErr)
		}
		return err
	}
	return tx.Commit()
}
