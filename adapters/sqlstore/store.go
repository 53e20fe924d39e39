package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Store is a ports.TestRegistry over one database. Make it with Open.
type Store struct {
	path         string
	db           *sql.DB
	clock        ports.Clock
	pollInterval time.Duration
	busyTimeout  time.Duration
	// writing queues the writers of this process. SQLite would have them poll for its
	// lock.
	writing sync.Mutex
	// changed wakes those who wait in Changes after a commit of this process.
	changed *broadcast
}

var _ ports.TestRegistry = (*Store)(nil)

// Load reads a record. Every read sees what was stored before it began, so the
// freshness makes no difference.
func (s *Store) Load(ctx context.Context, id uuid.UUID, _ ports.Freshness) (core.Record, error) {
	record, err := load(ctx, s.db, id)
	if err != nil {
		return core.Record{}, fmt.Errorf("load test %s: %w", id, err)
	}
	return record, nil
}

// Save stores record.Status if the revision still stands.
func (s *Store) Save(ctx context.Context, record core.Record) (core.Record, error) {
	return s.changeRevision(ctx, "save", record, func(stored *core.Record) (outcome, error) {
		stored.Status = record.Status
		return keep, nil
	})
}

// TakeHold sets the hold if the revision still stands.
func (s *Store) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.changeRevision(ctx, "take the hold of", record, func(stored *core.Record) (outcome, error) {
		if stored.Held {
			return unchanged, nil
		}
		if stored.DeletionRequested() {
			return unchanged, ports.ErrConflict
		}
		stored.Held = true
		return keep, nil
	})
}

// ReleaseHold clears the hold if the revision still stands; the record disappears
// with it when its deletion is requested.
func (s *Store) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.changeRevision(ctx, "release the hold of", record, func(stored *core.Record) (outcome, error) {
		wasHeld := stored.Held
		stored.Held = false
		switch {
		case stored.DeletionRequested():
			return remove, nil
		case wasHeld:
			return keep, nil
		default:
			return unchanged, nil
		}
	})
}

// Delete removes a record that is not held if the revision still stands.
func (s *Store) Delete(ctx context.Context, record core.Record) error {
	_, err := s.changeRevision(ctx, "delete", record, func(stored *core.Record) (outcome, error) {
		if stored.Held {
			return unchanged, ports.ErrHeld
		}
		return remove, nil
	})
	if errors.Is(err, ports.ErrNotFound) {
		return nil
	}
	return err
}

// HolderOf finds the test that holds a workspace.
func (s *Store) HolderOf(ctx context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	var id string
	err := s.db.QueryRowContext(ctx, `SELECT id FROM tests WHERE workspace_id = $1 ORDER BY created_at, id LIMIT 1`,
		workspace.String()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = ports.ErrNotFound
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("find the holder of workspace %s: %w", workspace, err)
	}
	return uuid.Parse(id)
}

// Create stores a new record, not held.
func (s *Store) Create(ctx context.Context, record core.Record) (core.Record, error) {
	record.Held = false
	err := s.transact(ctx, func(tx *sql.Tx) error {
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		_, err = load(ctx, tx, record.ID)
		switch {
		case err == nil:
			return ports.ErrExists
		case !errors.Is(err, ports.ErrNotFound):
			return err
		}
		return insert(ctx, tx, &record, revision)
	})
	if err != nil {
		return core.Record{}, fmt.Errorf("create test %s: %w", record.ID, err)
	}
	return record, nil
}

// List returns every record, oldest first.
func (s *Store) List(ctx context.Context) ([]core.Record, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT revision, document FROM tests ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list tests: %w", err)
	}
	records, err := scanRecords(rows)
	if err != nil {
		return nil, fmt.Errorf("list tests: %w", err)
	}
	return records, nil
}

// RequestDeletion stores the wish that the test stops and cleans up.
func (s *Store) RequestDeletion(ctx context.Context, id uuid.UUID) error {
	_, err := s.change(ctx, "request deletion of", id, func(stored *core.Record) (outcome, error) {
		switch {
		case !stored.Held:
			return remove, nil
		case stored.DeletionRequested():
			return unchanged, nil
		default:
			stored.DeletionRequestedAt = s.clock.Now().UTC().Truncate(time.Microsecond)
			return keep, nil
		}
	})
	return err
}

// SetDeletionPolicy stores what is asked for the workspace, as written.
func (s *Store) SetDeletionPolicy(ctx context.Context, id uuid.UUID, policy string) error {
	_, err := s.change(ctx, "set the deletion policy of", id, func(stored *core.Record) (outcome, error) {
		if stored.DeletionPolicy == policy {
			return unchanged, nil
		}
		stored.DeletionPolicy = policy
		return keep, nil
	})
	return err
}

// outcome says what becomes of a record after a change.
type outcome int

const (
	unchanged outcome = iota
	keep
	remove
)

// changeRevision is change for a caller that knows the record by its revision.
func (s *Store) changeRevision(
	ctx context.Context, what string, known core.Record, f func(stored *core.Record) (outcome, error),
) (core.Record, error) {
	return s.change(ctx, what, known.ID, func(stored *core.Record) (outcome, error) {
		if stored.Revision != known.Revision {
			return unchanged, ports.ErrConflict
		}
		return f(stored)
	})
}

// change reads a record, lets f change it and stores what f decided, all in one
// transaction. It returns the record as f left it, with its new revision.
func (s *Store) change(
	ctx context.Context, what string, id uuid.UUID, f func(stored *core.Record) (outcome, error),
) (core.Record, error) {
	var record core.Record
	err := s.transact(ctx, func(tx *sql.Tx) error {
		// The counter's row is taken first: from here on no other writer is between
		// this transaction's reads and its writes, whatever the database.
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		if record, err = load(ctx, tx, id); err != nil {
			return err
		}
		decided, err := f(&record)
		if err != nil {
			return err
		}
		switch decided {
		case keep:
			return update(ctx, tx, &record, revision)
		case remove:
			return removeRecord(ctx, tx, &record, revision)
		default:
			return errNothingChanged
		}
	})
	if err != nil && !errors.Is(err, errNothingChanged) {
		return core.Record{}, fmt.Errorf("%s test %s: %w", what, id, err)
	}
	return record, nil
}

// errNothingChanged rolls a transaction back that has nothing to store.
var errNothingChanged = errors.New("nothing changed")

// transact is write for changes of records: it wakes those who wait for them.
func (s *Store) transact(ctx context.Context, f func(tx *sql.Tx) error) error {
	committing := false
	err := s.write(ctx, func(tx *sql.Tx) error {
		err := f(tx)
		committing = err == nil
		return err
	})
	if committing {
		// A commit that failed may have happened.
		s.changed.send()
	}
	return err
}

// write runs f in a transaction and commits it if f succeeds.
func (s *Store) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return explain(s.path, err)
	}
	// When ctx ends, another goroutine rolls the transaction back. Closing waits for
	// it: the next writer must not meet its lock.
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return explain(s.path, err)
	}
	if err := f(tx); err != nil {
		if rollbackErr := tx.Rollback(); rollbackErr != nil && !errors.Is(rollbackErr, sql.ErrTxDone) {
			err = errors.Join(err, rollbackErr)
		}
		return explain(s.path, err)
	}
	return explain(s.path, tx.Commit())
}
