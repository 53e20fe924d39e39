package sim

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

// records is a ports.WorkspaceStore that keeps records as they are, where fakes/store
// encodes them: a simulation has no time for that. Its cached reads can lag.
type records struct {
	clock *clock.Clock
	// rows are never changed, only replaced.
	rows map[uuid.UUID]*core.Record
	// lagging, while it is set, is what cached reads see.
	lagging  map[uuid.UUID]*core.Record
	revision int64
	// changed is told of each change; after is nil for a record that disappeared.
	changed func(test uuid.UUID, after *core.Record)
}

var _ ports.WorkspaceStore = (*records)(nil)

// lag has cached reads see what is there now, whatever changes later, until it is called
// with false.
func (r *records) lag(on bool) {
	r.lagging = nil
	if !on {
		return
	}
	r.lagging = make(map[uuid.UUID]*core.Record, len(r.rows))
	for id, row := range r.rows {
		r.lagging[id] = row
	}
}

// Load implements ports.WorkspaceStore.
func (r *records) Load(_ context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	row := r.rows[id]
	if fresh == ports.Cached && r.lagging != nil && r.lagging[id] != nil {
		row = r.lagging[id]
	}
	if row == nil {
		return core.Record{}, fmt.Errorf("load test %s: %w", id, ports.ErrNotFound)
	}
	return *row, nil
}

// Save implements ports.WorkspaceStore.
func (r *records) Save(_ context.Context, record core.Record) (core.Record, error) {
	return r.update(record, func(row *core.Record) error {
		row.Status = record.Status
		return nil
	})
}

// TakeHold implements ports.WorkspaceStore.
func (r *records) TakeHold(_ context.Context, record core.Record) (core.Record, error) {
	return r.update(record, func(row *core.Record) error {
		if row.DeletionRequested() && !row.Held {
			return ports.ErrConflict
		}
		row.Held = true
		return nil
	})
}

// ReleaseHold implements ports.WorkspaceStore.
func (r *records) ReleaseHold(_ context.Context, record core.Record) (core.Record, error) {
	return r.update(record, func(row *core.Record) error {
		row.Held = false
		return nil
	})
}

// Delete implements ports.WorkspaceStore.
func (r *records) Delete(_ context.Context, record core.Record) error {
	row := r.rows[record.ID]
	switch {
	case row == nil:
		return nil
	case row.Revision != record.Revision:
		return ports.ErrConflict
	case row.Held:
		return ports.ErrHeld
	}
	after := *row
	r.put(&after, true)
	return nil
}

// HolderOf implements ports.WorkspaceStore.
func (r *records) HolderOf(_ context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	for id, row := range r.rows {
		if row.Status.WorkspaceID == workspace {
			return id, nil
		}
	}
	return uuid.Nil, ports.ErrNotFound
}

// update changes a record that is still at the revision of the copy given.
func (r *records) update(record core.Record, change func(*core.Record) error) (core.Record, error) {
	row := r.rows[record.ID]
	switch {
	case row == nil:
		return core.Record{}, ports.ErrNotFound
	case row.Revision != record.Revision:
		return core.Record{}, ports.ErrConflict
	}
	after := *row
	if err := change(&after); err != nil {
		return core.Record{}, err
	}
	return *r.put(&after, false), nil
}

// edit changes a record as a person does: at whatever revision it is.
func (r *records) edit(id uuid.UUID, change func(*core.Record)) {
	row := r.rows[id]
	if row == nil {
		return
	}
	after := *row
	change(&after)
	r.put(&after, false)
}

// put stores a record, which nobody changes afterwards, under a new revision. One that is
// not held and whose deletion is requested disappears instead.
func (r *records) put(record *core.Record, remove bool) *core.Record {
	r.revision++
	record.Revision = strconv.FormatInt(r.revision, 10)
	if remove || record.DeletionRequested() && !record.Held {
		delete(r.rows, record.ID)
		delete(r.lagging, record.ID)
		r.changed(record.ID, nil)
		return record
	}
	r.rows[record.ID] = record
	r.changed(record.ID, record)
	return record
}
