package main

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// oneRecord is a store for a single test.
type oneRecord struct {
	record   core.Record
	revision int
}

func (s *oneRecord) Load(_ context.Context, id uuid.UUID, _ ports.Freshness) (core.Record, error) {
	if id != s.record.ID {
		return core.Record{}, ports.ErrNotFound
	}
	record := s.record
	record.Revision = strconv.Itoa(s.revision)
	return record, nil
}

func (s *oneRecord) change(ctx context.Context, record core.Record, change func(*core.Record)) (core.Record, error) {
	if record.Revision != strconv.Itoa(s.revision) {
		return core.Record{}, ports.ErrConflict
	}
	change(&s.record)
	s.revision++
	return s.Load(ctx, record.ID, ports.Live)
}

func (s *oneRecord) Save(ctx context.Context, record core.Record) (core.Record, error) {
	return s.change(ctx, record, func(stored *core.Record) { stored.Status = record.Status })
}

func (s *oneRecord) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.change(ctx, record, func(stored *core.Record) { stored.Held = true })
}

func (s *oneRecord) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.change(ctx, record, func(stored *core.Record) { stored.Held = false })
}

func (s *oneRecord) Delete(context.Context, core.Record) error { return nil }

func (s *oneRecord) HolderOf(_ context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	if workspace != s.record.Status.WorkspaceID {
		return uuid.Nil, ports.ErrNotFound
	}
	return s.record.ID, nil
}
