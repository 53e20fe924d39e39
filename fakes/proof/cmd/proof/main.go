// Command proof changes the rules and the engine in one place at a time and looks whether
// a test notices; see its -help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assay-dev/assay/fakes/proof"
)

const help = `proof measures the tests of core/lifecycle. It makes mutants: copies of the rules
and the engine that are wrong in one place each (a comparison swapped, a condition always
true, a statement left out). A good suite of tests notices every one.

Each mutant meets, until one of them fails:
  stories    the scenario files
  unit       the unit tests of core/lifecycle
  seeds      random runs of the simulation
  crashes    stories with the engine crashing, or a second one working, at some calls

A mutant that none of them notices survived. Then one of these is true:
  - a test is missing: write it, so that the mutant dies
  - the code has no effect: remove it
  - the mutant means the same as the original: copy its line (FILE FUNCTION: WAS -> BECOMES)
    to fakes/proof/survivors.txt and write the reason below it

The exit code is 1 for a survivor that is not listed, and for a listed one that was killed
or is gone; 2 when something else went wrong.

  go run ./fakes/proof/cmd/proof                          everything
  go run ./fakes/proof/cmd/proof -quick                   everything, without seeds and crashes
  go run ./fakes/proof/cmd/proof -only deletion.go        one file
  go run ./fakes/proof/cmd/proof -only deletion.go:120    one line
  go run ./fakes/proof/cmd/proof -sample 100 -seed 7      100 of them, by chance
  go run ./fakes/proof/cmd/proof -list                    what there is to run
  go run ./fakes/proof/cmd/proof -mutant 812              one: its change, and which test fails

The checkout is not modified. Flags:
`

const (
	underProof    = "core/lifecycle"
	survivorsFile = "fakes/proof/survivors.txt"
)

// leaveOut are the files whose mistakes are about defaults or words, not about rules.
var leaveOut = []string{"doc.go", "options.go"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
	}
	os.Exit(code)
}

// choice is which mutants to run, and how.
type choice struct {
	only    string
	sample  int
	seed    uint64
	list    bool
	mutant  int
	workers int
	quick   bool
}

// suites are those to run.
func (c *choice) suites() []proof.Suite {
	return slices.DeleteFunc(slices.Clone(proof.Suites), func(s proof.Suite) bool { return c.quick && !s.Quick })
}

func run(ctx context.Context, args []string, out, problems io.Writer) (int, error) {
	var c choice
	flags := flag.NewFlagSet("proof", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprint(problems, help)
		flags.PrintDefaults()
	}
	flags.StringVar(&c.only, "only", "", "only the mutants of this `file.go[:line]`")
	flags.IntVar(&c.sample, "sample", 0, "only this `many`, drawn by chance; 0 for all")
	flags.Uint64Var(&c.seed, "seed", 1, "decides the sample")
	flags.BoolVar(&c.list, "list", false, "list the mutants instead")
	flags.IntVar(&c.mutant, "mutant", 0, "show the mutant with this `number` and what notices it")
	flags.BoolVar(&c.quick, "quick", false, "leave out the suites that take long, and kill little that the others do not")
	flags.IntVar(&c.workers, "workers", 2, "how many mutants at once")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return 2, nil
	case flags.NArg() > 0:
		return 2, fmt.Errorf("unknown argument %q: see -help", flags.Arg(0))
	case c.workers < 1:
		return 2, errors.New("-workers must be at least 1")
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return 2, err
	}
	pkg, err := proof.Load(ctx, filepath.Join(root, underProof), leaveOut...)
	if err != nil {
		return 2, err
	}
	mutants, err := c.choose(pkg)
	if err != nil {
		return 2, err
	}
	switch {
	case c.list:
		for _, m := range mutants {
			fmt.Fprintln(out, m)
		}
		return 0, nil
	case c.mutant != 0:
		return show(ctx, root, pkg, mutants[0], c.suites(), out, problems)
	}
	return prove(ctx, root, pkg, mutants, c.suites(), c.workers, out, problems)
}

func moduleRoot(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's folder: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}

// choose picks the mutants to run.
func (c *choice) choose(pkg *proof.Package) ([]*proof.Mutant, error) {
	if c.mutant != 0 {
		m, ok := pkg.Mutant(c.mutant)
		if !ok {
			return nil, fmt.Errorf("there is no mutant %d: they are 1 to %d", c.mutant, len(pkg.Mutants))
		}
		return []*proof.Mutant{m}, nil
	}
	file, text, hasLine := strings.Cut(c.only, ":")
	line, err := strconv.Atoi(text)
	if hasLine && err != nil {
		return nil, fmt.Errorf("-only %s: %q is no line number", c.only, text)
	}
	var mutants []*proof.Mutant
	for i := range pkg.Mutants {
		m := &pkg.Mutants[i]
		if (file == "" || m.File == file) && (!hasLine || m.Line == line) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		return nil, fmt.Errorf("-only %s: no mutants there", c.only)
	}
	if c.sample > 0 && c.sample < len(mutants) {
		random := rand.New(rand.NewPCG(c.seed, 0))
		random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:c.sample]
		slices.SortFunc(mutants, func(a, b *proof.Mutant) int { return a.ID - b.ID })
	}
	return mutants, nil
}

// prove runs the mutants and reports.
func prove(ctx context.Context, root string, pkg *proof.Package, mutants []*proof.Mutant, suites []proof.Suite, workers int, out, problems io.Writer) (int, error) {
	survivors, err := proof.ReadSurvivors(filepath.Join(root, survivorsFile))
	if err != nil {
		return 2, err
	}
	began := time.Now()
	p, err := proof.New(ctx, root, pkg, suites, func(what string) { fmt.Fprintln(problems, what) })
	if err != nil {
		return 2, err
	}
	defer p.Close()
	progress := newProgress(problems, len(mutants), survivors)
	results, err := p.All(ctx, mutants, workers, progress.add)
	progress.end()
	if err != nil {
		return 2, err
	}
	fine, err := proof.Report(out, pkg, results, suites, survivors)
	if err != nil {
		return 2, err
	}
	fmt.Fprintf(out, "took %s\n", time.Since(began).Round(time.Second))
	if !fine {
		return 1, nil
	}
	return 0, nil
}

// show prints one mutant's change and the output of the suite that notices it.
func show(ctx context.Context, root string, pkg *proof.Package, m *proof.Mutant, suites []proof.Suite, out, problems io.Writer) (int, error) {
	fmt.Fprintf(out, "%s (%s)\n\n%s\n", m, m.Operator, pkg.Diff(m))
	p, err := proof.New(ctx, root, pkg, suites, func(what string) { fmt.Fprintln(problems, what) })
	if err != nil {
		return 2, err
	}
	defer p.Close()
	result, err := p.Run(ctx, m, out)
	switch {
	case err != nil:
		return 2, err
	case result.Killer == "":
		fmt.Fprintln(out, "it survived")
		return 1, nil
	default:
		fmt.Fprintf(out, "killed by %s\n", result.Killer)
		return 0, nil
	}
}
