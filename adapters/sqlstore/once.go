package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var (
	_ ports.TestMaker      = (*Store)(nil)
	_ ports.EvidenceKeeper = (*Store)(nil)
)

// CreateOnce implements ports.TestMaker.
func (s *Store) CreateOnce(
	ctx context.Context, record core.Record, key ports.IdempotencyKey, keep time.Duration,
) (stored core.Record, created bool, err error) {
	record.Held = false
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		stored, created = record, false
		// From here on no other writer is between the look for the key and its use.
		revision, err := nextRevision(ctx, tx)
		if err != nil {
			return err
		}
		now := s.clock.Now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= $1`, micro(now)); err != nil {
			return err
		}
		first, known, err := usedKey(ctx, tx, key)
		if err != nil {
			return err
		}
		if known {
			if stored, err = load(ctx, tx, first); errors.Is(err, ports.ErrNotFound) {
				stored, err = core.Record{ID: first}, nil
			}
			return err
		}
		if err := s.create(ctx, tx, &stored, revision); err != nil {
			return err
		}
		created = true
		_, err = tx.ExecContext(ctx, `INSERT INTO idempotency_keys (caller, key, fingerprint, test_id, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			key.Caller, key.Key, key.Fingerprint, record.ID.String(), micro(now.Add(keep)))
		return err
	})
	if err != nil {
		return core.Record{}, false, fmt.Errorf("create test %s: %w", record.ID, err)
	}
	return stored, created, nil
}

// usedKey is the test that the key made.
func usedKey(ctx context.Context, tx *sql.Tx, key ports.IdempotencyKey) (test uuid.UUID, known bool, err error) {
	var fingerprint string
	err = tx.QueryRowContext(ctx, `SELECT test_id, fingerprint FROM idempotency_keys WHERE caller = $1 AND key = $2`, key.Caller, key.Key).
		Scan(&test, &fingerprint)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return uuid.Nil, false, nil
	case err != nil:
		return uuid.Nil, false, err
	case fingerprint != key.Fingerprint:
		return uuid.Nil, false, ports.ErrKeyReused
	}
	return test, true, nil
}

// KeepEvidence implements ports.EvidenceKeeper.
func (s *Store) KeepEvidence(ctx context.Context, evidence core.StoredEvidence) error {
	document, err := json.Marshal(evidence)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `DELETE FROM evidence WHERE expires_at <= $1`, micro(s.clock.Now())); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `
				INSERT INTO evidence (test_id, expires_at, document) VALUES ($1, $2, $3)
				ON CONFLICT (test_id) DO UPDATE SET expires_at = excluded.expires_at, document = excluded.document`,
				evidence.Test.String(), micro(evidence.ExpiresAt), string(document))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep the evidence of test %s: %w", evidence.Test, err)
	}
	return nil
}

// KeptEvidence implements ports.EvidenceKeeper.
func (s *Store) KeptEvidence(ctx context.Context, test uuid.UUID) (core.StoredEvidence, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var (
		document string
		evidence core.StoredEvidence
	)
	err := s.db.QueryRowContext(ctx, `SELECT document FROM evidence WHERE test_id = $1 AND expires_at > $2`, test.String(), micro(s.clock.Now())).
		Scan(&document)
	if errors.Is(err, sql.ErrNoRows) {
		err = ports.ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal([]byte(document), &evidence)
	}
	if err != nil {
		return core.StoredEvidence{}, fmt.Errorf("read the evidence of test %s: %w", test, err)
	}
	return evidence, nil
}
