package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/scenario"
)

// settleTime is how long a story goes on after its end: longer than any backoff, settle
// window and deadline together.
const settleTime = 3 * time.Hour

// stubbornAttempts is how many delete builds must have failed in that time for a
// workspace to count as one that cannot be deleted.
const stubbornAttempts = 6

// Way is how a run is disturbed at one call.
type Way string

// The ways. Those with an engine that crashes are held against I7; the lost answers are
// what they are held against; the rest only has to keep the invariants.
const (
	CrashBefore Way = "crash before"
	CrashAfter  Way = "crash after"
	LoseAnswer  Way = "answer lost"
	LoseRequest Way = "request lost"
	// SecondSteps has a second engine do a step before the call, SecondFinishes as many
	// as it can without time passing: the first one lost its lease and does not know.
	SecondSteps    Way = "second engine steps"
	SecondFinishes Way = "second engine goes on"
)

// CrashReport is what CrashEverywhere found.
type CrashReport struct {
	// Points counts the calls at which the run was disturbed, in each way, and Skipped
	// those that only repeat the step before.
	Points, Skipped int
	Runs            int
	Findings        []CrashFinding
}

// CrashFinding is a disturbance after which something did not hold.
type CrashFinding struct {
	Way Way
	// Call is the number of the call, Where its name.
	Call       int
	Where      string
	Violations []Violation
	Trail      []string
}

// CrashOptions say what CrashEverywhere does.
type CrashOptions struct {
	Ways []Way
	// Every, above 1, disturbs only each so many-th call, from the one numbered First on.
	Every, First int
	// Mutant is nil but in tests of the invariants themselves; of it only the store
	// counts.
	Mutant *Mutant
}

// CrashEverywhere runs a script once for each call that its engine makes to any port and
// each way, and judges every run.
func CrashEverywhere(script *scenario.Script, options CrashOptions) (CrashReport, error) {
	c := &crashes{script: script, mutant: options.Mutant, outcomes: map[disturbance]outcome{}}
	calm, err := c.run(disturbance{})
	if err != nil {
		return c.report, err
	}
	c.calm, c.calls = calm.outcome, calm.calls
	every := max(options.Every, 1)
	for _, point := range calm.calls {
		if point.repeats {
			c.report.Skipped++
			continue
		}
		if point.number%every != options.First%every {
			continue
		}
		c.report.Points++
		for _, way := range options.Ways {
			if err := c.disturb(disturbance{way: way, call: point.number}); err != nil {
				return c.report, err
			}
		}
	}
	return c.report, nil
}

// crashes is the work of CrashEverywhere.
type crashes struct {
	script *scenario.Script
	mutant *Mutant
	calm   outcome
	// calls are those of the run that nothing disturbs.
	calls    []crashPoint
	outcomes map[disturbance]outcome
	report   CrashReport
}

// disturbance is what happens at which call; none for the zero value.
type disturbance struct {
	way  Way
	call int
	// woken tells that the next step follows at once, as after a crash: a test can be
	// woken at any time.
	woken bool
}

// outcome is what a story came to.
type outcome struct {
	phase  core.Phase
	reason core.Reason
	class  core.OutcomeClass
}

func (o outcome) String() string { return fmt.Sprintf("%s %s %s", o.phase, o.reason, o.class) }

// crashPoint is a call of the run that nothing disturbs.
type crashPoint struct {
	number int
	op     string
	step   int
	// repeats tells that it is in a step that only repeats the two before it.
	repeats bool
}

// disturb makes one run, and for a crash compares it with those that lose an answer.
func (c *crashes) disturb(d disturbance) error {
	got, err := c.run(d)
	if err != nil {
		return err
	}
	if (d.way == CrashBefore || d.way == CrashAfter) && got.outcome != c.calm {
		possible, err := c.possible(d.call)
		if err != nil {
			return err
		}
		if !slices.Contains(possible, got.outcome) {
			what := fmt.Sprintf("the crash leads to %q, and without it only %q can come out", got.outcome, possible)
			c.found(d, got, Violation{Check: restartChangesNothing, Test: scenario.TestID, What: what})
		}
	}
	return nil
}

// possible are the outcomes without a crash: with nothing lost, and with a request or an
// answer lost that the crash loses. Those are the call at which it strikes, and before it
// the ones whose answers no write has stored yet.
func (c *crashes) possible(call int) ([]outcome, error) {
	possible := []outcome{c.calm}
	step := c.calls[call-1].step
	for n := call; n >= 1 && c.calls[n-1].step == step; n-- {
		for _, d := range []disturbance{
			{LoseAnswer, n, false}, {LoseRequest, n, false}, {LoseAnswer, n, true}, {LoseRequest, n, true}, {"", n, true},
		} {
			got, err := c.outcome(d)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(possible, got) {
				possible = append(possible, got)
			}
		}
		if n < call && stores(c.calls[n-1].op) {
			break
		}
	}
	return possible, nil
}

// stores tells whether an operation stores what is known.
func stores(op string) bool {
	return op == faults.SaveRecord || op == faults.TakeHold || op == faults.ReleaseHold || op == faults.DeleteRecord
}

// outcome runs the story once for each disturbance.
func (c *crashes) outcome(d disturbance) (outcome, error) {
	if known, done := c.outcomes[d]; done {
		return known, nil
	}
	got, err := c.run(d)
	c.outcomes[d] = got.outcome
	return got.outcome, err
}

// told is a story that was told.
type told struct {
	outcome outcome
	calls   []crashPoint
	trail   []string
}

// run tells the story with one disturbance and judges it.
func (c *crashes) run(d disturbance) (told, error) {
	c.report.Runs++
	t := &telling{disturbance: d, mutant: c.mutant}
	result, err := scenario.RunWith(c.script, t.options())
	if err != nil {
		return told{}, fmt.Errorf("%s call %d: %w", d.way, d.call, err)
	}
	st := &result.Record.Status
	got := told{outcome{st.Phase, st.Reason, st.OutcomeClass}, t.points(), result.Trail}
	t.end(result)
	c.found(d, got, Judge(&t.history)...)
	return got, nil
}

func (c *crashes) found(d disturbance, got told, violations ...Violation) {
	if len(violations) == 0 {
		return
	}
	where := "nowhere"
	if d.call > 0 {
		where = c.calls[d.call-1].op
	}
	c.report.Findings = append(c.report.Findings, CrashFinding{d.way, d.call, where, violations, got.trail})
}
