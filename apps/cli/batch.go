package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

// batch runs tests side by side.
type batch struct {
	plans []plan
	batchOptions
	// note hears of each attempt as it ends, one call at a time; nil for nobody.
	note func(report.Test)

	mu sync.Mutex
	// attempts are those of each plan, in their order; a plan that was not begun has one
	// that says so.
	attempts [][]attempt
	// signal is the first one that came, nil for none. It is set when all has ended.
	signal os.Signal
}

// batchOptions say how tests run side by side.
type batchOptions struct {
	// parallel bounds how many run at once; a test runs until its workspace is gone.
	parallel int
	// failFast stops the others once a test did not go as expected.
	failFast bool
	// retries is how often an inconclusive test is repeated, as a new test.
	retries int
	// keep retains the workspaces of failures.
	keep bool
}

// attempt is one test that was run for a plan.
type attempt struct {
	plan   plan
	number int
	// before is the test that this one repeats, uuid.Nil for the first.
	before uuid.UUID
	ending ending
	stages []report.Stage
	// coderVersion is empty where no Coder answered.
	coderVersion string
	logs         []core.Excerpt
	// notBegun is why no test was stored, nil for one that was.
	notBegun error
}

// run runs the tests on a host to their ends.
func (b *batch) run(ctx context.Context, h host, o observers, cleanupTimeout time.Duration) {
	b.attempts = make([][]attempt, len(b.plans))
	b.signal = supervise(ctx, h, o, cleanupTimeout, func(w *supervision) {
		slots := make(chan struct{}, b.parallel)
		var tests sync.WaitGroup
		for i, p := range b.plans {
			select {
			case slots <- struct{}{}:
				tests.Go(func() {
					defer func() { <-slots }()
					b.attempts[i] = b.runOne(w, p)
				})
			case <-w.stopped:
				one := attempt{plan: p, number: 1, notBegun: errStopping}
				b.attempts[i] = []attempt{one}
				b.tell(w, one)
			}
		}
		tests.Wait()
	})
}

// runOne runs the test of a plan, again as often as it may when it is inconclusive.
func (b *batch) runOne(w *supervision, p plan) (attempts []attempt) {
	for number := 1; ; number++ {
		one := attempt{plan: p, number: number}
		if number > 1 {
			one.before = attempts[number-2].ending.record.ID
		}
		b.runAttempt(w, &one)
		if one.notBegun != nil && number > 1 {
			// The attempt before it is what is known.
			if !errors.Is(one.notBegun, errStopping) {
				fmt.Fprintf(w.progress, "%sthe test is not repeated: %v\n", one.title(), one.notBegun)
			}
			one = attempts[number-2]
		} else {
			attempts = append(attempts, one)
			b.tell(w, one)
		}
		if len(attempts) == number && number <= b.retries && one.isInconclusive() {
			continue
		}
		if b.failFast && one.code(nil) != exitPassed {
			w.stop()
		}
		return attempts
	}
}

func (b *batch) runAttempt(w *supervision, one *attempt) {
	record, err := newRecord(w.env, one.plan, b.keep)
	if err == nil {
		record, err = w.begin(record)
	}
	if err != nil {
		one.notBegun = err
		return
	}
	one.follow(w, record.ID)
}

// follow waits for the end of the attempt's test.
func (a *attempt) follow(w *supervision, test uuid.UUID) {
	a.ending = w.follow(test)
	a.stages, a.coderVersion = w.host.course(test, w.env.Clock.Now())
	a.logs = w.evidence.Excerpts(test)
}

func (b *batch) tell(w *supervision, one attempt) {
	if b.note == nil {
		return
	}
	signal := w.interrupted()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(one.document(signal, one.number > 1))
}

// newRecord is the record of a new test.
func newRecord(env Env, p plan, keep bool) (core.Record, error) {
	id, err := uuid.NewRandomFromReader(env.Random)
	if err != nil {
		return core.Record{}, fmt.Errorf("make an ID: %w", err)
	}
	policy := core.DeletionPolicyDelete
	if keep {
		// A pass deletes its workspace before it is final, so this keeps only the
		// workspaces of failures.
		policy = core.DeletionPolicyRetain
	}
	return core.Record{
		ID: id, Name: p.name, Generation: 1, CreatedAt: env.Clock.Now().UTC().Truncate(time.Millisecond),
		Spec: p.spec, DeletionPolicy: string(policy),
	}, nil
}

// isInconclusive reports whether another attempt could judge the version.
func (a *attempt) isInconclusive() bool {
	st := &a.ending.record.Status
	return a.notBegun == nil && a.ending.err == nil && st.Phase.Final() && st.OutcomeClass == core.OutcomeInconclusive &&
		!a.plan.meets(&a.ending.record) && a.ending.code() != exitLeakRisk
}

// code is the exit code that the attempt stands for. signal is the one that ended the run,
// nil for none.
func (a *attempt) code(signal os.Signal) int {
	if a.notBegun != nil {
		if errors.Is(a.notBegun, errStopping) && signal != nil {
			return interruptedCode(signal)
		}
		return exitInconclusive
	}
	end := a.ending
	end.signal = signal
	code := end.code()
	switch met := a.plan.meets(&end.record); {
	case met && (code == exitFailed || code == exitInconclusive):
		// The suite expects this failure.
		return exitPassed
	case !met && code == exitPassed:
		// The suite expects a failure, and there was none.
		return exitFailed
	default:
		return code
	}
}

// document tells of the attempt. numbered: the test was repeated.
func (a *attempt) document(signal os.Signal, numbered bool) report.Test {
	code := a.code(signal)
	if a.notBegun != nil {
		test := report.NewTest(&core.Record{Name: a.plan.name, Spec: a.plan.spec})
		test.Verdict, test.Message, test.Workspace.Name = report.NotStarted, a.notBegun.Error(), ""
		test.Expected, test.ExitCode = a.plan.expected, &code
		return test
	}
	record := &a.ending.record
	test := report.NewTest(record)
	test.Verdict, test.ExitCode = report.VerdictOf(record, signal != nil), &code
	test.Stages, test.CoderVersion, test.Logs = a.stages, a.coderVersion, a.logs
	if a.plan.expected != nil {
		met := a.plan.meets(record)
		test.Expected, test.Met = a.plan.expected, &met
	}
	if numbered {
		test.Attempt, test.RetryOf = a.number, a.before
	}
	return test
}

// documentOf tells of the attempts of each plan. The exit code is the worst of the plans'.
// A repeated test counts with its last attempt, unless an earlier one left a workspace.
func documentOf(attempts [][]attempt, signal os.Signal) report.Run {
	run := report.Run{Tests: []report.Test{}, ExitCode: exitPassed}
	for _, ofPlan := range attempts {
		for i := range ofPlan {
			test := ofPlan[i].document(signal, len(ofPlan) > 1)
			if i == len(ofPlan)-1 || *test.ExitCode == exitLeakRisk {
				run.ExitCode = worstExit(run.ExitCode, *test.ExitCode)
			}
			run.Tests = append(run.Tests, test)
		}
	}
	return run
}
