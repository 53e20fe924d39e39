package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

// outputFormat is the value of --output.
type outputFormat string

const (
	outputText outputFormat = "text"
	outputJSON outputFormat = "json"
)

var _ pflag.Value = (*outputFormat)(nil)

// String implements pflag.Value.
func (o *outputFormat) String() string { return string(*o) }

// Type implements pflag.Value.
func (*outputFormat) Type() string { return "text|json" }

// Set implements pflag.Value.
func (o *outputFormat) Set(value string) error {
	switch outputFormat(value) {
	case outputText, outputJSON:
		*o = outputFormat(value)
		return nil
	default:
		return errors.New("must be text or json")
	}
}

// runOutput is the value of --output of a command that runs tests.
type runOutput string

// outputLines is one document a line for each test, as soon as it ends.
const outputLines runOutput = "ndjson"

var _ pflag.Value = (*runOutput)(nil)

// String implements pflag.Value.
func (o *runOutput) String() string { return string(*o) }

// Type implements pflag.Value.
func (*runOutput) Type() string { return "text|json|ndjson" }

// Set implements pflag.Value.
func (o *runOutput) Set(value string) error {
	switch runOutput(value) {
	case runOutput(outputText), runOutput(outputJSON), outputLines:
		*o = runOutput(value)
		return nil
	default:
		return errors.New("must be text, json or ndjson")
	}
}

// writeRun writes what a run ends with. For NDJSON that is nothing more.
func writeRun(out io.Writer, output runOutput, run *report.Run) error {
	switch output {
	case runOutput(outputJSON):
		return report.WriteJSON(out, run)
	case outputLines:
		return nil
	}
	if line := pushLine(run.Push); line != "" {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	for i := range run.Tests {
		if err := writeVerdict(out, &run.Tests[i]); err != nil {
			return err
		}
	}
	if len(run.Tests) > 1 {
		if err := writeSummary(out, run); err != nil {
			return err
		}
	}
	if run.Promotion == nil {
		return nil
	}
	_, err := fmt.Fprintln(out, promotionLine(*run.Promotion))
	return err
}

// writeVerdict tells a person how a test ended.
func writeVerdict(out io.Writer, test *report.Test) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  ", test.Verdict)
	if test.Case != "" {
		fmt.Fprintf(&text, "%s: ", testTitle(test))
	}
	fmt.Fprintf(&text, "%s version %s", test.Template, test.Version)
	if test.Timings.SecondsToResult != nil {
		fmt.Fprintf(&text, " in %v", time.Duration(*test.Timings.SecondsToResult)*time.Second)
	}
	fmt.Fprintln(&text)
	switch {
	case test.Verdict == report.NotStarted:
		fmt.Fprintf(&text, "  %s\n", test.Message)
		_, err := io.WriteString(out, text.String())
		return err
	case test.Verdict == report.Failed || test.Verdict == report.Inconclusive:
		fmt.Fprintf(&text, "  %s: %s\n", test.Reason, test.Message)
	}
	if test.Expected != nil {
		fmt.Fprintf(&text, "  %s\n", expectationText(test))
	}
	fmt.Fprintf(&text, "  workspace %s: %s", test.Workspace.Name, test.Workspace.State)
	if exists := test.Workspace.State == report.WorkspaceExists || test.Workspace.State == report.WorkspaceUnknown; exists && test.Workspace.Reason != "" {
		fmt.Fprintf(&text, " (%s: %s)", test.Workspace.Reason, test.Workspace.Message)
	}
	kept := ""
	if test.Verdict == report.Interrupted || test.Verdict == report.Stopped {
		if test.Workspace.State == report.WorkspaceDeleted || test.Workspace.State == report.WorkspaceNone {
			kept = ", of which no record is kept"
		}
	}
	fmt.Fprintf(&text, "\n  test %s%s, exit code %d\n", test.ID, kept, *test.ExitCode)
	_, err := io.WriteString(out, text.String())
	return err
}

// expectationText says what the suite expected of a test and whether it came.
func expectationText(test *report.Test) string {
	want := string(test.Expected.Reason)
	if want == "" {
		want = string(test.Expected.OutcomeClass)
	}
	if test.Met != nil && *test.Met {
		return "as expected: " + want
	}
	return "not as expected: it should have been " + want
}

// writeSummary writes the table of a run of several tests.
func writeSummary(out io.Writer, run *report.Run) error {
	var text strings.Builder
	fmt.Fprintln(&text)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TEST\tVERDICT\tREASON\tTIME\tWORKSPACE\tEXIT CODE")
	counts := map[report.Verdict]int{}
	for i := range run.Tests {
		test := &run.Tests[i]
		counts[test.Verdict]++
		took := ""
		if test.Timings.SecondsToResult != nil {
			took = (time.Duration(*test.Timings.SecondsToResult) * time.Second).String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\n",
			testTitle(test), verdictText(test), test.Reason, took, test.Workspace.State, *test.ExitCode)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var parts []string
	for _, verdict := range []report.Verdict{
		report.Passed, report.Failed, report.Inconclusive, report.Interrupted, report.Stopped, report.NotStarted,
	} {
		if n := counts[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(verdict))))
		}
	}
	fmt.Fprintf(&text, "\n%d tests in %v: %s; exit code %d\n", len(run.Tests), run.EndedAt.Sub(run.StartedAt).Round(time.Second),
		strings.Join(parts, ", "), run.ExitCode)
	_, err := io.WriteString(out, text.String())
	return err
}

// testTitle names a test within its run.
func testTitle(test *report.Test) string {
	title := core.PrintableLine(firstOf(test.Case, fmt.Sprintf("%s %s", test.Template, test.Version)))
	if test.Attempt > 1 {
		title += fmt.Sprintf(", attempt %d", test.Attempt)
	}
	return title
}

func verdictText(test *report.Test) string {
	if test.Met == nil {
		return string(test.Verdict)
	}
	if *test.Met {
		return string(test.Verdict) + ", as expected"
	}
	return string(test.Verdict) + ", not as expected"
}

// written is the exit code of a run whose verdict was written with err. A reader that
// left, as head does, has what it wanted. Otherwise nobody can take the silence for a
// pass.
func written(code int, err error) (int, error) {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return code, nil
	}
	return 0, &exitError{worstExit(code, exitInconclusive), fmt.Errorf("the verdict could not be written: %w", err)}
}
