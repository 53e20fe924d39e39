// Command sim runs simulations of the lifecycle and checks its invariants: random ones,
// each decided by a seed, or with -stories every scenario file with a disturbance at every
// call.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"

	"github.com/assay-dev/assay/fakes/sim"
)

func main() { os.Exit((&command{out: os.Stdout, err: os.Stderr}).run(os.Args[1:])) }

// Exit codes.
const (
	exitHolds  = 0
	exitBroken = 1
	exitUsage  = 2
)

const help = `sim plays the lifecycle of template tests against a simulated Coder, on virtual
time, while things go wrong: answers get lost or late, proxies and clocks lie,
engines crash or work on one record at once, and people delete, rename, stop and
claim things. After each run it checks the invariants I1 to I9 of
docs/reference/lifecycle.md. It exits with 1 when one of them is broken.

A run is decided by its seed alone:

  sim -seeds 20000                 the seeds 1 to 20000
  sim -seeds 2000 -from random     2000 seeds that nobody has played before
  sim -replay 4711                 one seed, with the trail of all that happened
  sim -stories                     every scenario file with the engine crashing, or a
                                   second engine stepping in, at every call it makes

A seed that breaks an invariant is cut down to what breaks it and told as a
trail, with the command that plays it again. Where fakes/sim draws something
else or more meanwhile, the same seed becomes another plan.

`

// command is one call of the program.
type command struct {
	out, err io.Writer
	// mutant breaks the engine's ports in tests of the program itself.
	mutant *sim.Mutant

	seeds             int
	from              string
	replay            uint64
	stories           bool
	workers, failures int
	verbose           bool
	profile           string
}

// run parses the arguments and does what they ask for; it returns the exit code.
func (c *command) run(args []string) int {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(c.err)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help, "Flags:\n")
		flags.PrintDefaults()
	}
	flags.IntVar(&c.seeds, "seeds", 10000, "how many seeds to play")
	flags.StringVar(&c.from, "from", "1", "the first `seed`, 1 or more, or \"random\"")
	flags.Uint64Var(&c.replay, "replay", 0, "play this one `seed` and print its plan and trail")
	flags.BoolVar(&c.stories, "stories", false, "disturb every scenario file at every call instead")
	flags.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0), "how many runs at once")
	flags.IntVar(&c.failures, "failures", 3, "stop after this many seeds that break an invariant")
	flags.BoolVar(&c.verbose, "v", false, "print how often each result came out")
	flags.StringVar(&c.profile, "cpuprofile", "", "write a CPU profile to this `file`")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitHolds
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		return c.usage("sim takes no arguments, only flags: %q", flags.Args())
	case c.seeds < 1 || c.workers < 1 || c.failures < 1:
		return c.usage("-seeds, -workers and -failures begin at 1")
	}
	if c.profile != "" {
		stop, err := startProfile(c.profile)
		if err != nil {
			return c.usage("write a CPU profile: %v", err)
		}
		defer stop()
	}
	debug.SetGCPercent(400) // runs are short and leave nothing behind
	switch {
	case c.stories:
		return c.tellStories()
	case c.replay != 0:
		return c.tell(c.replay)
	default:
		return c.playSeeds()
	}
}

func (c *command) usage(format string, args ...any) int {
	fmt.Fprintf(c.err, format+"\n", args...)
	return exitUsage
}

// first is the first seed.
func (c *command) first() (uint64, error) {
	if c.from == "random" {
		return 1 + rand.Uint64N(1<<48), nil
	}
	from, err := strconv.ParseUint(c.from, 10, 64)
	if err != nil || from == 0 {
		return 0, fmt.Errorf("-from is a seed, 1 or more, or \"random\": %q", c.from)
	}
	return from, nil
}

func startProfile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
