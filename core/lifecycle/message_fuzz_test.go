package lifecycle

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/assay-dev/assay/core"
)

func FuzzClip(f *testing.F) {
	for _, message := range []string{
		"", "the start build is running", "ü", strings.Repeat("ü", 200), "a" + strings.Repeat("ü", 128), strings.Repeat("🐢", 65), "aaa" + strings.Repeat("🐢", 64),
		"\xff", strings.Repeat("\xff", 300), strings.Repeat("a", 255) + "\xf0\x9f\x90", strings.Repeat("a", 254) + "\xff\xff", "\uFFFD\x00\n",
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		got, whole := clip(message), strings.ToValidUTF8(message, "\uFFFD")
		if strings.ContainsFunc(whole, unicode.IsControl) {
			whole = core.PrintableLine(whole)
		}
		switch {
		case strings.ContainsFunc(got, unicode.IsControl):
			t.Errorf("%q would do something to a terminal or begin a line", got)
		case len(got) > core.MaxMessageBytes || !utf8.ValidString(got):
			t.Errorf("%d bytes, valid UTF-8: %t", len(got), utf8.ValidString(got))
		case !strings.HasPrefix(whole, got):
			t.Errorf("%q does not begin as the message", got)
		case len(whole) <= core.MaxMessageBytes && got != whole:
			t.Errorf("a message that fits became %q", got)
		case len(got) < len(whole) && len(got) <= core.MaxMessageBytes-utf8.UTFMax:
			t.Errorf("%d bytes are left of %d: more would fit", len(got), len(whole))
		case clip(got) != got:
			t.Errorf("cut twice, it becomes %q", clip(got))
		}
	})
}
