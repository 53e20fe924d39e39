package report

import (
	"crypto/sha256"
	_ "embed" // the page and its style are files beside this one
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

var (
	//go:embed page.tmpl
	pageSource string
	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"words": words}).Parse(pageSource))
)

// WriteHTML writes the run as one HTML page that needs nothing else: no script, no font,
// no network. Its policy forbids the browser whatever else somebody may smuggle in.
func WriteHTML(out io.Writer, run Run) error { return pageTemplate.Execute(out, newPage(&run)) }

// page is what the template shows.
type page struct {
	Title    string
	Style    template.CSS
	Policy   string
	Counts   []countOf
	Started  moment
	Took     string
	ExitCode int
	Tests    []section
	// Published is what was done to the template beside the tests.
	Published []publishedView
}

type publishedView struct{ Standing, Title, Message string }

// countOf is how many tests stand so.
type countOf struct {
	Count    int
	Standing string
	Word     string
}

// moment is a time for people and for machines; empty where it is not known.
type moment struct{ Shown, Machine string }

// section tells of one test.
type section struct {
	Anchor, Title, Template, Version string
	Standing, Verdict                string
	Reason, Message                  string
	// Note is what the run makes of the test, where that is not the reason itself.
	Note     string
	Words    core.Explanation
	Last     core.Reason
	LastWait core.Explanation
	// Leak explains a workspace that can still exist.
	Leak           core.Explanation
	LeakRisk       bool
	Workspace      string
	Took           string
	Bars           []bar
	Facts          []fact
	Logs           []logView
	Before, After  *link
	WorkspaceState WorkspaceState
}

// bar is a stage on the time line. The places are percentages.
type bar struct {
	Name, Kind, X, Width, Took string
}

type fact struct {
	Name, Value string
	Code        bool
}

type link struct{ Anchor, Title string }

type logView struct {
	Title string
	Lines []string
	Open  bool
}

func newPage(run *Run) page {
	judgments, count := run.judged()
	hash := sha256.Sum256([]byte(pageStyle))
	p := page{
		Title:   heading(run),
		Style:   template.CSS(pageStyle),
		Policy:  "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'",
		Started: shown(run.StartedAt), ExitCode: run.ExitCode,
		Counts: []countOf{
			{count.well, stoodWell.class(), "as wanted"},
			{count.failed, stoodFailed.class(), "failed"},
			{count.erred, stoodError.class(), "not judged or not cleaned up"},
			{count.aside, stoodAside.class(), "repeated or not run"},
		},
	}
	if !run.StartedAt.IsZero() && !run.EndedAt.IsZero() {
		p.Took = elapsed(run.EndedAt.Sub(run.StartedAt).Seconds())
	}
	for _, one := range run.published(count) {
		p.Published = append(p.Published, publishedView{one.standing.class(), oneLine(one.title, maxName), oneLine(one.message, maxMessage)})
	}
	next := repeated(run.Tests)
	places := map[uuid.UUID]*link{}
	for i := range run.Tests {
		if t := &run.Tests[i]; t.ID != uuid.Nil {
			places[t.ID] = &link{anchor(i), t.title()}
		}
	}
	for i := range run.Tests {
		t := &run.Tests[i]
		s := newSection(t, judgments[i])
		s.Anchor, s.Before = anchor(i), places[t.RetryOf]
		if after := next[t.ID]; after != nil {
			s.After = places[after.ID]
		}
		p.Tests = append(p.Tests, s)
	}
	return p
}

