package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assay-dev/assay/core"
)

// Bounds of what a report shows of one test, so that no template can make a report that
// nothing reads.
const (
	// maxName and maxMessage bound names and messages, in bytes.
	maxName    = 256
	maxMessage = 2 << 10
	// maxLine bounds a line of a log, and maxLogs all logs of a test.
	maxLine = 2 << 10
	maxLogs = 128 << 10
)

// clean is text that every format takes: valid UTF-8 without control characters other
// than line ends and tabs, and without the code points that XML 1.0 forbids.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, core.Printable(text))
}

// oneLine is clean text in one line of at most so many bytes.
func oneLine(text string, most int) string {
	// What could not be shown need not be cleaned.
	text = text[:min(len(text), 8*most)]
	return cut(strings.Join(strings.Fields(clean(text)), " "), most)
}

// cut shortens text to at most so many bytes, three at least, at the end of a character.
func cut(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// excerpts are a test's logs, clean, and within most bytes altogether: of what is too
// much, the beginning goes.
func excerpts(logs []core.Excerpt, most int) []core.Excerpt {
	var result []core.Excerpt
	for i, log := range logs {
		share := most / (len(logs) - i)
		lines := make([]string, 0, len(log.Lines))
		more, used := log.More, 0
		for j := len(log.Lines) - 1; j >= 0; j-- {
			line := cut(strings.ReplaceAll(clean(log.Lines[j]), "\n", " "), maxLine)
			if used+len(line)+1 > share {
				more = true
				break
			}
			used += len(line) + 1
			lines = append(lines, line)
		}
		for a, b := 0, len(lines)-1; a < b; a, b = a+1, b-1 {
			lines[a], lines[b] = lines[b], lines[a]
		}
		most -= used
		result = append(result, core.Excerpt{Title: oneLine(log.Title, maxName), Lines: lines, More: more})
	}
	return result
}

// excerptTitle names an excerpt, and says whether it is the whole log.
func excerptTitle(x core.Excerpt) string {
	if x.More {
		return fmt.Sprintf("%s, the last %d lines", x.Title, len(x.Lines))
	}
	return x.Title
}

// title names a test: as its suite does, or by what it tests.
func (t *Test) title() string {
	name := t.Case
	if name == "" {
		name = t.Template + " " + t.Version.String()
	}
	name = oneLine(name, maxName)
	if t.Attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", t.Attempt)
	}
	return name
}

// duration is how long the test took to its result, false where there is none.
func (t *Test) duration() (time.Duration, bool) {
	if t.Timings.SecondsToResult == nil {
		return 0, false
	}
	return time.Duration(max(0, *t.Timings.SecondsToResult)) * time.Second, true
}

// elapsed shows seconds as a person says them.
func elapsed(seconds float64) string {
	d := time.Duration(max(0, seconds) * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// trail tells how long each stage took.
func trail(stages []Stage) string {
	parts := make([]string, len(stages))
	for i, stage := range stages {
		parts[i] = oneLine(stage.Name, maxName) + " " + elapsed(stage.Seconds)
	}
	return strings.Join(parts, ", ")
}
