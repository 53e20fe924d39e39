package report_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/joshdk/go-junit"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

// TestJUnitIsValid against the schema of the elements that its readers share.
func TestJUnitIsValid(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	switch {
	case err != nil && os.Getenv("ASSAY_E2E") == "":
		t.Skip("there is no xmllint; the end-to-end tests need it")
	case err != nil:
		t.Fatalf("%v: install libxml2-utils, or run .ci/setup", err)
	}
	for _, run := range []report.Run{{}, allWell(), mixed()} {
		cmd := exec.Command(xmllint, "--noout", "--nonet", "--schema", "testdata/junit.xsd", "-")
		var document bytes.Buffer
		if err := report.WriteJUnit(&document, run); err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = &document
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("run %q: %v:\n%s", run.Name, err, out)
		}
	}
}

// TestJUnitAsOthersReadIt has a reader that CI tools use tell what it understood.
func TestJUnitAsOthersReadIt(t *testing.T) {
	var out bytes.Buffer
	if err := report.WriteJUnit(&out, mixed()); err != nil {
		t.Fatal(err)
	}
	suites, err := junit.Ingest(out.Bytes())
	if err != nil || len(suites) != 1 {
		t.Fatalf("%d suites, %v", len(suites), err)
	}
	type read struct{ Name, Status, Type string }
	var got []read
	for _, test := range suites[0].Tests {
		r := read{Name: test.Name, Status: string(test.Status)}
		var outcome junit.Error
		if errors.As(test.Error, &outcome) {
			r.Type = outcome.Type
		}
		if test.SystemOut == "" && !strings.HasPrefix(test.Name, "p") || test.Classname != "acme.docker" {
			t.Errorf("%s: class %q, output %q", test.Name, test.Classname, test.SystemOut)
		}
		got = append(got, r)
	}
	want := []read{
		{"acme.docker v2.1.0", "passed", ""},
		{"broken-build", "failed", "BuildFailed"},
		{"broken-script", "failed", "AgentStartError"},
		{"slow", "failed", "DeadlineExceeded"},
		{"no-quota", "error", "BuildFailed"},
		{"flaky", "skipped", ""},
		{"flaky (attempt 2)", "passed", ""},
		{"leaking", "error", "LeakRisk"},
		{"interrupted", "error", "Interrupted"},
		{"stopped", "error", "Stopped"},
		{"must-fail", "passed", ""},
		{"must-fail-too", "failed", "ExpectationNotMet"},
		{"must-fail-but-who-knows", "error", "ControlPlaneGone"},
		{"not-begun", "skipped", ""},
		{got[14].Name, "failed", "AgentStartError"},
		{"push v2.1.0", "passed", ""},
		{"promote v2.1.0", "skipped", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	script := suites[0].Tests[2]
	for _, says := range []string{"npm error 404 Not Found - GET left-pad-pro\n", "agents 21s", "the last 4 lines"} {
		if !strings.Contains(script.SystemOut, says) {
			t.Errorf("the output does not say %q:\n%s", says, script.SystemOut)
		}
	}
	if suites[0].Totals.Tests != 17 || suites[0].Totals.Failed != 5 || suites[0].Totals.Error != 5 || suites[0].Totals.Skipped != 3 {
		t.Errorf("totals %+v", suites[0].Totals)
	}
}

func TestHowATestCounts(t *testing.T) {
	unstarted := report.Test{Case: "x", Verdict: report.NotStarted, Message: "the state file is full"}
	leaking := with(ended(1, "x", report.Inconclusive, core.OutcomeInconclusive, core.ReasonControlPlaneGone, ""), func(t *report.Test) { t.LeakRisk = true })
	second := with(ended(2, "x", report.Passed, core.OutcomePassed, core.ReasonSucceeded, ""), func(t *report.Test) { t.RetryOf = number(1, 1) })
	for _, row := range []struct {
		why   string
		tests []report.Test
		want  []junit.Status
	}{
		{"a version that could not be imported is at fault", []report.Test{with(unstarted, func(t *report.Test) { t.ExitCode = new(1) })}, []junit.Status{junit.StatusFailed}},
		{"a test that could not even be started is what went wrong", []report.Test{unstarted}, []junit.Status{junit.StatusError}},
		{"beside one that passed, too", []report.Test{second, unstarted}, []junit.Status{junit.StatusPassed, junit.StatusError}},
		{"beside what kept it from its turn it does not count", []report.Test{unstarted, leaking}, []junit.Status{junit.StatusSkipped, junit.StatusError}},
		{"a further attempt does not mend what the first one left behind", []report.Test{leaking, second}, []junit.Status{junit.StatusError, junit.StatusPassed}},
		{"a failure that is expected leaves a workspace all the same", []report.Test{with(leaking, expecting(core.OutcomeInconclusive, "", true))}, []junit.Status{junit.StatusError}},
	} {
		var out bytes.Buffer
		if err := report.WriteJUnit(&out, report.Run{Tests: row.tests}); err != nil {
			t.Fatal(err)
		}
		suites, err := junit.Ingest(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var got []junit.Status
		for _, test := range suites[0].Tests {
			got = append(got, test.Status)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}
