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

// start stores the test with the deployment that it runs against. An error means that
// no test was stored.
func (s *session) start(ctx context.Context, record core.Record, plane core.ControlPlane) (core.Record, error) {
	if err := s.state.PutControlPlane(ctx, plane); err != nil {
		return core.Record{}, err
	}
	// Taken first: no other process can come between.
	if _, err := s.keeper.Take(ctx, record.ID); err != nil {
		return core.Record{}, err
	}
	return s.state.Create(ctx, record)
}

// drive runs stored tests, whose leases are taken, until nothing is left to do for
// them, only a person can move them, their cleanup takes too long, or a second signal
// comes. The endings are in the order of the records.
func (s *session) drive(ctx context.Context, records []core.Record, cleanupTimeout time.Duration) []ending {
	var (
		endings  = make([]ending, len(records))
		stopped  = make(chan struct{})
		leaving  = make(chan struct{})
		allEnded = make(chan struct{})
		tests    sync.WaitGroup
	)
	for i := range records {
		s.tracker.start(records[i])
		s.driver.Add(records[i].ID)
		tests.Go(func() { endings[i] = s.follow(ctx, records[i].ID, stopped, leaving, cleanupTimeout) })
	}
	go func() { tests.Wait(); close(allEnded) }()

	var first os.Signal
	for {
		select {
		case <-allEnded:
			for i := range endings {
				endings[i].signal = first
			}
			return endings
		case signal := <-s.env.Signals:
			switch {
			case first == nil:
				first = signal
				s.stop(ctx, records, cleanupTimeout)
				close(stopped)
			default:
				// The wish to stop is stored, so no create can be announced after the last
				// read of the records.
				close(leaving)
				<-allEnded
				s.abandon()
				for i := range endings {
					endings[i].signal = first
				}
				return endings
			}
		}
	}
}

// follow waits for the end of one test. The cleanup's time begins with the verdict, or
// when the tests are stopped.
func (s *session) follow(ctx context.Context, id uuid.UUID, stopped, leaving <-chan struct{}, cleanupTimeout time.Duration) ending {
	waiting, stopWaiting := context.WithCancel(ctx)
	defer stopWaiting()
	ended := make(chan error, 1)
	go func() {
		_, err := s.driver.Wait(waiting, id)
		ended <- err
	}()
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
	verdict := s.tracker.verdict(id)
	for {
		select {
		case err := <-ended:
			return ending{record: s.lastRecord(context.WithoutCancel(ctx), id), err: err}
		case <-stopped:
			stopped = nil
			startTimer()
		case <-verdict:
			verdict = nil
			startTimer()
		case <-tooLong:
			return ending{record: s.lastRecord(ctx, id), gaveUp: true}
		case <-leaving:
			return ending{record: s.lastRecord(ctx, id), abandoned: true}
		}
	}
}

// stop stores the wish that the tests stop, and has them step at once.
func (s *session) stop(ctx context.Context, records []core.Record, cleanupTimeout time.Duration) {
	fmt.Fprintf(s.progress, "stopping: the workspace is deleted, which may take up to %v; a second signal leaves at once\n", cleanupTimeout)
	for i := range records {
		id := records[i].ID
		// A workspace is kept for a failure that somebody wants to look at. Without a
		// verdict there is none.
		if record, err := s.state.Load(ctx, id, ports.Live); err == nil && !record.Status.Phase.Final() {
			err := s.state.SetDeletionPolicy(ctx, id, string(core.DeletionPolicyDelete))
			if err != nil && !errors.Is(err, ports.ErrNotFound) {
				fmt.Fprintf(s.progress, "the workspace may be kept: %v\n", err)
			}
		}
		err := s.state.RequestDeletion(ctx, id)
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			fmt.Fprintf(s.progress, "the wish to stop could not be stored, the test goes on: %v\n", err)
		}
		s.driver.Add(id)
	}
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
func (s *session) explain(out io.Writer, end ending) {
	if end.record.Status.Phase == core.PhaseFailed {
		s.evidence.Write(out, end.record.ID)
	}
	if end.record.Status.LastWaitReason == core.ReasonOwnerNotEligible {
		fmt.Fprintln(out, waysOut)
	}
	if end.err != nil {
		fmt.Fprintf(out, "assay: the test could not be followed to its end: %v\n", end.err)
	}
	if end.code() == exitLeakRisk {
		writeLeakRisk(out, end)
	}
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
