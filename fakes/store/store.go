// Package store is an in-memory ports.TestRegistry. What it hands out was encoded and
// decoded again, as by a database, and is a copy: nobody can change a record but through
// the store.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Store is a registry of tests. It is safe for concurrent use.
type Store struct {
	clock ports.Clock
	mu    sync.Mutex
	rows  map[uuid.UUID]row
	// revision is the last one given out. Revisions are never used again, not even by
	// a new record of an old ID.
	revision  int64
	listeners map[int]func(uuid.UUID)
	listener  int
}

var (
	_ ports.TestRegistry     = (*Store)(nil)
	_ ports.WorkspaceClaimer = (*Store)(nil)
)

// row is a stored record, encoded and as it is read again. The order of making is kept
// beside it: records can have been created in the same second.
type row struct {
	encoded  []byte
	decoded  core.Record
	revision int64
	order    int64
}

// New makes an empty store. The clock dates deletion requests.
func New(clock ports.Clock) *Store {
	return &Store{clock: clock, rows: map[uuid.UUID]row{}, listeners: map[int]func(uuid.UUID){}}
}

// Load implements ports.WorkspaceStore; every read is live.
func (s *Store) Load(ctx context.Context, id uuid.UUID, _ ports.Freshness) (core.Record, error) {
	if err := ctx.Err(); err != nil {
		return core.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(id)
}

// Save implements ports.WorkspaceStore.
func (s *Store) Save(ctx context.Context, record core.Record) (core.Record, error) {
	return s.update(ctx, record, func(stored *core.Record) error {
		stored.Status = record.Status
		return nil
	})
}

// TakeHold implements ports.WorkspaceStore.
func (s *Store) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.update(ctx, record, func(stored *core.Record) error {
		if stored.DeletionRequested() && !stored.Held {
			return ports.ErrConflict
		}
		stored.Held = true
		return nil
	})
}

// ReleaseHold implements ports.WorkspaceStore.
func (s *Store) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.update(ctx, record, func(stored *core.Record) error {
		stored.Held = false
		return nil
	})
}

// Delete implements ports.WorkspaceStore.
func (s *Store) Delete(ctx context.Context, record core.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.write(record.ID, func() error {
		stored, err := s.load(record.ID)
		switch {
		case err != nil:
			return nil // gone already
		case stored.Revision != record.Revision:
			return fmt.Errorf("delete test %s: %w", record.ID, ports.ErrConflict)
		case stored.Held:
			return fmt.Errorf("delete test %s: %w", record.ID, ports.ErrHeld)
		}
		delete(s.rows, record.ID)
		return nil
	})
}

// HolderOf implements ports.WorkspaceStore.
func (s *Store) HolderOf(ctx context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	if err := ctx.Err(); err != nil {
		return uuid.Nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.rows {
		if record, err := s.load(id); err == nil && workspace != uuid.Nil && record.Status.WorkspaceID == workspace {
			return id, nil
		}
	}
	return uuid.Nil, fmt.Errorf("find holder of workspace %s: %w", workspace, ports.ErrNotFound)
}

// Create implements ports.TestRegistry.
func (s *Store) Create(ctx context.Context, record core.Record) (core.Record, error) {
	if err := ctx.Err(); err != nil {
		return core.Record{}, err
	}
	err := s.write(record.ID, func() error {
		if _, exists := s.rows[record.ID]; exists {
			return fmt.Errorf("create test %s: %w", record.ID, ports.ErrExists)
		}
		record.Held = false
		s.rows[record.ID] = row{order: s.revision + 1}
		return s.put(&record)
	})
	return record, err
}

// Claim implements ports.WorkspaceClaimer.
func (s *Store) Claim(ctx context.Context, record core.Record) (core.Record, error) {
	if err := ctx.Err(); err != nil {
		return core.Record{}, err
	}
	err := s.write(record.ID, func() error {
		for id := range s.rows {
			other, err := s.load(id)
			if err != nil {
				return err
			}
			if other.Claims(record.Status.WorkspaceID, core.WorkspaceName(record.ID)) {
				return fmt.Errorf("claim for test %s: %w", record.ID, ports.ErrClaimed)
			}
		}
		if _, exists := s.rows[record.ID]; exists {
			return fmt.Errorf("claim for test %s: %w", record.ID, ports.ErrExists)
		}
		s.rows[record.ID] = row{order: s.revision + 1}
		return s.put(&record)
	})
	return record, err
}

// List implements ports.TestRegistry.
func (s *Store) List(ctx context.Context) ([]core.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	records := make([]core.Record, 0, len(s.rows))
	for id := range s.rows {
		record, err := s.load(id)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	slices.SortFunc(records, func(a, b core.Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(s.rows[a.ID].order, s.rows[b.ID].order))
	})
	return records, nil
}

// RequestDeletion implements ports.TestRegistry.
func (s *Store) RequestDeletion(ctx context.Context, id uuid.UUID) error {
	return s.edit(ctx, id, func(stored *core.Record) bool {
		if stored.DeletionRequested() {
			return false
		}
		stored.DeletionRequestedAt = s.clock.Now().UTC()
		return true
	})
}

// SetDeletionPolicy implements ports.TestRegistry.
func (s *Store) SetDeletionPolicy(ctx context.Context, id uuid.UUID, policy string) error {
	return s.edit(ctx, id, func(stored *core.Record) bool {
		changed := stored.DeletionPolicy != policy
		stored.DeletionPolicy = policy
		return changed
	})
}

// Changes implements ports.TestRegistry.
func (s *Store) Changes(ctx context.Context, on func(id uuid.UUID)) error {
	queue := newQueue()
	stop := s.Listen(queue.put)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-queue.filled:
			for _, id := range queue.take() {
				on(id)
			}
		}
	}
}

