package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Suite is a group of tests that a mutant has to get past.
type Suite struct {
	Name string
	// Package is the folder of the tests, from the root of the module.
	Package string
	// Args select and shape the tests.
	Args []string
	// Quick marks the suites that take a second or less.
	Quick bool
	// Sign is printed only by a test that fails. Parallel subtests report their failure
	// after the last of them is done; nobody needs to wait for that.
	Sign string

	binary string
	// dir is where the tests run.
	dir string
	// bound is how long the suite may take.
	bound time.Duration
}

// Suites are tried in this order: the cheapest first.
var Suites = []Suite{
	{Name: "stories", Package: "fakes/scenario", Args: []string{"-test.run=^TestScenarios$"}, Sign: "the trail differs", Quick: true},
	// -test.short leaves out a test that builds another module, from files that no overlay
	// reaches. A fixed seed lets a run be repeated.
	{Name: "unit", Package: "core/lifecycle", Args: []string{"-test.short", "-rapid.seed=1", "-rapid.nofailfile"}, Quick: true},
	{Name: "seeds", Package: "fakes/sim", Args: []string{"-test.run=^TestSeeds$"}},
	{Name: "crashes", Package: "fakes/sim", Args: []string{"-test.run=^(TestCrashAtSomeCalls|TestSecondEngineAtSomeCalls)$"}},
}

// Bounds of a suite's time: how often its time without a mutant, and never less than
// leastBound, since the machine may be busy with something else.
const (
	boundFactor = 10
	leastBound  = 20 * time.Second
)

// prepare builds the test binaries into a folder, each once, and runs every suite with
// no mutant active: it must pass, and its time gives the bound.
func prepare(ctx context.Context, root, overlay, folder string, suites []Suite, note func(string)) ([]Suite, error) {
	built := map[string]string{}
	ready := make([]Suite, len(suites))
	for i, s := range suites {
		s.dir = filepath.Join(root, s.Package)
		if s.binary = built[s.Package]; s.binary == "" {
			note("compile the tests of " + s.Package)
			s.binary = filepath.Join(folder, strconv.Itoa(i)+".test")
			if err := compile(ctx, overlay, s.dir, s.binary); err != nil {
				return nil, err
			}
			built[s.Package] = s.binary
		}
		var output bytes.Buffer
		s.bound = 10 * time.Minute
		began := time.Now()
		noticed, err := s.run(ctx, 0, &output)
		if err != nil {
			return nil, err
		}
		if noticed {
			return nil, fmt.Errorf("%s fails without a mutant:\n%s", s.Name, output.String())
		}
		took := time.Since(began)
		s.bound = max(leastBound, boundFactor*took)
		note(fmt.Sprintf("%s: %s without a mutant", s.Name, took.Round(10*time.Millisecond)))
		ready[i] = s
	}
	return ready, nil
}

// run runs the suite with a mutant active, 0 for none, and reports whether it noticed. It
// does not wait for more than the first test that fails.
func (s *Suite) run(ctx context.Context, mutant int, output io.Writer) (noticed bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, s.bound)
	defer cancel()
	args := append([]string{"-test.v", "-test.failfast", "-test.timeout=0"}, s.Args...)
	command := exec.CommandContext(bounded, s.binary, args...)
	command.Dir = s.dir
	// One thread each: the workers share the processors. A run ends before its garbage
	// matters.
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "ASSAY_MUTANT="+strconv.Itoa(mutant))
	watched := &failureWatch{out: output, sign: s.Sign, failed: cancel}
	command.Stdout, command.Stderr = watched, watched
	err = command.Run()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		_, err = fmt.Fprintf(output, "stopped after %s\n", s.bound)
		return true, err
	case errors.As(err, &exit), bounded.Err() != nil:
		return true, nil
	default:
		return false, fmt.Errorf("run %s: %w", s.Name, err)
	}
}

// failureWatch passes output on, without the lines that say which test goes on, and calls
// failed when a test did.
type failureWatch struct {
	out    io.Writer
	sign   string
	failed func()
	// line is the output since the last line break.
	line []byte
}

func (w *failureWatch) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		line, rest, whole := bytes.Cut(w.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.line = rest
		if bytes.HasPrefix(line, []byte("=== ")) || bytes.Contains(line, []byte("--- PASS: ")) {
			continue
		}
		if _, err := w.out.Write(append(bytes.Clone(line), '\n')); err != nil {
			return 0, err
		}
		if bytes.HasPrefix(line, []byte("--- FAIL: ")) || w.sign != "" && bytes.Contains(line, []byte(w.sign)) {
			w.failed()
		}
	}
}
