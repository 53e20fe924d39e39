package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// MaxTransitions bounds how many transitions one call returns.
const MaxTransitions = 500

// Get returns a test with the stages it went through.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Test, error) {
	record, err := s.load(ctx, id, access.Viewer)
	if err != nil {
		return Test{}, err
	}
	test := newTest(&record)
	if access.CallerOf(ctx).May(access.Tester, record.Spec.ControlPlaneRef) {
		test.Parameters = slices.Clone(record.Spec.Parameters)
	}
	transitions, err := s.Store.Transitions(ctx, id, 0, MaxTransitions)
	if err != nil {
		return Test{}, err
	}
	var timeline report.Timeline
	for _, transition := range transitions {
		if stage, known := core.ParseStage(transition.Stage); known {
			timeline.AddStage(transition.At, stage)
		}
	}
	test.Stages = timeline.Stages(s.Clock.Now())
	return test, nil
}

// List returns the tests that a query finds and the caller may see.
func (s *Service) List(ctx context.Context, query core.TestQuery) (Page, error) {
	caller := access.CallerOf(ctx)
	if query.Limit < 0 || query.Limit > core.MaxTestPage {
		return Page{}, badField("limit", fmt.Sprintf("must be 1 to %d", core.MaxTestPage))
	}
	if all, names := caller.Planes(access.Viewer); !all {
		if len(query.ControlPlanes) == 0 {
			query.ControlPlanes = names
		}
		query.ControlPlanes = slices.DeleteFunc(slices.Clone(query.ControlPlanes), func(plane string) bool { return !caller.May(access.Viewer, plane) })
		if len(query.ControlPlanes) == 0 {
			return Page{Tests: []Test{}}, nil
		}
	}
	found, err := s.Store.FindTests(ctx, query)
	if errors.Is(err, ports.ErrBadPage) {
		return Page{}, badField("cursor", "must be the next of an earlier answer, unchanged")
	}
	if err != nil {
		return Page{}, err
	}
	page := Page{Tests: make([]Test, 0, len(found.Records)), Next: found.Next}
	for i := range found.Records {
		page.Tests = append(page.Tests, newTest(&found.Records[i]))
	}
	return page, nil
}

// Transitions returns how a test went, from the oldest on, also of one whose record is
// gone already.
func (s *Service) Transitions(ctx context.Context, id uuid.UUID, after int64, limit int) ([]core.TestTransition, error) {
	if limit < 0 || limit > MaxTransitions {
		return nil, badField("limit", fmt.Sprintf("must be 1 to %d", MaxTransitions))
	}
	if limit == 0 {
		limit = MaxTransitions
	}
	if err := s.maySee(ctx, id); err != nil {
		return nil, err
	}
	return s.Store.Transitions(ctx, id, after, limit)
}

// maySee refuses a test that was never there, and one that the caller may not see.
func (s *Service) maySee(ctx context.Context, id uuid.UUID) error {
	first, err := s.Store.Transitions(ctx, id, 0, 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		if access.CallerOf(ctx).May(access.Viewer, first[0].ControlPlaneRef) {
			return nil
		}
		return noSuchTest(id)
	}
	// A record of before transitions were kept.
	_, err = s.load(ctx, id, access.Viewer)
	return err
}

// Evidence returns what was read about a failed test before its workspace went.
func (s *Service) Evidence(ctx context.Context, id uuid.UUID) (core.StoredEvidence, error) {
	if err := s.maySee(ctx, id); err != nil {
		return core.StoredEvidence{}, err
	}
	evidence, err := s.Store.KeptEvidence(ctx, id)
	if errors.Is(err, ports.ErrNotFound) {
		return core.StoredEvidence{}, &Error{
			Kind:    NotFound,
			Message: "there is no evidence of this test: it passed, runs still, had nothing to read, or its evidence was kept long enough",
		}
	}
	return evidence, err
}
