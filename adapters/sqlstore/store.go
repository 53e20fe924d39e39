package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Store is a ports.TestRegistry over one database. Make it with Open or OpenPostgres.
type Store struct {
	// place names the database in errors.
	place        string
	db           *sql.DB
	dialect      *dialect
	clock        ports.Clock
	pollInterval time.Duration
	busyTimeout  time.Duration
	// writing queues the writers of this process, and has room for one. SQLite would have
	// them poll for its lock; on PostgreSQL each would wait with a connection of its own.
	writing chan struct{}
	// changed wakes those who wait in Changes after a commit of this process.
	changed *broadcast
	// holder is whose leases the changes of an engine need; see FencedBy. Empty: none.
	holder string
	// historyTime is how long transitions outlive their record.
	historyTime time.Duration
	// notices decides what receivers are to hear of a change; nil for nothing.
	notices func(before, after *core.Record) []core.Notice
	// stopListening ends what listens for the changes of other stores.
	stopListening func()
}

var (
	_ ports.TestRegistry     = (*Store)(nil)
	_ ports.WorkspaceClaimer = (*Store)(nil)
)

// Load reads a record. Every read sees what was stored before it began, so the
// freshness makes no difference.
func (s *Store) Load(ctx context.Context, id uuid.UUID, _ ports.Freshness) (core.Record, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
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
	ctx, cancel := s.bounded(ctx)
	defer cancel()
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
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		return s.create(ctx, tx, &record, revision)
	})
	if err != nil {
		return core.Record{}, fmt.Errorf("create test %s: %w", record.ID, err)
	}
	return record, nil
}

func (s *Store) create(ctx context.Context, tx *sql.Tx, record *core.Record, revision int64) error {
	_, err := load(ctx, tx, record.ID)
	switch {
	case err == nil:
		return ports.ErrExists
	case !errors.Is(err, ports.ErrNotFound):
		return err
	}
	return s.insertNoted(ctx, tx, record, revision)
}

func (s *Store) insertNoted(ctx context.Context, tx *sql.Tx, record *core.Record, revision int64) error {
	if err := insert(ctx, tx, record, revision); err != nil {
		return err
	}
	return s.note(ctx, tx, nil, record, revision)
}

// Claim stores a new record of a workspace that no other record claims.
func (s *Store) Claim(ctx context.Context, record core.Record) (core.Record, error) {
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		others, err := sameWorkspace(ctx, tx, &record)
		if err != nil {
			return err
		}
		taken := false
		for i := range others {
			if others[i].Claims(record.Status.WorkspaceID, core.WorkspaceName(record.ID)) {
				return ports.ErrClaimed
			}
			taken = taken || others[i].ID == record.ID
		}
		if taken {
			return ports.ErrExists
		}
		return s.insertNoted(ctx, tx, &record, revision)
	})
	if err != nil {
		return core.Record{}, fmt.Errorf("claim workspace %s for test %s: %w", record.Status.WorkspaceID, record.ID, err)
	}
	return record, nil
}

// List returns every record, oldest first.
func (s *Store) List(ctx context.Context) ([]core.Record, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
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
	_, err := s.change(ctx, "request deletion of", id, func(_ context.Context, _ *sql.Tx, stored *core.Record) (outcome, error) {
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
	_, err := s.change(ctx, "set the deletion policy of", id, func(_ context.Context, _ *sql.Tx, stored *core.Record) (outcome, error) {
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
	return s.change(ctx, what, known.ID, func(ctx context.Context, tx *sql.Tx, stored *core.Record) (outcome, error) {
		if s.holder != "" {
			if err := s.requireLease(ctx, tx, known.ID); err != nil {
				return unchanged, err
			}
		}
		if stored.Revision != known.Revision {
			return unchanged, ports.ErrConflict
		}
		return f(stored)
	})
}

// change reads a record, lets f change it and stores what f decided, all in one
// transaction. It returns the record as f left it, with its new revision.
func (s *Store) change(
	ctx context.Context, what string, id uuid.UUID,
	f func(ctx context.Context, tx *sql.Tx, stored *core.Record) (outcome, error),
) (core.Record, error) {
	var record core.Record
	err := s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The counter's row is taken first: from here on no other writer is between
		// this transaction's reads and its writes, whatever the database.
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		if record, err = load(ctx, tx, id); err != nil {
			return err
		}
		before := record
		decided, err := f(ctx, tx, &record)
		if err != nil {
			return err
		}
		switch decided {
		case keep:
			if err := update(ctx, tx, &record, revision); err != nil {
				return err
			}
			return s.note(ctx, tx, &before, &record, revision)
		case remove:
			if err := removeRecord(ctx, tx, &record, revision); err != nil {
				return err
			}
			return s.note(ctx, tx, &before, nil, revision)
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
