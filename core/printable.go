package core

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapeSequence matches what terminals take for commands: colors, cursor moves,
// titles. Logs hold them for good reasons and bad ones.
var escapeSequence = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])")

// PrintableLine is what Printable leaves of the text, in one line with single spaces.
func PrintableLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Printable drops everything that would do something to a terminal instead of
// showing text. Line ends and tabs stay; a carriage return inside a line, as
// progress bars print it, becomes a line end.
func Printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = escapeSequence.ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError:
			return '\uFFFD'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, text)
}
