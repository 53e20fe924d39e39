package terminal

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/width"
)

// screen is a terminal whose last lines are drawn again and again. What is drawn is
// overwritten in one write, line by line, so that nothing flickers.
type screen struct {
	out  io.Writer
	size func() (columns, rows int)
	// drawn are the columns of the lines that stand there, the last one without an end.
	drawn []int
}

// dimensions are those of the terminal now.
func (s *screen) dimensions() (columns, rows int) {
	if s.size != nil {
		columns, rows = s.size()
	}
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, max(rows, 3)
}

// home is what brings the cursor to the beginning of what is drawn. A terminal that
// became narrower has wrapped the lines.
func (s *screen) home() string {
	if len(s.drawn) == 0 {
		return ""
	}
	columns, _ := s.dimensions()
	up := -1
	for _, n := range s.drawn {
		up += max((n+columns-1)/columns, 1)
	}
	if up == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", up)
}

// print writes lines that stay, above what is drawn, which is gone then.
func (s *screen) print(text string) {
	prefix := s.home()
	if prefix != "" {
		prefix += "\x1b[J"
	}
	s.drawn = nil
	_, _ = io.WriteString(s.out, prefix+text+"\n")
}

// draw replaces what is drawn.
func (s *screen) draw(lines []string) {
	if len(lines) == 0 && len(s.drawn) == 0 {
		return
	}
	text := s.home()
	if len(lines) > 0 {
		text += strings.Join(lines, "\x1b[K\n") + "\x1b[K"
	}
	if len(s.drawn) > 0 {
		text += "\x1b[J"
	}
	s.drawn = nil
	for _, line := range lines {
		s.drawn = append(s.drawn, columnsOf(line))
	}
	_, _ = io.WriteString(s.out, text)
}

// leave ends the last line, so that what follows does not begin within it. A wait that
// nobody saw the end of stays readable.
func (s *screen) leave() {
	if len(s.drawn) > 0 {
		s.drawn = nil
		_, _ = io.WriteString(s.out, "\n")
	}
}

// columnsOf is how many columns a text takes. Colors take none.
func columnsOf(text string) int {
	columns, escape := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			columns += columnsOfRune(r)
		}
	}
	return columns
}

func columnsOfRune(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// cut shortens text without colors to at most so many columns, at least one.
func cut(text string, columns int) string {
	columns = max(columns, 1)
	if columnsOf(text) <= columns {
		return text
	}
	var kept strings.Builder
	left := columns - 1
	for _, r := range text {
		if left -= columnsOfRune(r); left < 0 {
			break
		}
		kept.WriteRune(r)
	}
	return strings.TrimRight(kept.String(), " ") + "…"
}