// Listen calls on after each change, on the goroutine of the writer and under no lock,
// until stop is called. Unlike Changes it has no goroutine of its own.
func (s *Store) Listen(on func(id uuid.UUID)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener++
	n := s.listener
	s.listeners[n] = on
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, n)
	}
}

// update changes a record that is still at the revision of the copy given.
func (s *Store) update(ctx context.Context, record core.Record, change func(*core.Record) error) (core.Record, error) {
	if err := ctx.Err(); err != nil {
		return core.Record{}, err
	}
	var stored core.Record
	err := s.write(record.ID, func() error {
		var err error
		if stored, err = s.load(record.ID); err != nil {
			return err
		}
		if stored.Revision != record.Revision {
			return fmt.Errorf("store test %s: %w", record.ID, ports.ErrConflict)
		}
		if err := change(&stored); err != nil {
			return fmt.Errorf("store test %s: %w", record.ID, err)
		}
		return s.put(&stored)
	})
	if err != nil {
		return core.Record{}, err
	}
	return stored, nil
}

// edit changes a record at whatever revision it is.
func (s *Store) edit(ctx context.Context, id uuid.UUID, change func(*core.Record) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.write(id, func() error {
		stored, err := s.load(id)
		if err != nil || !change(&stored) {
			return err
		}
		return s.put(&stored)
	})
}

// write runs change under the lock and, if it did something, tells the listeners.
func (s *Store) write(id uuid.UUID, change func() error) error {
	s.mu.Lock()
	before := s.rows[id].revision
	err := change()
	after, exists := s.rows[id]
	var calls []func(uuid.UUID)
	if err == nil && (after.revision != before || !exists && before != 0) {
		for _, n := range slices.Sorted(maps.Keys(s.listeners)) {
			calls = append(calls, s.listeners[n])
		}
	}
	s.mu.Unlock()
	for _, call := range calls {
		call(id)
	}
	return err
}

func (s *Store) load(id uuid.UUID) (core.Record, error) {
	stored, ok := s.rows[id]
	if !ok {
		return core.Record{}, fmt.Errorf("load test %s: %w", id, ports.ErrNotFound)
	}
	return separate(stored.decoded), nil
}

// separate copies what a record only refers to.
func separate(record core.Record) core.Record {
	record.Spec.Parameters = slices.Clone(record.Spec.Parameters)
	record.Status.Conditions = slices.Clone(record.Status.Conditions)
	if ttl := record.Spec.TTLSecondsAfterFinished; ttl != nil {
		record.Spec.TTLSecondsAfterFinished = new(*ttl)
	}
	if answer := record.Status.CreateAnswer; answer != nil {
		record.Status.CreateAnswer = new(*answer)
	}
	return record
}

// put stores a record under a new revision. One that is not held and whose deletion is
// requested disappears instead.
func (s *Store) put(record *core.Record) error {
	encoded, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encode test %s: %w", record.ID, err)
	}
	var decoded core.Record
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return fmt.Errorf("decode test %s: %w", record.ID, err)
	}
	s.revision++
	record.Revision = strconv.FormatInt(s.revision, 10)
	decoded.Revision = record.Revision
	if record.DeletionRequested() && !record.Held {
		delete(s.rows, record.ID)
		return nil
	}
	s.rows[record.ID] = row{encoded: encoded, decoded: decoded, revision: s.revision, order: s.rows[record.ID].order}
	return nil
}

// Dump is every record as it is stored, for a search for what must not be in there.
func (s *Store) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all strings.Builder
	for _, stored := range s.rows {
		all.Write(stored.encoded)
		all.WriteByte('\n')
	}
	return all.String()
}
