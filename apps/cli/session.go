package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/ports"
)

// session runs tests in this process, on a graph that has started.
type session struct {
	observers
	state  *stateFile
	driver *driver.Driver
	keeper *driver.Keeper
	leave  abandon
}

var _ host = (*session)(nil)

func newSession(
	env Env, state *stateFile, driver *driver.Driver, keeper *driver.Keeper, leave abandon,
	tracker *tracker, progress *terminal.Progress, evidence *terminal.Evidence,
) *session {
	return &session{
		observers: observers{env: env, tracker: tracker, progress: progress, evidence: evidence},
		state:     state, driver: driver, keeper: keeper, leave: leave,
	}
}

// ending is how a test's run ended.
type ending struct {
	record core.Record
	// signal is the first one that came, nil for none.
	signal os.Signal
	// abandoned: a second signal came; nothing is waited for any more.
	abandoned bool
	// gaveUp: the cleanup took longer than it may.
	gaveUp bool
	// err is why the test could not be waited for, nil otherwise.
	err error
}

// code is the exit code of the test's run.
func (e *ending) code() int {
	code := exitCode(&e.record, e.signal)
	if e.err != nil {
		code = worstExit(exitInconclusive, code)
	}
	return code
}

// start implements host. The test's deployment is stored.
func (s *session) start(ctx context.Context, record core.Record) (core.Record, error) {
	// Taken first: no other process can come between.
	if _, err := s.keeper.Take(ctx, record.ID); err != nil {
		return core.Record{}, err
	}
	return s.state.Create(ctx, record)
}

// drive implements host.
func (s *session) drive(id uuid.UUID) { s.driver.Add(id) }

// wait implements host.
func (s *session) wait(ctx context.Context, id uuid.UUID) error {
	_, err := s.driver.Wait(ctx, id)
	return err
}

// stop implements host: it has the test step at once.
func (s *session) stop(ctx context.Context, id uuid.UUID) {
	record, err := s.state.Load(ctx, id, ports.Live)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return
	case err == nil && record.Status.Phase.Final():
		// It keeps its verdict, its record and what it was asked to do with the workspace;
		// its cleanup is under way.
		s.driver.Add(id)
		return
	case err == nil:
		// A workspace is kept for a failure that somebody wants to look at. Without a
		// verdict there is none.
		err := s.state.SetDeletionPolicy(ctx, id, string(core.DeletionPolicyDelete))
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			fmt.Fprintf(s.progress, "the workspace may be kept: %v\n", err)
		}
	}
	err = s.state.RequestDeletion(ctx, id)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		fmt.Fprintf(s.progress, "the wish to stop could not be stored, the test goes on: %v\n", err)
	}
	s.driver.Add(id)
}

// last implements host.
func (s *session) last(ctx context.Context, id uuid.UUID) core.Record {
	record, err := s.state.Load(ctx, id, ports.Live)
	if err != nil {
		return s.tracker.record(id)
	}
	return record
}

// course implements host.
func (s *session) course(id uuid.UUID, now time.Time) (stages []report.Stage, coderVersion string) {
	return s.tracker.course(id, now)
}

// finishes implements host.
func (*session) finishes(uuid.UUID) string { return "\"assay resume\" finishes it" }

// waysOut implements host.
func (*session) waysOut() string { return waysOut }

// abandon implements host.
func (s *session) abandon() { s.leave() }

// explain tells a person, after the progress has ended, what the exit code alone does
// not.
func (a *attempt) explain(out io.Writer, h host, signal os.Signal) {
	if a.notBegun != nil {
		if !errors.Is(a.notBegun, errStopping) {
			fmt.Fprintf(out, "assay: %snothing was started: %v\n", a.title(), a.notBegun)
		}
		return
	}
	end := a.ending
	end.signal = signal
	if end.record.Status.Phase == core.PhaseFailed {
		if name := a.title(); name != "" && len(a.logs) > 0 {
			fmt.Fprintf(out, "\n=== %s===\n", strings.Replace(name, ": ", " ", 1))
		}
		terminal.WriteExcerpts(out, a.logs)
	}
	if end.record.Status.LastWaitReason == core.ReasonOwnerNotEligible {
		fmt.Fprintln(out, h.waysOut())
	}
	if end.err != nil {
		fmt.Fprintf(out, "assay: %sthe test could not be followed to its end: %v\n", a.title(), end.err)
	}
	if end.code() == exitLeakRisk {
		writeLeakRisk(out, h, end)
	}
}

// title begins a line about one test of several.
func (a *attempt) title() string {
	if a.plan.name == "" {
		return ""
	}
	return core.PrintableLine(a.plan.name) + ": "
}

// writeLeakRisk says what can still exist, why, and what to do.
func writeLeakRisk(out io.Writer, h host, end ending) {
	id := end.record.ID
	reason, wayOut := "the run ended before the cleanup did", h.finishes(id)
	switch {
	case end.gaveUp:
		reason = "the cleanup took longer than --cleanup-timeout"
	case end.abandoned:
		reason = "a second signal ended the run"
	case end.record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonOwnershipUnknown:
		reason = "a workspace has the test's name, and nothing proves whose it is"
		wayOut = fmt.Sprintf("\"assay resume\" looks again, \"assay forget %s\" drops it", id)
	}
	fmt.Fprintf(out, "A workspace can still exist: %s.\n"+
		"Its name is %s. The record of the test is kept: %s.\n", reason, core.WorkspaceName(id), wayOut)
}
