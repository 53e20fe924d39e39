// Command bench measures what assay adds to the time that Coder takes, on a real
// Coder of the test bed: the wall time of "assay run" against the same work by bare
// API calls, the requests of one passing test, the start-up time and the size of the
// binary. It prints a table and, with -json, writes the same numbers as JSON.
//
// The two contenders run in turn, so that both see the same machine; ratios are made
// pair by pair and their median is what counts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/assay-dev/assay/adapters/testbed"
)

// numbers is what one run of the command measured.
type numbers struct {
	Pairs int `json:"pairs"`
	// Many is how many tests ran at once; ManySeconds are medians of the rounds.
	Many             int     `json:"many"`
	ManyRounds       int     `json:"manyRounds"`
	ManyAssaySeconds float64 `json:"manyAssaySeconds"`
	ManyBareSeconds  float64 `json:"manyBareSeconds"`
	ManyRatio        float64 `json:"manyRatio"`
	// Seconds are medians.
	AssaySeconds float64 `json:"assaySeconds"`
	BareSeconds  float64 `json:"bareSeconds"`
	// Ratio is the median of the pairs' ratios; RatioMin and RatioMax the extremes.
	Ratio    float64 `json:"ratio"`
	RatioMin float64 `json:"ratioMin"`
	RatioMax float64 `json:"ratioMax"`
	// Requests to Coder for one passing test by the tester's own token, and by an
	// operator's token for a tester.
	RequestsOwnToken []string `json:"requestsOwnToken"`
	RequestsOperator []string `json:"requestsOperator"`
	// StartupSeconds is the median wall time of "assay version".
	StartupSeconds float64 `json:"startupSeconds"`
	BinaryBytes    int64   `json:"binaryBytes"`
	Platform       string  `json:"platform"`
	CPUs           int     `json:"cpus"`
}

func main() {
	pairs := flag.Int("pairs", 10, "how many `PAIRS` of runs to time")
	many := flag.Int("many", 20, "how many `TESTS` run at once in the second comparison, 0 to leave it out")
	rounds := flag.Int("many-rounds", 3, "how many `ROUNDS` of those to time")
	file := flag.String("json", "", "also write the numbers to this `FILE`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, sizes{*pairs, *many, *rounds}, *file)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// sizes say how much is measured.
type sizes struct{ pairs, many, rounds int }

func run(ctx context.Context, size sizes, file string) error {
	if size.pairs < 1 || size.many < 0 || size.rounds < 1 {
		return fmt.Errorf("-pairs and -many-rounds must be at least 1, -many at least 0")
	}
	folder, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder, binary: filepath.Join(folder, "assay")}
	if output, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", b.binary, "./apps/cli/cmd/assay").CombinedOutput(); err != nil {
		return fmt.Errorf("build assay (run this from the project's root): %w: %s", err, output)
	}
	if b.bed, err = testbed.Start(ctx, testbed.Options{Log: os.Stderr}); err != nil {
		return err
	}
	defer func() {
		if err := b.bed.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: close the test bed:", err)
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	measured, err := b.measure(ctx, size)
	if err != nil {
		return err
	}
	if err := printTable(os.Stdout, measured); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(measured, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// bench is the stage on which both contenders run.
type bench struct {
	folder, binary string
	bed            *testbed.Bed
	tester         testbed.User
	template       testbed.Pushed
}

func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.tester, err = b.bed.CreateUser(ctx, testbed.UserOptions{Activate: true}); err != nil {
		return err
	}
	b.template, err = b.bed.PushTemplate(ctx, testbed.UniqueName("passing"), testbed.Passing())
	return err
}

func (b *bench) measure(ctx context.Context, size sizes) (numbers, error) {
	pairs := size.pairs
	measured := numbers{Pairs: pairs, Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()}
	// One pair unmeasured: caches of the provisioner fill.
	if _, _, err := b.pair(ctx); err != nil {
		return numbers{}, err
	}
	var assay, bare, ratios []float64
	for i := range pairs {
		a, c, err := b.pair(ctx)
		if err != nil {
			return numbers{}, err
		}
		fmt.Fprintf(os.Stderr, "pair %d of %d: assay %.2f s, bare API %.2f s, ratio %.3f\n", i+1, pairs, a, c, a/c)
		assay, bare, ratios = append(assay, a), append(bare, c), append(ratios, a/c)
	}
	measured.AssaySeconds, measured.BareSeconds = median(assay), median(bare)
	measured.Ratio, measured.RatioMin, measured.RatioMax = median(ratios), slices.Min(ratios), slices.Max(ratios)

	err := b.compareMany(ctx, size, &measured)
	if err != nil {
		return numbers{}, err
	}
	if measured.RequestsOwnToken, err = b.countRequests(ctx, b.tester.Token); err != nil {
		return numbers{}, err
	}
	if measured.RequestsOperator, err = b.countRequests(ctx, b.bed.OwnerToken(), "--owner", b.tester.ID.String()); err != nil {
		return numbers{}, err
	}
	if measured.StartupSeconds, err = b.startup(ctx); err != nil {
		return numbers{}, err
	}
	info, err := os.Stat(b.binary)
	if err != nil {
		return numbers{}, err
	}
	measured.BinaryBytes = info.Size()
	return measured, nil
}

// pair times assay and then the bare API.
func (b *bench) pair(ctx context.Context) (assay, bare float64, err error) {
	if assay, err = timed(func() error { return b.assay(ctx, b.bed.URL, b.tester.Token) }); err != nil {
		return 0, 0, err
	}
	bare, err = timed(func() error { return b.bareAPI(ctx) })
	return assay, bare, err
}

// assay runs one passing test.
func (b *bench) assay(ctx context.Context, url, token string, more ...string) error {
	args := append([]string{"run", "--template", "coder." + b.template.TemplateName, "--version", b.template.VersionName}, more...)
	command := exec.CommandContext(ctx, b.binary, args...)
	command.Env = []string{"HOME=" + b.folder, "CODER_URL=" + url, "CODER_SESSION_TOKEN=" + token}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("assay run: %w: %s", err, output)
	}
	return nil
}

// compareMany has both contenders do many tests at once, in turn.
func (b *bench) compareMany(ctx context.Context, size sizes, measured *numbers) error {
	if size.many == 0 {
		return nil
	}
	measured.Many, measured.ManyRounds = size.many, size.rounds
	var assay, bare, ratios []float64
	for i := range size.rounds {
		a, err := timed(func() error { return b.assayMany(ctx, size.many) })
		if err != nil {
			return err
		}
		c, err := timed(func() error { return b.bareMany(ctx, size.many) })
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%d at once, round %d of %d: assay %.1f s, bare API %.1f s, ratio %.3f\n", size.many, i+1, size.rounds, a, c, a/c)
		assay, bare, ratios = append(assay, a), append(bare, c), append(ratios, a/c)
	}
	measured.ManyAssaySeconds, measured.ManyBareSeconds, measured.ManyRatio = median(assay), median(bare), median(ratios)
	return nil
}

// assayMany runs one suite of many tests.
func (b *bench) assayMany(ctx context.Context, many int) error {
	var suite strings.Builder
	suite.WriteString("tests:\n")
	for i := range many {
		fmt.Fprintf(&suite, "  - {name: test %d, template: coder.%s, version: %s}\n", i, b.template.TemplateName, b.template.VersionName)
	}
	file := filepath.Join(b.folder, "suite.yaml")
	if err := os.WriteFile(file, []byte(suite.String()), 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, b.binary, "run", "--suite", file, "--parallel", strconv.Itoa(many))
	command.Env = []string{"HOME=" + b.folder, "CODER_URL=" + b.bed.URL, "CODER_SESSION_TOKEN=" + b.tester.Token}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("assay run --suite: %w: %s", err, output)
	}
	return nil
}

