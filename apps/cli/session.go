package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/ports"
)

// session runs tests on a graph that has started.
type session struct {
	env      Env
	state    *stateFile
	driver   *driver.Driver
	keeper   *driver.Keeper
	tracker  *tracker
	progress *terminal.Progress
	evidence *terminal.Evidence
	abandon  abandon
}

func newSession(
	env Env, state *stateFile, driver *driver.Driver, keeper *driver.Keeper, abandon abandon,
	tracker *tracker, progress *terminal.Progress, evidence *terminal.Evidence,
) *session {
	return &session{
		env: env, state: state, driver: driver, keeper: keeper, abandon: abandon,
		tracker: tracker, progress: progress, evidence: evidence,
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

// start stores the test, whose deployment is stored. An error means that no test was
// stored.
func (s *session) start(ctx context.Context, record core.Record) (core.Record, error) {
	// Taken first: no other process can come between.
	if _, err := s.keeper.Take(ctx, record.ID); err != nil {
		return core.Record{}, err
	}
	return s.state.Create(ctx, record)
}

// lastRecord is the record as it is stored, or as it was stored last when it is
// gone or cannot be read.
func (s *session) lastRecord(ctx context.Context, id uuid.UUID) core.Record {
	record, err := s.state.Load(ctx, id, ports.Live)
	if err != nil {
		return s.tracker.record(id)
	}
	return record
}

// explain tells a person, after the progress has ended, what the exit code alone does
// not.
func (s *session) explain(out io.Writer, a *attempt, signal os.Signal) {
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
		fmt.Fprintln(out, waysOut)
	}
	if end.err != nil {
		fmt.Fprintf(out, "assay: %sthe test could not be followed to its end: %v\n", a.title(), end.err)
	}
	if end.code() == exitLeakRisk {
		writeLeakRisk(out, end)
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
func writeLeakRisk(out io.Writer, end ending) {
	id := end.record.ID
	reason, wayOut := "the run ended before the cleanup did", "\"assay resume\" finishes it"
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
