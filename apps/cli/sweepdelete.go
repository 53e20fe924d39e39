package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/sweep"
	"github.com/assay-dev/assay/ports"
)

// What became of a workspace that was proven.
const (
	sweptDeleted = "deleted"
	// sweptExists: it can still exist; a record claims it.
	sweptExists = "exists"
	// sweptSpared: it was not touched, because it is no longer what it was.
	sweptSpared = "spared"
	// sweptFailed: it was not touched, because it could not be looked at again.
	sweptFailed = "failed"
	// sweptNotBegun: it was not touched, because a signal came first.
	sweptNotBegun = "not begun"
)

// sweepDeletion has the lifecycle delete what a sweep has proven.
type sweepDeletion struct {
	sweep          *sweep.Sweep
	view           sweep.View
	plane          core.ControlPlane
	cleanupTimeout time.Duration

	mu sync.Mutex
	// results are what became of the workspaces.
	results map[uuid.UUID]string
	// left are the endings after which a workspace can still exist.
	left []ending
	// signal is the first one that came, nil for none.
	signal os.Signal
}

// run claims the workspaces, one after the other, and has their records driven to the
// end. An error means that nothing was claimed.
func (d *sweepDeletion) run(ctx context.Context, s *session, proven []sweep.Finding) error {
	d.sweep.Records = s.state.List
	if err := s.state.PutControlPlane(ctx, d.plane); err != nil {
		return failure(fmt.Errorf("nothing was deleted: %w", err))
	}
	d.signal = supervise(ctx, s, s.observers, d.cleanupTimeout, func(w *supervision) {
		ctx, cancel := context.WithCancel(ctx)
		var tests, leaving sync.WaitGroup
		leaving.Go(func() {
			select {
			case <-w.leaving:
				cancel()
			case <-ctx.Done():
			}
		})
		for i := range proven {
			record := d.begin(ctx, s, w, proven[i])
			if record == nil {
				continue
			}
			w.goOn(*record)
			tests.Go(func() { d.ended(record.Status.WorkspaceID, w.follow(record.ID)) })
		}
		tests.Wait()
		cancel()
		leaving.Wait()
	})
	return nil
}

// begin claims a workspace, unless a signal came. The result is noted where there is no
// record to follow.
func (d *sweepDeletion) begin(ctx context.Context, s *session, w *supervision, proven sweep.Finding) *core.Record {
	result := sweptNotBegun
	select {
	case <-w.stopped:
	default:
		record, err := d.claim(ctx, s, proven)
		switch {
		case err != nil:
			fmt.Fprintf(w.progress, "workspace %s is not deleted: %v\n", proven.Workspace.Name, err)
			result = sweptFailed
		case record == nil:
			result = sweptSpared
		default:
			return record
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.results[proven.Workspace.ID] = result
	return nil
}

// ended notes what became of a workspace that was claimed.
func (d *sweepDeletion) ended(workspace uuid.UUID, end ending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.results[workspace] = sweptDeleted
	if end.record.MayLeak() {
		d.results[workspace] = sweptExists
		d.left = append(d.left, end)
	}
}

// claim looks once more and stores a record that claims the workspace; nil when it is to
// be left alone now.
func (d *sweepDeletion) claim(ctx context.Context, s *session, proven sweep.Finding) (*core.Record, error) {
	name := proven.Workspace.Name
	found, gone, err := d.sweep.LookAgain(ctx, d.view, proven.Workspace.ID)
	switch {
	case err != nil:
		return nil, err
	case gone:
		fmt.Fprintf(s.progress, "workspace %s is gone already\n", name)
		return nil, nil
	case found.Verdict != sweep.Proven || found.Workspace.Name != name:
		fmt.Fprintf(s.progress, "workspace %s is left alone: it is %s now: %s\n", name, found.Verdict, found.Why)
		return nil, nil
	}
	take := func(ctx context.Context, test uuid.UUID) error {
		_, err := s.keeper.Take(ctx, test)
		return err
	}
	record, err := sweep.Claim(ctx, s.state, take, d.view, found, d.plane.Ref, s.env.Clock.Now(), s.env.Random)
	if errors.Is(err, ports.ErrClaimed) {
		fmt.Fprintf(s.progress, "workspace %s is left alone: another test claims it now\n", name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &record, nil
}

// code says what a person has to know, once the progress has ended, and adds up the exit
// code.
func (d *sweepDeletion) code(out io.Writer, h host) int {
	for _, end := range d.left {
		writeLeakRisk(out, h, end)
	}
	codes := []int{exitPassed}
	for _, result := range d.results {
		switch result {
		case sweptExists, sweptFailed:
			codes = append(codes, exitLeakRisk)
		case sweptNotBegun:
			codes = append(codes, interruptedCode(d.signal))
		}
	}
	return worstExit(codes...)
}
