package terminal_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
)

// onScreen is what a terminal of so many columns shows in the end.
func onScreen(written string, columns int) string {
	t := &term{columns: columns}
	t.write(written)
	var shown strings.Builder
	for _, row := range t.rows {
		shown.WriteString(strings.TrimRight(string(row), " \x00") + "\n")
	}
	return strings.TrimRight(shown.String(), "\n") + "\n"
}

// term is a terminal that knows what this package sends. Its rows never scroll away.
type term struct {
	columns  int
	rows     [][]rune
	row, col int
}

func (t *term) write(text string) {
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		for len(t.rows) <= t.row {
			t.rows = append(t.rows, make([]rune, t.columns))
		}
		switch r := runes[i]; r {
		case '\r':
			t.col = 0
		case '\n':
			t.row, t.col = t.row+1, 0
		case '\x1b':
			end := i + 2
			for runes[end] < 'A' || runes[end] > 'z' {
				end++
			}
			t.command(string(runes[i+2:end]), runes[end])
			i = end
		default:
			if t.col == t.columns {
				t.row, t.col = t.row+1, 0
				i--
				continue
			}
			t.rows[t.row][t.col] = r
			t.col++
		}
	}
}

func (t *term) command(argument string, command rune) {
	switch command {
	case 'A':
		up, err := strconv.Atoi(argument)
		if err != nil {
			panic(err)
		}
		t.row = max(t.row-up, 0)
	case 'K':
		clear(t.rows[t.row][min(t.col, t.columns):])
	case 'J':
		clear(t.rows[t.row][min(t.col, t.columns):])
		t.rows = t.rows[:t.row+1]
	case 'm':
	default:
		panic("unknown command " + string(command))
	}
}

// running lets tests run whose names are given, and returns what stands on the screen.
func running(t *testing.T, style terminal.Style, columns int, then func(*terminal.Progress, []core.Record), names ...string) (shown string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var out bytes.Buffer
		progress := terminal.NewProgress(&out, clock.New(start), style)
		records := make([]core.Record, len(names))
		for i, name := range names {
			records[i] = core.Record{ID: uuid.New(), Name: name}
			waits(core.PhaseRunning, core.ReasonWaitingForBuild, "the start build is running")(&records[i])
			records[i].Status.WorkspaceID = uuid.New()
			progress.Transition(core.StoredTransition{At: start, After: records[i]})
		}
		synctest.Wait()
		if then != nil {
			then(progress, records)
			synctest.Wait()
		}
		shown = onScreen(out.String(), columns)
		progress.Close()
	})
	return shown
}

func TestSeveralTests(t *testing.T) {
	style := terminal.Style{Live: true, Several: true, Size: size(80, 24)}
	got := running(t, style, 80, func(progress *terminal.Progress, records []core.Record) {
		progress.Note(records[0].ID, "docker_image.main:\tstill\ncreating \x1b[31m[10s]")
		after := records[1]
		waits(core.PhaseFailed, core.ReasonBuildFailed, "read the build log")(&after)
		deleted(&after, core.ConditionTrue, core.ReasonDeleted)
		progress.Transition(core.StoredTransition{At: start.Add(3 * time.Second), Before: records[1], After: after})
	}, "docker eu", "docker us", "kubernetes")
	const want = `✗ docker us  3s  BuildFailed: read the build log
· docker eu   build       0s  docker_image.main: still creating [10s]
· kubernetes  build       0s  WaitingForBuild: the start build is running
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestSizes draws on terminals that are small, large and resized meanwhile.
func TestSizes(t *testing.T) {
	names := []string{"docker", "日本語のテンプレート", "a-template-with-a-name-that-is-much-too-long", "kubernetes", "vm"}
	for _, row := range []struct {
		why           string
		columns, rows int
		lines         int
	}{
		{"wide", 200, 50, 5},
		{"narrow", 40, 50, 5},
		{"tiny", 10, 50, 5},
		{"low: what does not fit is counted", 80, 4, 3},
		{"unknown", 0, 0, 5},
	} {
		t.Run(row.why, func(t *testing.T) {
			columns := row.columns
			if columns == 0 {
				columns = 80
			}
			style := terminal.Style{Live: true, Several: true, Size: size(row.columns, row.rows)}
			got := running(t, style, columns, nil, names...)
			if lines := strings.Count(got, "\n"); lines != row.lines {
				t.Errorf("%d lines, want %d:\n%s", lines, row.lines, got)
			}
			if row.rows == 4 && !strings.Contains(got, "and 3 more") {
				t.Errorf("what is not shown is not counted:\n%s", got)
			}
		})
	}
}

// resize wraps the rows that have become too long, as terminals do, and keeps the cursor
// at its text.
func (t *term) resize(columns int) {
	var rows [][]rune
	row := 0
	for i, old := range t.rows {
		text := []rune(strings.TrimRight(string(old), "\x00"))
		for begin := 0; begin == 0 || begin < len(text); begin += columns {
			wrapped := make([]rune, columns)
			copy(wrapped, text[min(begin, len(text)):])
			rows = append(rows, wrapped)
		}
		if i == t.row {
			row = len(rows) - 1
			t.col = min(t.col, columns)
		}
	}
	t.rows, t.row, t.columns = rows, row, columns
}

func TestNarrowedTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		columns := 80
		var out bytes.Buffer
		progress := terminal.NewProgress(&out, clock.New(start), terminal.Style{
			Live: true, Several: true, Size: func() (int, int) { return columns, 24 },
		})
		var last core.Record
		for _, name := range []string{"one", "two", "three"} {
			last = core.Record{ID: uuid.New(), Name: name}
			waits(core.PhaseRunning, core.ReasonInitializing, strings.Repeat("long ", 12))(&last)
			progress.Transition(core.StoredTransition{At: start, After: last})
		}
		synctest.Wait()
		shown := &term{columns: columns}
		shown.write(out.String())
		out.Reset()
		columns = 40
		shown.resize(columns)
		progress.Note(last.ID, "shorter")
		synctest.Wait()
		shown.write(out.String())
		progress.Close()
		if len(shown.rows) != 3 {
			t.Errorf("%d rows are left, want 3: %q", len(shown.rows), shown.rows)
		}
	})
}
