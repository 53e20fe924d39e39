package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/ports"
)

// session runs tests on a graph that has started.
type session struct {
	env      Env
	registry ports.TestRegistry
	driver   *driver.Driver
	tracker  *tracker
	progress *terminal.Progress
	evidence *terminal.Evidence
	abandon  abandon
}

func newSession(
	env Env, state *stateFile, driver *driver.Driver, abandon abandon,
	tracker *tracker, progress *terminal.Progress, evidence *terminal.Evidence,
) *session {
	return &session{
		env: env, registry: state, driver: driver, abandon: abandon,
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
}

// waited is what the driver's Wait returned.
type waited struct {
	result driver.Result
	err    error
}

// run stores the record and drives its test until nothing is left to do, until only a
// person can move it, until the cleanup takes too long, or until a second signal. An
// error means that nothing was stored, or that the driver cannot go on.
func (s *session) run(ctx context.Context, record core.Record, cleanupTimeout time.Duration) (ending, error) {
	record, err := s.registry.Create(ctx, record)
	if err != nil {
		return ending{}, failure(err)
	}
	s.driver.Add(record.ID)
	ended := make(chan waited, 1)
	waiting, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	go func() {
		result, err := s.driver.Wait(waiting, record.ID)
		ended <- waited{result, err}
	}()

	var end ending
	final := s.tracker.final
	tooLong := make(chan struct{})
	var timer ports.Timer
	startTimer := func() {
		if timer == nil {
			timer = s.env.Clock.AfterFunc(cleanupTimeout, func() { close(tooLong) })
		}
	}
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		select {
		case w := <-ended:
			end.record = s.lastRecord(context.WithoutCancel(ctx), record)
			if w.err != nil {
				return ending{}, &exitError{worstExit(exitInconclusive, exitCode(&end.record, end.signal)), w.err}
			}
			return end, nil
		case signal := <-s.env.Signals:
			if end.signal != nil {
				end.abandoned = true
				// The wish to stop is stored, so no create can be announced after this read.
				end.record = s.lastRecord(ctx, record)
				s.abandon()
				return end, nil
			}
			end.signal = signal
			s.stop(ctx, record.ID, cleanupTimeout)
			startTimer()
		case <-final:
			final = nil
			startTimer()
		case <-tooLong:
			end.gaveUp = true
			end.record = s.lastRecord(ctx, record)
			return end, nil
		}
	}
}

// stop stores the wish that the test stops, and has it step at once.
func (s *session) stop(ctx context.Context, id uuid.UUID, cleanupTimeout time.Duration) {
	fmt.Fprintf(s.progress, "stopping: the test is asked to delete its workspace, which may take up to %v; "+
		"a second signal leaves at once\n", cleanupTimeout)
	// A workspace is kept for a failure that somebody wants to look at. Without a
	// verdict there is none.
	if record, err := s.registry.Load(ctx, id, ports.Live); err == nil && !record.Status.Phase.Final() {
		if err := s.registry.SetDeletionPolicy(ctx, id, string(core.DeletionPolicyDelete)); err != nil && !errors.Is(err, ports.ErrNotFound) {
			fmt.Fprintf(s.progress, "the workspace may be kept: %v\n", err)
		}
	}
	err := s.registry.RequestDeletion(ctx, id)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		fmt.Fprintf(s.progress, "the wish to stop could not be stored, the test goes on: %v\n", err)
	}
	s.driver.Add(id)
}

// lastRecord is the record as it is stored, or as it was stored last when it is
// gone or cannot be read.
func (s *session) lastRecord(ctx context.Context, created core.Record) core.Record {
	record, err := s.registry.Load(ctx, created.ID, ports.Live)
	if err != nil {
		return s.tracker.record(created)
	}
	return record
}

// explain tells a person, after the progress has ended, what the exit code alone does
// not.
func (s *session) explain(out io.Writer, end ending, code int) {
	if end.record.Status.Phase == core.PhaseFailed {
		s.evidence.Write(out, end.record.ID)
	}
	if end.record.Status.LastWaitReason == core.ReasonOwnerNotEligible {
		fmt.Fprintln(out, waysOut)
	}
	if code != exitLeakRisk {
		return
	}
	reason := "the run ended before the cleanup did"
	switch {
	case end.gaveUp:
		reason = "the cleanup took longer than --cleanup-timeout"
	case end.abandoned:
		reason = "a second signal ended the run"
	case end.record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonOwnershipUnknown:
		reason = "a workspace has the test's name, and nothing proves whose it is"
	}
	fmt.Fprintf(out, "A workspace can still exist: %s.\n"+
		"Its name is %s; look for it in Coder and delete it if it is there.\n"+
		"The record of the test is kept: assay show %s\n",
		reason, core.WorkspaceName(end.record.ID), end.record.ID)
}
