package service

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Stop stores the wish that a test stops, cleans up and goes. gone: its record went at
// once, because nothing of it can exist. Repeating it changes nothing.
func (s *Service) Stop(ctx context.Context, id uuid.UUID) (test Test, gone bool, err error) {
	before, err := s.load(ctx, id, access.Tester)
	if err != nil {
		return Test{}, false, err
	}
	if err := s.Store.RequestDeletion(ctx, id); err != nil && !errors.Is(err, ports.ErrNotFound) {
		return Test{}, false, err
	}
	after, err := s.Store.Load(ctx, id, ports.Live)
	if errors.Is(err, ports.ErrNotFound) {
		return newTest(&before), true, nil
	}
	return newTest(&after), false, err
}

// StopUnlessFinished is Stop for a test that has not come to its end, and nothing for one
// that has: its verdict and its evidence stay.
func (s *Service) StopUnlessFinished(ctx context.Context, id uuid.UUID) (test Test, gone bool, err error) {
	record, err := s.load(ctx, id, access.Tester)
	if err != nil || record.AtEnd() {
		return newTest(&record), false, err
	}
	return s.Stop(ctx, id)
}

// SetPolicy stores what is asked for the workspace of the finished test.
func (s *Service) SetPolicy(ctx context.Context, id uuid.UUID, policy core.DeletionPolicy) (Test, error) {
	record, err := s.load(ctx, id, access.Tester)
	if err != nil {
		return Test{}, err
	}
	switch policy {
	case core.DeletionPolicyDelete:
	case core.DeletionPolicyRetain:
		plane, err := s.Planes.ControlPlane(ctx, record.Spec.ControlPlaneRef, ports.Live)
		if err != nil {
			return Test{}, err
		}
		if !plane.Policy.AllowRetain {
			return Test{}, badField("deletionPolicy", "the control plane does not allow retain: allowRetain is not set there")
		}
	default:
		return Test{}, badField("deletionPolicy", `must be "delete" or "retain"`)
	}
	if err := s.Store.SetDeletionPolicy(ctx, id, string(policy)); err != nil {
		if errors.Is(err, ports.ErrNotFound) {
			return Test{}, noSuchTest(id)
		}
		return Test{}, err
	}
	after, err := s.Store.Load(ctx, id, ports.Live)
	if errors.Is(err, ports.ErrNotFound) {
		return Test{}, noSuchTest(id)
	}
	return newTest(&after), err
}

// Forget drops the record of a test that nothing can finish, whatever became of its
// workspace: first the wish that it goes, then the hold. It returns the test as it was.
func (s *Service) Forget(ctx context.Context, id uuid.UUID) (Test, error) {
	before, err := s.load(ctx, id, access.Admin)
	if err != nil {
		return Test{}, err
	}
	if !before.DeletionRequested() {
		return Test{}, &Error{Kind: Conflict, Message: "ask the test to go first (DELETE /api/v1/tests/{id}), and give it the time to clean up"}
	}
	for {
		record, err := s.Store.Load(ctx, id, ports.Live)
		if errors.Is(err, ports.ErrNotFound) {
			return newTest(&before), nil
		}
		if err != nil {
			return Test{}, err
		}
		_, err = s.Store.ReleaseHold(ctx, record)
		if err == nil || errors.Is(err, ports.ErrNotFound) {
			return newTest(&record), nil
		}
		if !errors.Is(err, ports.ErrConflict) {
			return Test{}, err
		}
	}
}
