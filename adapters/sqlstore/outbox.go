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

var _ ports.Outbox = (*Store)(nil)

// WithNotices has each change of a record store the messages that decide returns, in the
// same transaction. before is nil for a new record, after for one that disappears. decide
// must not use the store.
func WithNotices(decide func(before, after *core.Record) []core.Notice) Option {
	return func(s *Store) { s.notices = decide }
}

func (s *Store) insertNotice(ctx context.Context, tx *sql.Tx, notice core.Notice) error {
	now := micro(s.clock.Now())
	_, err := tx.ExecContext(ctx, `
		INSERT INTO notices (id, receiver, test_id, event, body, created_at, due_at, attempts, last_error)
		VALUES ($1, $2, $3, $4, $5, $6, $6, 0, '')`,
		notice.ID.String(), notice.Receiver, notice.Test.String(), notice.Event, string(notice.Body), now)
	return err
}

// ClaimNotices implements ports.Outbox.
func (s *Store) ClaimNotices(ctx context.Context, until time.Time, limit int) (claimed []core.Notice, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		claimed = nil
		due, dueAt, err := dueNotices(ctx, tx, s.clock.Now(), limit)
		if err != nil {
			return err
		}
		for i, notice := range due {
			// Another server may have claimed it since it was read.
			result, err := tx.ExecContext(ctx, `UPDATE notices SET due_at = $2 WHERE id = $1 AND due_at = $3`,
				notice.ID.String(), micro(until), dueAt[i])
			switch err := oneRow(result, err); {
			case err == nil:
				claimed = append(claimed, notice)
			case !errors.Is(err, ports.ErrConflict):
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim notices: %w", err)
	}
	return claimed, nil
}

func dueNotices(ctx context.Context, tx *sql.Tx, now time.Time, limit int) (due []core.Notice, dueAt []int64, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT id, receiver, test_id, event, body, created_at, due_at, attempts, last_error FROM notices
		WHERE due_at <= $1 ORDER BY created_at, id LIMIT $2`, micro(now), limit)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			notice        core.Notice
			body          string
			created, when int64
		)
		err := rows.Scan(&notice.ID, &notice.Receiver, &notice.Test, &notice.Event, &body, &created, &when, &notice.Attempts, &notice.LastError)
		if err != nil {
			return nil, nil, err
		}
		notice.Body, notice.CreatedAt = []byte(body), time.UnixMicro(created).UTC()
		due, dueAt = append(due, notice), append(dueAt, when)
	}
	return due, dueAt, rows.Err()
}

// NoticeDelivered implements ports.Outbox.
func (s *Store) NoticeDelivered(ctx context.Context, id uuid.UUID) error {
	return s.changeNotice(ctx, id, `DELETE FROM notices WHERE id = $1`, id.String())
}

// NoticeFailed implements ports.Outbox.
func (s *Store) NoticeFailed(ctx context.Context, id uuid.UUID, problem string, next time.Time) error {
	if next.IsZero() {
		return s.NoticeDelivered(ctx, id)
	}
	return s.changeNotice(ctx, id, `UPDATE notices SET attempts = attempts + 1, last_error = $2, due_at = $3 WHERE id = $1`,
		id.String(), problem, micro(next))
}

func (s *Store) changeNotice(ctx context.Context, id uuid.UUID, statement string, args ...any) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what became of notice %s: %w", id, err)
	}
	return nil
}

// CountNotices implements ports.Outbox.
func (s *Store) CountNotices(ctx context.Context) (counts map[string]int, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT receiver, count(*) FROM notices GROUP BY receiver`)
	if err != nil {
		return nil, fmt.Errorf("count notices: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = map[string]int{}
	for rows.Next() {
		var (
			receiver string
			count    int
		)
		if err := rows.Scan(&receiver, &count); err != nil {
			return nil, err
		}
		counts[receiver] = count
	}
	return counts, rows.Err()
}
