package faults

import (
	"context"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Operations of a WorkspaceStore and of ControlPlanes.
const (
	LoadRecord       = "load record"
	SaveRecord       = "save record"
	TakeHold         = "take hold"
	ReleaseHold      = "release hold"
	DeleteRecord     = "delete record"
	FindHolder       = "find holder"
	ReadControlPlane = "read control plane"
)

// Store wraps a WorkspaceStore.
func (i *Injector) Store(inner ports.WorkspaceStore) ports.WorkspaceStore {
	return &workspaceStore{injector: i, inner: inner}
}

type workspaceStore struct {
	injector *Injector
	inner    ports.WorkspaceStore
}

func (s *workspaceStore) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	return do(s.injector, records, Call{Op: LoadRecord, Fresh: fresh}, id.String(), func() (core.Record, error) {
		return s.inner.Load(ctx, id, fresh)
	})
}

func (s *workspaceStore) Save(ctx context.Context, record core.Record) (core.Record, error) {
	return s.write(SaveRecord, func() (core.Record, error) { return s.inner.Save(ctx, record) })
}

func (s *workspaceStore) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.write(TakeHold, func() (core.Record, error) { return s.inner.TakeHold(ctx, record) })
}

func (s *workspaceStore) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	return s.write(ReleaseHold, func() (core.Record, error) { return s.inner.ReleaseHold(ctx, record) })
}

func (s *workspaceStore) Delete(ctx context.Context, record core.Record) error {
	_, err := s.write(DeleteRecord, func() (core.Record, error) { return core.Record{}, s.inner.Delete(ctx, record) })
	return err
}

func (s *workspaceStore) HolderOf(ctx context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	call := Call{Op: FindHolder, Fresh: ports.Live}
	return do(s.injector, records, call, workspace.String(), func() (uuid.UUID, error) { return s.inner.HolderOf(ctx, workspace) })
}

func (s *workspaceStore) write(op string, ask func() (core.Record, error)) (core.Record, error) {
	return do(s.injector, records, Call{Op: op, Changes: true}, "", ask)
}

// ControlPlanes wraps a ControlPlanes.
func (i *Injector) ControlPlanes(inner ports.ControlPlanes) ports.ControlPlanes {
	return &controlPlanes{injector: i, inner: inner}
}

type controlPlanes struct {
	injector *Injector
	inner    ports.ControlPlanes
}

func (c *controlPlanes) ControlPlane(ctx context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	return do(c.injector, records, Call{Op: ReadControlPlane, Fresh: fresh}, ref, func() (core.ControlPlane, error) {
		return c.inner.ControlPlane(ctx, ref, fresh)
	})
}
