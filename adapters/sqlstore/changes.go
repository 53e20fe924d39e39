package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// Changes calls on for each record that changed after it was called, until ctx is
// done, and then returns nil. The store's own changes are told at once, and so are those
// of other servers on PostgreSQL while the connection stands that listens for them; other
// changes are told within the poll interval. A read that fails is tried again at the next
// change or interval. Each call asks the database at each change: where many watch, one
// call should feed them all.
func (s *Store) Changes(ctx context.Context, on func(id uuid.UUID)) error {
	woken := s.changed.subscribe()
	defer s.changed.unsubscribe(woken)
	last, err := s.lastRevision(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watch for changed tests: %w", err)
	}
	for {
		timer := s.clock.AfterFunc(s.pollInterval, func() { wake(woken) })
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-woken:
			timer.Stop()
		}
		current, err := s.lastRevision(ctx)
		if err != nil || current == last {
			continue
		}
		changed, err := s.changedBetween(ctx, last, current)
		if err != nil {
			continue
		}
		for _, id := range changed {
			on(id)
		}
		last = current
	}
}

func (s *Store) lastRevision(ctx context.Context) (int64, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var last int64
	err := s.db.QueryRowContext(ctx, `SELECT last FROM revisions WHERE id = 1`).Scan(&last)
	return last, err
}

// changedBetween lists the records that have a revision above from, and the ones
// that disappeared with a revision from there up to to, in the order of the changes.
func (s *Store) changedBetween(ctx context.Context, from, to int64) (ids []uuid.UUID, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `
		SELECT id, revision FROM tests WHERE revision > $1 AND revision <= $2
		UNION ALL
		SELECT id, revision FROM disappeared_tests WHERE revision > $1 AND revision <= $2
		ORDER BY revision`, from, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			text     string
			revision int64
		)
		if err := rows.Scan(&text, &revision); err != nil {
			return nil, err
		}
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// broadcast wakes any number of goroutines. Wakes that nobody fetched yet become
// one.
type broadcast struct {
	mu        sync.Mutex
	listeners map[chan struct{}]bool
}

func newBroadcast() *broadcast { return &broadcast{listeners: map[chan struct{}]bool{}} }

func (b *broadcast) subscribe() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	listener := make(chan struct{}, 1)
	b.listeners[listener] = true
	return listener
}

func (b *broadcast) unsubscribe(listener chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, listener)
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for listener := range b.listeners {
		wake(listener)
	}
}

func wake(listener chan struct{}) {
	select {
	case listener <- struct{}{}:
	default:
	}
}
