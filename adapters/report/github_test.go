package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

func TestAnnotationsAreOneLineEach(t *testing.T) {
	lines := report.Annotations(mixed())
	shape := regexp.MustCompile(`^::(error|warning) title=[^:,\n\r]*::[^\n\r]*$`)
	for _, line := range lines {
		if !shape.MatchString(line) {
			t.Errorf("no workflow command: %q", line)
		}
	}
	if errors := strings.Count(strings.Join(lines, "\n"), "::error title="); errors != 10 || len(lines) != 11 {
		t.Errorf("%d errors of %d annotations", errors, len(lines))
	}
	if got := report.Annotations(allWell()); len(got) != 0 {
		t.Errorf("a run in which all is well has %q", got)
	}
	percent := ended(1, "50%, a:b", report.Failed, core.OutcomeTemplateFailed, core.ReasonNoAgents, "100%\r\nx: y, z")
	got := report.Annotations(report.Run{Tests: []report.Test{percent}})
	want := "::error title=assay%3A 50%25%2C a%3Ab::NoAgents: 100%25%0Ax: y, z%0AWhat to do: " + core.ReasonNoAgents.Explain().WhatToDo
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestAnnotationsThatGitHubWouldNotShow(t *testing.T) {
	for _, row := range []struct {
		failed, want int
		last         string
	}{{10, 10, "case-9"}, {11, 10, "2 more tests"}, {40, 10, "31 more tests"}} {
		var run report.Run
		for i := range row.failed {
			run.Tests = append(run.Tests, ended(i, fmt.Sprintf("case-%d", i), report.Failed, core.OutcomeTemplateFailed, core.ReasonNoAgents, ""))
		}
		lines := report.Annotations(run)
		if len(lines) != row.want || !strings.Contains(lines[len(lines)-1], row.last) {
			t.Errorf("%d failures: %d annotations, the last is %q", row.failed, len(lines), lines[len(lines)-1])
		}
	}
}

// TestSummaryCannotBeBrokenOutOf reads the summary as Markdown does: what is outside of
// fences holds no markup but the writer's own.
func TestSummaryCannotBeBrokenOutOf(t *testing.T) {
	var out bytes.Buffer
	if err := report.WriteGitHubSummary(&out, mixed()); err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`^(## |\| |<details><summary>|</details>$|[^<>` + "`" + `*_\[\]|]*$)`)
	fence, fences := "", 0
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]; {
		case fence != "":
			if len(marks) >= len(fence) && strings.Trim(line, "` ") == "" {
				fence = ""
			}
		case len(marks) >= 3:
			fence = marks
			fences++
		case !own.MatchString(line):
			t.Errorf("markup outside of a fence: %q", line)
		case strings.HasPrefix(line, "| ") && strings.Count(line, "|") != 7:
			t.Errorf("a row of other cells: %q", line)
		case strings.Contains(line, "<img") || strings.Contains(line, "<script"):
			t.Errorf("HTML: %q", line)
		}
	}
	if fence != "" || fences != 6 {
		t.Errorf("%d fences, the last is %q", fences, fence)
	}
	if opened, closed := strings.Count(out.String(), "\n<details>"), strings.Count(out.String(), "\n</details>\n\n<d")+1; opened != 12 || closed > opened {
		t.Errorf("%d details are opened", opened)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	var run report.Run
	sample := hostile(0)
	for i := range 3000 {
		next := sample
		if next.ID = number(1, i); i > 3 {
			next.Logs = nil
		}
		run.Tests = append(run.Tests, next)
	}
	var out bytes.Buffer
	if err := report.WriteGitHubSummary(&out, run); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1<<20 || out.Len() < 1<<19 {
		t.Errorf("%d bytes of 1 MiB", out.Len())
	}
	for _, says := range []string{"The table leaves out ", "The details of "} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("it does not say %q", says)
		}
	}
}
