package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-dev/assay/fakes/sim"
)

// again is how a run is played once more.
const again = "go run ./fakes/sim/cmd/sim"

// report is what the workers add up.
type report struct {
	mu                                     sync.Mutex
	runs, steps, requests, faults, crashes int
	// reasons counts how tests ended, and excused those that are not held to I1, I3 and
	// I6.
	reasons, excused map[string]int
	// broken are the seeds that break an invariant.
	broken []uint64
}

// playSeeds plays the seeds and prints what came of them.
func (c *command) playSeeds() int {
	first, err := c.first()
	if err != nil {
		return c.usage("%v", err)
	}
	fmt.Fprintf(c.out, "%-11s %d, from %d; again: %s -seeds %d -from %d\n", "seeds", c.seeds, first, again, c.seeds, first)
	began := time.Now()
	r := &report{reasons: map[string]int{}, excused: map[string]int{}}
	stop := c.progress(func() string { return r.soFar(c.seeds, time.Since(began)) })
	c.playAll(r, first)
	stop()
	took := time.Since(began)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(c.out, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("runs", "%d in %s, %.0f a second", r.runs, took.Round(time.Millisecond), float64(r.runs)/took.Seconds())
	row("requests", "%d to Coder, in %d steps", r.requests, r.steps)
	row("faults", "%d, interferences by people and other engines included", r.faults)
	row("crashes", "%d", r.crashes)
	row("violations", "%d", len(r.broken))
	if c.verbose {
		c.printResults(r)
	}
	slices.Sort(r.broken)
	for _, seed := range r.broken {
		c.tell(seed)
	}
	if len(r.broken) > 0 {
		return exitBroken
	}
	return exitHolds
}

func (c *command) printResults(r *report) {
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(c.out, "%11d  %s\n", r.reasons[reason], reason)
	}
	for _, why := range slices.Sorted(maps.Keys(r.excused)) {
		fmt.Fprintf(c.out, "%11d  excused: %s\n", r.excused[why], why)
	}
}

// playAll has the workers play, until enough seeds break an invariant.
func (c *command) playAll(r *report, first uint64) {
	var next atomic.Uint64
	var group sync.WaitGroup
	for range c.workers {
		group.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= uint64(c.seeds) || r.violations() >= c.failures {
					return
				}
				r.add(first+n, sim.Play(sim.NewPlan(first+n), false, c.mutant))
			}
		})
	}
	group.Wait()
}

func (r *report) violations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.broken)
}

func (r *report) soFar(seeds int, took time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d of %d seeds, %.0f a second, %d violations", r.runs, seeds, float64(r.runs)/took.Seconds(), len(r.broken))
}

func (r *report) add(seed uint64, o *sim.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
	r.steps += o.Steps
	r.requests += o.Requests
	r.faults += o.Faults
	r.crashes += o.Crashes
	for reason, n := range o.Reasons {
		r.reasons[reason] += n
	}
	for why, n := range o.Excused {
		r.excused[why] += n
	}
	if len(o.Violations) > 0 {
		r.broken = append(r.broken, seed)
	}
}

// tell prints a seed: its smallest plan that still breaks the invariant, and the trail.
func (c *command) tell(seed uint64) int {
	plan := sim.NewPlan(seed)
	outcome := sim.Play(plan, true, c.mutant)
	if len(outcome.Violations) > 0 {
		plan = sim.Shrink(plan, outcome.Violations[0].Check, 2000, c.mutant)
		outcome = sim.Play(plan, true, c.mutant)
	}
	fmt.Fprintf(c.out, "\n%s%s\n", plan, strings.Join(outcome.Trail, "\n"))
	for _, v := range outcome.Violations {
		fmt.Fprintln(c.out, v)
	}
	fmt.Fprintf(c.out, "replay: %s -replay %d\n", again, seed)
	if len(outcome.Violations) > 0 {
		return exitBroken
	}
	return exitHolds
}
