package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// GitHub shows at most so many annotations of a kind for each step, and takes so many
// bytes as a step's summary.
const (
	maxAnnotations   = 10
	maxSummary       = 1 << 20
	maxSummaryTable  = maxSummary / 2
	summaryRemainder = 512
)

// Annotations are workflow commands of GitHub Actions, to be written a line each: an error
// for each test that did not stand well, and a warning for each attempt that was repeated.
// What GitHub would not show is counted in the last error.
func Annotations(run Run) []string {
	judgments, count := run.judged()
	var errors, warnings []string
	for _, one := range run.published(count) {
		if one.standing == stoodFailed || one.standing == stoodError {
			errors = append(errors, command("error", "assay: "+oneLine(one.title, maxName), cut(clean(one.message), maxMessage)))
		}
	}
	for i := range run.Tests {
		t, j := &run.Tests[i], judgments[i]
		title, message := "assay: "+t.title(), cut(clean(j.message), maxMessage)
		switch {
		case j.standing == stoodFailed || j.standing == stoodError:
			if do := whatToDo(t); do != "" {
				message += "\nWhat to do: " + do
			}
			errors = append(errors, command("error", title, message))
		case j.standing == stoodAside && t.Verdict == Inconclusive:
			warnings = append(warnings, command("warning", title, message))
		}
	}
	if more := len(errors) - (maxAnnotations - 1); more > 1 {
		errors = append(errors[:maxAnnotations-1:maxAnnotations-1],
			command("error", "assay", fmt.Sprintf("%d more tests did not end well; the summary of the job lists them", more)))
	}
	return append(errors, warnings[:min(len(warnings), maxAnnotations)]...)
}

var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// command is a workflow command whose values cannot end it.
func command(kind, title, message string) string {
	return "::" + kind + " title=" + commandProperty.Replace(title) + "::" + commandData.Replace(message)
}

// WriteGitHubSummary writes the run as Markdown for the file that GITHUB_STEP_SUMMARY
// names, in at most 1 MiB. What does not fit is counted.
func WriteGitHubSummary(out io.Writer, run Run) error {
	judgments, count := run.judged()
	var text strings.Builder
	fmt.Fprintf(&text, "## %s\n\n%s\n\n", markdown(heading(&run)), count)
	for _, one := range run.published(count) {
		fmt.Fprintf(&text, "%s %s\n\n", one.standing.symbol(), markdown(oneLine(one.message, maxMessage)))
	}
	text.WriteString("|   | test | version | result | time | workspace |\n| --- | --- | --- | --- | ---: | --- |\n")
	for i := range run.Tests {
		row := summaryRow(&run.Tests[i], judgments[i])
		if text.Len()+len(row) > maxSummaryTable {
			fmt.Fprintf(&text, "\nThe table leaves out %d more tests.\n", len(run.Tests)-i)
			break
		}
		text.WriteString(row)
	}
	left := 0
	for i := range run.Tests {
		if judgments[i].standing == stoodWell {
			continue
		}
		details := summaryDetails(&run.Tests[i], judgments[i])
		if text.Len()+len(details) > maxSummary-summaryRemainder {
			left++
			continue
		}
		text.WriteString(details)
	}
	if left > 0 {
		fmt.Fprintf(&text, "\nThe details of %d more tests do not fit here.\n", left)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func heading(run *Run) string {
	if run.Name == "" {
		return "Template tests"
	}
	return "Template tests: " + oneLine(run.Name, maxName)
}

// String says the counts in a sentence.
func (c tally) String() string {
	parts := []string{fmt.Sprintf("%d of %d as wanted", c.well, c.all)}
	for _, part := range []struct {
		count int
		what  string
	}{{c.failed, "failed"}, {c.erred, "not judged or not cleaned up"}, {c.aside, "repeated or not run"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	return strings.Join(parts, ", ") + "."
}

func summaryRow(t *Test, j judgment) string {
	took := ""
	if d, ok := t.duration(); ok {
		took = elapsed(d.Seconds())
	}
	result := t.headline()
	if t.Reason != "" && t.Verdict != Passed {
		result += ": " + string(t.Reason)
	}
	if t.Expected != nil {
		result += ", expected " + t.Expected.String()
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", j.standing.symbol(), markdown(t.title()),
		markdown(oneLine(t.Version.String(), maxName)), markdown(oneLine(result, maxName)), took, markdown(string(t.Workspace.State)))
}

func (s standing) symbol() string {
	return [...]string{stoodWell: "✅", stoodFailed: "❌", stoodError: "⚠️", stoodAside: "⏭️"}[s]
}

// summaryDetails is a test in a part that can be opened.
func summaryDetails(t *Test, j judgment) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n<details><summary>%s %s: %s</summary>\n\n", j.standing.symbol(), markdown(t.title()), markdown(oneLine(j.kind, maxName)))
	fmt.Fprintf(&text, "%s\n\n", markdown(oneLine(j.message, maxMessage)))
	for line := range strings.Lines(advice(t)) {
		fmt.Fprintf(&text, "%s\n\n", markdown(oneLine(line, maxMessage)))
	}
	if t.ID != uuid.Nil {
		fmt.Fprintf(&text, "Test %s, workspace %s: %s\n\n", t.ID, markdown(oneLine(t.Workspace.Name, maxName)), markdown(string(t.Workspace.State)))
	}
	for _, x := range excerpts(t.Logs, maxLogs) {
		body := strings.Join(x.Lines, "\n")
		fence := fenceFor(body)
		fmt.Fprintf(&text, "%s\n\n%stext\n%s\n%s\n\n", markdown(excerptTitle(x)), fence, body, fence)
	}
	text.WriteString("</details>\n")
	return text.String()
}

// fenceFor is a fence of more backticks than stand together anywhere in the text.
func fenceFor(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// markdown is text that Markdown shows as it is: what could be markup or HTML is written
// as the number of its character.
func markdown(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		if r < unicode.MaxASCII && unicode.IsOneOf([]*unicode.RangeTable{unicode.P, unicode.S}, r) && !strings.ContainsRune(".,;()/'\"?-%", r) {
			fmt.Fprintf(&escaped, "&#%d;", r)
			continue
		}
		escaped.WriteRune(r)
	}
	return escaped.String()
}
