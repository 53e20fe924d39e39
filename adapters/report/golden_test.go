package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/adapters/report"
)

var update = flag.Bool("update", false, "write the expected reports anew")

// formats are all ways of writing a run.
var formats = []struct {
	extension string
	write     func(out io.Writer, run report.Run) error
}{
	{"json", func(out io.Writer, run report.Run) error { return report.WriteJSON(out, run) }},
	{"ndjson", func(out io.Writer, run report.Run) error {
		for _, test := range run.Tests {
			if err := report.WriteLine(out, test); err != nil {
				return err
			}
		}
		return nil
	}},
	{"junit.xml", report.WriteJUnit},
	{"annotations.txt", func(out io.Writer, run report.Run) error {
		for _, line := range report.Annotations(run) {
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				return err
			}
		}
		return nil
	}},
	{"summary.md", report.WriteGitHubSummary},
	{"html", report.WriteHTML},
}

// brief shortens what a golden file need not hold: the long log of the hostile test.
func brief(run report.Run) report.Run {
	for i := range run.Tests {
		for j := range run.Tests[i].Logs {
			lines := &run.Tests[i].Logs[j].Lines
			*lines = (*lines)[:min(len(*lines), 20)]
		}
	}
	return run
}

func TestReports(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func() report.Run
	}{{"mixed", mixed}, {"passed", allWell}} {
		for _, format := range formats {
			name := row.name + "." + format.extension
			t.Run(name, func(t *testing.T) {
				var out bytes.Buffer
				if err := format.write(&out, brief(row.run())); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name)
				if *update {
					if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), out.String()); diff != "" {
					t.Errorf("the report is not as in %s; read the difference, then run with -update (-want +got):\n%s", file, diff)
				}
			})
		}
	}
}

// TestReportsTakeWhateverATemplateSays: each format is printable UTF-8 of bounded size.
func TestReportsTakeWhateverATemplateSays(t *testing.T) {
	run := report.Run{Name: "x\x00\xff]]>", Tests: []report.Test{{}, {Expected: &report.Expectation{}}}}
	for i := range 10 {
		run.Tests = append(run.Tests, hostile(i))
	}
	for _, format := range formats {
		if strings.HasSuffix(format.extension, "json") {
			continue // it holds no logs, and escapes what is left
		}
		var out bytes.Buffer
		if err := format.write(&out, run); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\uFFFE\uFFFF\u202e") {
			t.Errorf("%s holds characters that are no text", format.extension)
		}
		if out.Len() > 10*(256<<10) {
			t.Errorf("%s: %d bytes for %d tests", format.extension, out.Len(), len(run.Tests))
		}
	}
}

// full is a disk that takes so many bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// TestFailedWritesAreTold for many places where the writing can fail, the last byte among them.
func TestFailedWritesAreTold(t *testing.T) {
	for _, format := range formats {
		var out bytes.Buffer
		if err := format.write(&out, allWell()); err != nil {
			t.Fatal(err)
		}
		for left := out.Len() - 1; left >= 0; left -= 61 {
			if err := format.write(&full{left}, allWell()); err == nil {
				t.Errorf("%s: a write that ended after %d bytes of %d is not told", format.extension, left, out.Len())
				break
			}
		}
	}
}