func newSection(t *Test, j judgment) section {
	s := section{
		Title: t.title(), Template: oneLine(t.Template, maxName), Version: oneLine(t.Version.String(), maxName),
		Standing: j.standing.class(), Verdict: t.headline(), Reason: oneLine(string(t.Reason), maxName),
		Message: oneLine(t.Message, maxMessage), LeakRisk: t.LeakRisk, Bars: bars(t), Facts: facts(t),
		WorkspaceState: t.Workspace.State,
	}
	switch {
	case t.Met != nil && *t.Met:
		s.Verdict += ", expected"
	case t.Met != nil:
		s.Verdict += ", unexpected"
	}
	if t.Met != nil && !t.LeakRisk || t.Verdict == Interrupted || t.Verdict == Stopped || j.standing == stoodAside {
		s.Note = oneLine(j.message, maxMessage)
	}
	if j.standing != stoodWell {
		s.Words, s.Last = explanation(t)
		s.LastWait = s.Last.Explain()
	}
	if t.LeakRisk {
		s.Leak, s.Workspace = t.Workspace.Reason.ExplainDeletion(), oneLine(t.Workspace.Name, maxName)
	}
	if d, ok := t.duration(); ok {
		s.Took = elapsed(d.Seconds())
	}
	for i, x := range excerpts(t.Logs, maxLogs) {
		s.Logs = append(s.Logs, logView{excerptTitle(x), x.Lines, i == len(t.Logs)-1 && j.standing != stoodWell})
	}
	return s
}

// bars places the stages between the first one's start and the last one's end.
func bars(t *Test) []bar {
	var first, last time.Time
	for i, stage := range t.Stages {
		end := stage.StartedAt.Add(time.Duration(stage.Seconds * float64(time.Second)))
		if i == 0 || stage.StartedAt.Before(first) {
			first = stage.StartedAt
		}
		if end.After(last) {
			last = end
		}
	}
	whole := last.Sub(first).Seconds()
	var all []bar
	for i, stage := range t.Stages {
		kind := "work"
		switch {
		case stage.Name == core.StageCleanup.String() || stage.Name == core.StageDelete.String():
			kind = "ending"
		case t.Phase == core.PhaseFailed && (i == len(t.Stages)-1 || t.Stages[i+1].Name == core.StageCleanup.String()):
			kind = "broken"
		}
		x, width := 0.0, 100.0
		if whole > 0 {
			// A stage of no time is still seen.
			width = min(max(0, stage.Seconds)/whole*100, 100)
			width = max(width, 0.8)
			x = min(stage.StartedAt.Sub(first).Seconds()/whole*100, 100-width)
		}
		all = append(all, bar{
			Name: oneLine(stage.Name, maxName), Kind: kind, Took: elapsed(stage.Seconds),
			X: fmt.Sprintf("%.2f%%", x), Width: fmt.Sprintf("%.2f%%", width),
		})
	}
	return all
}

// facts are what one looks up about a test.
func facts(t *Test) []fact {
	var all []fact
	add := func(name, value string, code bool) {
		if value != "" {
			all = append(all, fact{name, oneLine(value, maxName), code})
		}
	}
	add("Template", t.Template, false)
	add("Version", t.Version.String(), false)
	add("Version ID", known(t.Version.ID), true)
	add("Preset", t.Preset, false)
	if t.Expected != nil {
		add("Expected", t.Expected.String(), false)
	}
	add("Coder's error code", t.ErrorCode, true)
	add("Coder", t.CoderVersion, false)
	add("Test", known(t.ID), true)
	if t.Workspace.State != WorkspaceNone {
		add("Workspace", t.Workspace.Name, true)
	}
	state := string(t.Workspace.State)
	if t.Workspace.State == WorkspaceExists || t.Workspace.State == WorkspaceUnknown {
		state += " (" + string(t.Workspace.Reason) + ": " + t.Workspace.Message + ")"
	}
	add("Workspace state", state, false)
	add("Started", shown(t.Timings.StartedAt).Shown, false)
	add("Ended", shown(t.Timings.CompletedAt).Shown, false)
	return all
}

// words are the parts of a reason, between which a narrow column may break it.
func words(reason string) []string {
	var parts []string
	for i, r := range reason {
		if len(parts) == 0 || unicode.IsUpper(r) {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += reason[i : i+utf8.RuneLen(r)]
	}
	return parts
}

// anchor is the place of a test on the page. Tests that were not started have no ID.
func anchor(i int) string { return fmt.Sprintf("test-%d", i+1) }

func shown(at time.Time) moment {
	if at.IsZero() {
		return moment{}
	}
	at = at.UTC()
	return moment{at.Format("2006-01-02 15:04:05 UTC"), at.Format(time.RFC3339)}
}

// class is the standing's name in the page's style.
func (s standing) class() string {
	return [...]string{stoodWell: "well", stoodFailed: "failed", stoodError: "error", stoodAside: "aside"}[s]
}