// bareMany does the same by bare API calls.
func (b *bench) bareMany(ctx context.Context, many int) error {
	errs := make([]error, many)
	var tests sync.WaitGroup
	for i := range many {
		tests.Go(func() { errs[i] = b.bareAPI(ctx) })
	}
	tests.Wait()
	return errors.Join(errs...)
}

// startup is the median time of a command that does nothing.
func (b *bench) startup(ctx context.Context) (float64, error) {
	var times []float64
	for range 20 {
		seconds, err := timed(func() error { return exec.CommandContext(ctx, b.binary, "version").Run() })
		if err != nil {
			return 0, fmt.Errorf("assay version: %w", err)
		}
		times = append(times, seconds)
	}
	return median(times), nil
}

func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func printTable(out io.Writer, n numbers) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rows := [][3]any{
		{"assay run, one passing test", fmt.Sprintf("%.2f s", n.AssaySeconds), fmt.Sprintf("median of %d", n.Pairs)},
		{"the same by bare API calls", fmt.Sprintf("%.2f s", n.BareSeconds), fmt.Sprintf("median of %d", n.Pairs)},
		{"ratio", fmt.Sprintf("%.3f", n.Ratio), fmt.Sprintf("median of the pairs, %.3f to %.3f", n.RatioMin, n.RatioMax)},
		{"requests to Coder, own token", len(n.RequestsOwnToken), "one passing test"},
		{"requests to Coder, operator's token", len(n.RequestsOperator), "one passing test"},
		{"start-up (assay version)", fmt.Sprintf("%.0f ms", n.StartupSeconds*1000), "median of 20"},
		{"size of the binary", fmt.Sprintf("%.1f MB", float64(n.BinaryBytes)/1e6), n.Platform},
	}
	if n.Many > 0 {
		rows = append(rows,
			[3]any{fmt.Sprintf("assay run, %d passing tests at once", n.Many), fmt.Sprintf("%.1f s", n.ManyAssaySeconds), fmt.Sprintf("median of %d", n.ManyRounds)},
			[3]any{"the same by bare API calls", fmt.Sprintf("%.1f s", n.ManyBareSeconds), fmt.Sprintf("median of %d", n.ManyRounds)},
			[3]any{"ratio", fmt.Sprintf("%.3f", n.ManyRatio), "median of the rounds"})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(table, "%v\t%v\t%v\n", row[0], row[1], row[2]); err != nil {
			return err
		}
	}
	return table.Flush()
}
