package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/ports"
)

// FencedBy is the store as the engine of one server uses it, where several share the
// tests: Save, TakeHold, ReleaseHold and Delete store nothing, and answer ErrLeased of
// package ports, unless the test's lease is the holder's in the same transaction. A server
// that was suspended, or whose twin took its tests over, can read and store nothing, not even
// by the newest revision. A lease that has ended counts until somebody takes it.
//
// What people ask for (Create, RequestDeletion, SetDeletionPolicy) needs no lease.
func (s *Store) FencedBy(holder string) ports.TestRegistry {
	fenced := *s
	fenced.holder = holder
	return &fenced
}

// requireLease refuses a change by a server that runs the test no more, and lets no other
// server take the test until the transaction ends.
func (s *Store) requireLease(ctx context.Context, tx *sql.Tx, test uuid.UUID) error {
	var found int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM leases WHERE test_id = $1 AND holder = $2`+s.dialect.keepRow,
		test.String(), s.holder).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s has no lease of it any more: %w", s.holder, ports.ErrLeased)
	}
	return err
}
