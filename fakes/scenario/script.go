package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Script is a scenario file.
type Script struct {
	// Head is all text before the trail, kept as it is when the trail is written
	// anew.
	Head string
	// Trail holds the expected lines.
	Trail []string

	statements []statement
}

// statement is one line of the header.
type statement struct {
	line    int
	keyword string
	// at is set for the keyword "at".
	at time.Duration
	// words are what follows the keyword (and its time).
	words []string
}

func (s statement) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d (%s %s): %s", s.line, s.keyword, strings.Join(s.words, " "), fmt.Sprintf(format, args...))
}

// word is the i-th word; empty when there are not that many.
func (s statement) word(i int) string {
	if i >= len(s.words) {
		return ""
	}
	return s.words[i]
}

// rest is the statement's text from the i-th word on.
func (s statement) rest(i int) string { return strings.Join(s.words[min(i, len(s.words)):], " ") }

// keywords are what a line of the header can begin with.
var keywords = map[string]bool{"row": true, "coder": true, "plane": true, "test": true, "fault": true, "at": true, "until": true}

var trailLine = regexp.MustCompile(`^\d+:\d\d( |$)`)

// Parse reads a scenario file.
func Parse(text string) (*Script, error) {
	script := &Script{}
	var head strings.Builder
	keyword := ""
	for i, line := range strings.SplitAfter(text, "\n") {
		bare := strings.TrimRight(line, " \t\n")
		if len(script.Trail) > 0 || trailLine.MatchString(bare) {
			if bare != "" {
				script.Trail = append(script.Trail, bare)
			}
			continue
		}
		head.WriteString(line)
		if bare == "" || strings.HasPrefix(bare, "#") {
			continue
		}
		s := statement{line: i + 1, words: strings.Fields(bare)}
		if bare[0] != ' ' && bare[0] != '\t' {
			keyword, s.words = s.words[0], s.words[1:]
		}
		s.keyword = keyword
		if !keywords[keyword] {
			return nil, s.errorf("unknown keyword")
		}
		if len(s.words) == 0 {
			return nil, s.errorf("needs words after it")
		}
		if keyword == "at" {
			if len(s.words) < 2 {
				return nil, s.errorf("needs a time and what happens")
			}
			at, err := parseTime(s.words[0])
			if err != nil {
				return nil, s.errorf("%v", err)
			}
			s.at, s.words = at, s.words[1:]
		}
		script.statements = append(script.statements, s)
	}
	script.Head = head.String()
	return script, nil
}

// Rows are the table rows that the script says it shows.
func (s *Script) Rows() []string {
	var rows []string
	for _, st := range s.of("row") {
		rows = append(rows, st.rest(0))
	}
	return rows
}

// of are the statements of a keyword.
func (s *Script) of(keyword string) []statement {
	var found []statement
	for _, st := range s.statements {
		if st.keyword == keyword {
			found = append(found, st)
		}
	}
	return found
}

// Text is the script with another trail.
func (s *Script) Text(trail []string) string {
	return strings.TrimRight(s.Head, "\n") + "\n\n" + strings.Join(trail, "\n") + "\n"
}

// parseTime reads minutes and seconds, such as "00:30" or "75:00".
func parseTime(text string) (time.Duration, error) {
	minutes, seconds, ok := strings.Cut(text, ":")
	m, err1 := strconv.Atoi(minutes)
	sec, err2 := strconv.Atoi(seconds)
	if !ok || err1 != nil || err2 != nil || sec < 0 || sec > 59 || m < 0 {
		return 0, fmt.Errorf("%q is no time such as 01:30", text)
	}
	return time.Duration(m)*time.Minute + time.Duration(sec)*time.Second, nil
}

// formatTime is the reverse, cut to seconds.
func formatTime(d time.Duration) string {
	seconds := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d", seconds/60, seconds%60)
}
