package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
)

// The elements of JUnit's XML that its readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitCase struct {
		Name       string          `xml:"name,attr"`
		ClassName  string          `xml:"classname,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Skipped    *junitOutcome   `xml:"skipped"`
		Error      *junitOutcome   `xml:"error"`
		Failure    *junitOutcome   `xml:"failure"`
		SystemOut  *junitText      `xml:"system-out"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitOutcome struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

// WriteJUnit writes the run as JUnit XML, a test case for each test. A failure is the
// version's, an error is a test that was not judged or left something behind, and skipped
// is an attempt that a further one repeats, or a test that was not run.
func WriteJUnit(out io.Writer, run Run) error {
	judgments, count := run.judged()
	took := seconds(run.EndedAt.Sub(run.StartedAt).Seconds())
	published := run.published(count)
	for _, one := range published {
		count.add(one.standing)
	}
	suite := junitSuite{
		Name: suiteName(&run), Tests: count.all, Failures: count.failed, Errors: count.erred, Skipped: count.aside, Time: took,
		Properties: []junitProperty{{"exitCode", fmt.Sprint(run.ExitCode)}},
	}
	if !run.StartedAt.IsZero() {
		suite.Timestamp = run.StartedAt.UTC().Format("2006-01-02T15:04:05")
	}
	for i := range run.Tests {
		suite.Cases = append(suite.Cases, newJUnitCase(&run.Tests[i], judgments[i]))
	}
	for _, one := range published {
		suite.Cases = append(suite.Cases, junitCase{
			Name: oneLine(one.title, maxName), ClassName: oneLine(one.template, maxName), Time: seconds(0),
		}.ended(one.judgment, ""))
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	err := encoder.Encode(junitSuites{
		Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped, Time: took,
		Suites: []junitSuite{suite},
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "\n")
	return err
}

func newJUnitCase(t *Test, j judgment) junitCase {
	c := junitCase{
		Name: t.title(), ClassName: oneLine(t.Template, maxName), Time: seconds(0),
		Properties: junitProperties(t), SystemOut: &junitText{clean(story(t, j))},
	}
	if d, ok := t.duration(); ok {
		c.Time = seconds(d.Seconds())
	}
	return c.ended(j, advice(t))
}

// ended is the test case with its outcome, and what to say about one that is not well.
func (c junitCase) ended(j judgment, advice string) junitCase {
	outcome := &junitOutcome{Message: oneLine(j.message, maxMessage), Type: oneLine(j.kind, maxName)}
	switch j.standing {
	case stoodFailed:
		outcome.Text = clean(advice)
		c.Failure = outcome
	case stoodError:
		outcome.Text = clean(advice)
		c.Error = outcome
	case stoodAside:
		outcome.Type = ""
		c.Skipped = outcome
	case stoodWell:
	}
	return c
}

// junitProperties are what a machine may want to find a test by.
func junitProperties(t *Test) []junitProperty {
	var all []junitProperty
	add := func(name, value string) {
		if value != "" {
			all = append(all, junitProperty{name, oneLine(value, maxName)})
		}
	}
	add("testID", known(t.ID))
	if t.Attempt > 0 {
		add("attempt", fmt.Sprint(t.Attempt))
	}
	add("retryOf", known(t.RetryOf))
	add("version", t.Version.String())
	add("versionID", known(t.Version.ID))
	add("preset", t.Preset)
	add("verdict", string(t.Verdict))
	add("outcomeClass", string(t.OutcomeClass))
	add("reason", string(t.Reason))
	add("errorCode", t.ErrorCode)
	add("lastWaitReason", string(t.LastWaitReason))
	if t.Expected != nil {
		add("expected", t.Expected.String())
	}
	add("workspace", t.Workspace.Name)
	add("workspaceID", known(t.Workspace.ID))
	add("workspaceState", string(t.Workspace.State))
	add("coderVersion", t.CoderVersion)
	return all
}

// advice is what a reason means and what to do about it.
func advice(t *Test) string {
	var text strings.Builder
	words, last := explanation(t)
	if words.Meaning != "" {
		fmt.Fprintf(&text, "%s\nWhat to do: %s\n", words.Meaning, words.WhatToDo)
	}
	if wait := last.Explain(); wait.Meaning != "" {
		fmt.Fprintf(&text, "The last wait was %s: %s\nWhat to do: %s\n", last, wait.Meaning, wait.WhatToDo)
	}
	if t.LeakRisk {
		if words := t.Workspace.Reason.ExplainDeletion(); words.Meaning != "" {
			fmt.Fprintf(&text, "The workspace: %s: %s\nWhat to do: %s\n", t.Workspace.Reason, words.Meaning, words.WhatToDo)
		}
	}
	return text.String()
}

// story tells a test in plain lines, the ends of its logs included.
func story(t *Test, j judgment) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s version %s", t.headline(), oneLine(t.Template, maxName), oneLine(t.Version.String(), maxName))
	if d, ok := t.duration(); ok {
		fmt.Fprintf(&text, " in %s", elapsed(d.Seconds()))
	}
	fmt.Fprintf(&text, "\n%s\n", oneLine(reasoned(t), maxMessage))
	if j.standing == stoodWell && j.message != "" {
		fmt.Fprintf(&text, "%s\n", oneLine(j.message, maxMessage))
	}
	if len(t.Stages) > 0 {
		fmt.Fprintf(&text, "stages: %s\n", trail(t.Stages))
	}
	if t.Workspace.Name != "" {
		fmt.Fprintf(&text, "workspace %s: %s\n", oneLine(t.Workspace.Name, maxName), t.Workspace.State)
	}
	for _, x := range excerpts(t.Logs, maxLogs) {
		fmt.Fprintf(&text, "\n--- %s ---\n%s\n", excerptTitle(x), strings.Join(x.Lines, "\n"))
	}
	return text.String()
}

func suiteName(run *Run) string {
	if run.Name == "" {
		return "assay"
	}
	return oneLine(run.Name, maxName)
}

// seconds is a duration as JUnit writes it.
func seconds(s float64) string { return fmt.Sprintf("%.3f", max(0, s)) }

// known is an ID, or nothing where there is none.
func known(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}
