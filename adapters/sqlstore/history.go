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

var _ ports.TestHistory = (*Store)(nil)

// DefaultHistoryTime is how long the transitions of a test are kept whose record is gone.
const DefaultHistoryTime = 30 * 24 * time.Hour

// WithHistoryTime sets how long the transitions of a test are kept whose record is gone;
// see DefaultHistoryTime.
func WithHistoryTime(d time.Duration) Option { return func(s *Store) { s.historyTime = d } }

// forgetBatch is how many tests that are gone are forgotten by one change: more than one,
// so that a store that stood still for long catches up.
const forgetBatch = 10

// note stores what a change tells that the one before did not, and what receivers are to
// hear. before is nil for a new record, after for one that disappears.
func (s *Store) note(ctx context.Context, tx *sql.Tx, before, after *core.Record, revision int64) error {
	if err := s.noteTransition(ctx, tx, before, after, revision); err != nil {
		return fmt.Errorf("note the transition: %w", err)
	}
	if s.notices == nil {
		return nil
	}
	for _, notice := range s.notices(before, after) {
		if err := s.insertNotice(ctx, tx, notice); err != nil {
			return fmt.Errorf("note what receivers are to hear: %w", err)
		}
	}
	return nil
}

func (s *Store) noteTransition(ctx context.Context, tx *sql.Tx, before, after *core.Record, revision int64) error {
	now := s.clock.Now().UTC().Truncate(time.Microsecond)
	var transition core.TestTransition
	if after == nil {
		transition = core.NewTestTransition(revision, now, before)
		transition.Gone = true
		if err := s.forget(ctx, tx, now); err != nil {
			return err
		}
	} else {
		transition = core.NewTestTransition(revision, now, after)
		if before != nil && core.NewTestTransition(0, now, before).Same(transition) {
			return nil
		}
	}
	document, err := json.Marshal(transition)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO transitions (seq, test_id, at, gone, document) VALUES ($1, $2, $3, $4, $5)`,
		revision, transition.Test.String(), micro(now), transition.Gone, string(document))
	return err
}

// forget drops the transitions of some tests that are gone for long enough.
func (s *Store) forget(ctx context.Context, tx *sql.Tx, now time.Time) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM transitions WHERE test_id IN (SELECT test_id FROM transitions WHERE gone AND at < $1 ORDER BY at LIMIT $2)`,
		micro(now.Add(-s.historyTime)), forgetBatch)
	return err
}

// Transitions implements ports.TestHistory.
func (s *Store) Transitions(ctx context.Context, test uuid.UUID, after int64, limit int) ([]core.TestTransition, error) {
	return s.transitions(ctx, `SELECT document FROM transitions WHERE test_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, test.String(), after, limit)
}

// TransitionsAfter implements ports.TestHistory.
func (s *Store) TransitionsAfter(ctx context.Context, after int64, limit int) ([]core.TestTransition, error) {
	return s.transitions(ctx, `SELECT document FROM transitions WHERE seq > $1 ORDER BY seq LIMIT $2`, after, limit)
}

func (s *Store) transitions(ctx context.Context, statement string, args ...any) (found []core.TestTransition, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read transitions: %w", err)
		}
	}()
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			document   string
			transition core.TestTransition
		)
		if err := rows.Scan(&document); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(document), &transition); err != nil {
			return nil, err
		}
		found = append(found, transition)
	}
	return found, rows.Err()
}

// LastTransition implements ports.TestHistory.
func (s *Store) LastTransition(ctx context.Context) (int64, error) {
	// The revision of a change that told nothing new does as well.
	last, err := s.lastRevision(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the last transition: %w", err)
	}
	return last, nil
}
