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

var _ ports.Leases = (*Store)(nil)

// forgetLeasesAfter is how long after its end the lease of a test that does not exist
// is kept: longer than it takes to make a test whose lease was taken first.
const forgetLeasesAfter = time.Hour

// TakeLease implements ports.Leases.
func (s *Store) TakeLease(ctx context.Context, want, seen core.Lease) (core.Lease, error) {
	standing := want
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// Writing first takes the database's lock on the row, so that what is read next
		// still stands when this transaction writes again.
		now := s.clock.Now()
		_, err := tx.ExecContext(ctx, `
			DELETE FROM leases WHERE until <= $1 AND NOT EXISTS (SELECT 1 FROM tests WHERE tests.id = leases.test_id)`,
			now.Add(-forgetLeasesAfter).UnixMicro())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO leases (test_id, holder, until) VALUES ($1, $2, $3)
			ON CONFLICT (test_id) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE leases.until <= $4 OR leases.holder = excluded.holder OR (leases.holder = $5 AND leases.until = $6)`,
			want.Test.String(), want.Holder, want.Until.UnixMicro(), now.UnixMicro(), seen.Holder, seen.Until.UnixMicro())
		if err != nil {
			return err
		}
		var until int64
		err = tx.QueryRowContext(ctx, `SELECT holder, until FROM leases WHERE test_id = $1`, want.Test.String()).
			Scan(&standing.Holder, &until)
		standing.Until = time.UnixMicro(until).UTC()
		return err
	})
	if err != nil {
		return core.Lease{}, fmt.Errorf("take the lease of test %s: %w", want.Test, err)
	}
	if standing.Holder != want.Holder {
		return standing, fmt.Errorf("test %s is run by %s: %w", want.Test, standing.Holder, ports.ErrLeased)
	}
	return standing, nil
}

// RenewLeases implements ports.Leases.
func (s *Store) RenewLeases(ctx context.Context, holder string, until time.Time) (tests []uuid.UUID, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		tests = nil
		rows, err := tx.QueryContext(ctx, `UPDATE leases SET until = $2 WHERE holder = $1 RETURNING test_id`,
			holder, until.UnixMicro())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var id uuid.UUID
			if err := rows.Scan(&id); err != nil {
				return err
			}
			tests = append(tests, id)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	return tests, nil
}

// ReleaseLeases implements ports.Leases.
func (s *Store) ReleaseLeases(ctx context.Context, holder string, tests ...uuid.UUID) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, id := range tests {
			_, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE test_id = $1 AND holder = $2`, id.String(), holder)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// ListLeases implements ports.Leases.
func (s *Store) ListLeases(ctx context.Context) (leases []core.Lease, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("list leases: %w", err)
		}
	}()
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT test_id, holder, until FROM leases WHERE until > $1`, s.clock.Now().UnixMicro())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			lease core.Lease
			until int64
		)
		if err := rows.Scan(&lease.Test, &lease.Holder, &until); err != nil {
			return nil, err
		}
		lease.Until = time.UnixMicro(until).UTC()
		leases = append(leases, lease)
	}
	return leases, rows.Err()
}
