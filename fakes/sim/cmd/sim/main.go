// Command sim runs simulations of the lifecycle and checks its invariants: random ones,
// each decided by a seed, or with -stories every scenario file with a disturbance at every
// call.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assay-dev/assay/fakes/sim"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// report is what the workers add up.
type report struct {
	mu                               sync.Mutex
	runs                             int
	steps, requests, faults, crashes int
	// reasons counts how tests ended, and excused those that are not held to I1, I3 and
	// I6.
	reasons, excused map[string]int
	failed           []uint64
}

func run(args []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(problems)
	seeds := flags.Int("seeds", 10000, "how many seeds to run")
	from := flags.Uint64("from", 1, "the first seed")
	replay := flags.Uint64("replay", 0, "run this one seed and print its trail")
	workers := flags.Int("workers", 2, "how many runs at once")
	everyStory := flags.Bool("stories", false, "disturb every scenario file at every call instead")
	most := flags.Int("failures", 3, "give up after this many failing seeds")
	verbose := flags.Bool("v", false, "print how often each verdict came out")
	profile := flags.String("cpuprofile", "", "write a CPU profile to this file")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *everyStory {
		return stories(out, problems, *workers)
	}
	if *replay != 0 {
		return tell(out, *replay)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(problems, "profile:", err)
			return 2
		}
		defer pprof.StopCPUProfile()
	}
	debug.SetGCPercent(400) // runs are short and leave nothing behind
	began := time.Now()
	r := &report{reasons: map[string]int{}, excused: map[string]int{}}
	r.all(*from, uint64(*seeds), *workers, *most)
	took := time.Since(began)
	fmt.Fprintf(out, "%d runs in %s, %.0f a second; %d steps, %d requests to Coder, %d faults and interferences, %d crashes; %d seeds break an invariant\n",
		r.runs, took.Round(time.Millisecond), float64(r.runs)/took.Seconds(), r.steps, r.requests, r.faults, r.crashes, len(r.failed))
	if *verbose {
		for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
			fmt.Fprintf(out, "%8d  %s\n", r.reasons[reason], reason)
		}
		for _, why := range slices.Sorted(maps.Keys(r.excused)) {
			fmt.Fprintf(out, "%8d  excused: %s\n", r.excused[why], why)
		}
	}
	for _, seed := range r.failed {
		tell(out, seed)
	}
	if len(r.failed) > 0 {
		return 1
	}
	return 0
}

// all runs the seeds.
func (r *report) all(from, count uint64, workers, most int) {
	var next atomic.Uint64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= count || !r.goOn(most) {
					return
				}
				r.add(from+n, sim.Play(sim.NewPlan(from+n), false, nil))
			}
		})
	}
	group.Wait()
}

func (r *report) goOn(most int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failed) < most
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
		r.failed = append(r.failed, seed)
	}
}

// tell prints a seed: its smallest plan that still breaks the invariant, and the trail.
func tell(out io.Writer, seed uint64) int {
	plan := sim.NewPlan(seed)
	outcome := sim.Play(plan, true, nil)
	if len(outcome.Violations) > 0 {
		plan = sim.Shrink(plan, outcome.Violations[0].Check, 2000, nil)
		outcome = sim.Play(plan, true, nil)
	}
	fmt.Fprintf(out, "\n%s%s\n", plan, strings.Join(outcome.Trail, "\n"))
	for _, v := range outcome.Violations {
		fmt.Fprintln(out, v)
	}
	fmt.Fprintf(out, "replay: go run ./fakes/sim/cmd/sim -replay %d\n", seed)
	if len(outcome.Violations) > 0 {
		return 1
	}
	return 0
}
