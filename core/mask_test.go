package core_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/assay-dev/assay/core"
)

func TestMask(t *testing.T) {
	for _, row := range []struct {
		name    string
		secrets []string
		text    string
		want    string
		reason  string
	}{
		{"nothing known", nil, "text", "text", "the zero mask changes nothing"},
		{"empty secret", []string{""}, "text", "text", "an empty value is everywhere"},
		{"plain", []string{"hunter2"}, "a hunter2hunter2 b", "a *** b", "each occurrence, neighbors as one"},
		{"inside a word", []string{"hunter2"}, "xhunter2y", "x***y", "a long secret is masked wherever it stands"},
		{"short value", []string{"eu"}, "eu europe queue (eu)", "*** europe queue (***)", "a short one only where it stands alone"},
		{"overlap", []string{"abcdef", "defghi"}, "xabcdefghix", "x***x", "nothing of either stays"},
		{"self-overlap", []string{"anana"}, "ananana", "***", "the second begins within the first"},
		{"one within the other", []string{"secret", "mysecretvalue"}, "mysecretvalue", "***", "the longer one wins"},
		{"several lines", []string{"first line\nsecond line"}, "> first line\n> second line", "> ***\n> ***", "logs break lines with a prefix"},
		{"json", []string{`say "hi"!`}, `{"v":"say \"hi\"!"}`, `{"v":"***"}`, "programs print JSON"},
		{"url", []string{"p@ss word"}, "?p=p%40ss+word", "?p=***", "programs print URLs"},
		{"base64", []string{"hunter2!"}, "auth " + base64.StdEncoding.EncodeToString([]byte("hunter2!")), "auth ***", "and encoded credentials"},
		{"not ASCII", []string{"pässwörd"}, "ääpässwördä", "ää***ä", "characters are not cut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := core.NewMask(row.secrets...).Apply(row.text); got != row.want {
				t.Errorf("got %q, want %q: %s", got, row.want, row.reason)
			}
		})
	}
}

func FuzzMaskLeavesNoSecret(f *testing.F) {
	f.Add("hunter2", "xhunter2y")
	f.Add("aaaa", "aaaaaaa")
	f.Fuzz(func(t *testing.T, secret, text string) {
		if len(strings.TrimSpace(secret)) < 4 || strings.Contains(secret, "*") {
			t.Skip("short secrets stay within words, and the mask's own stars prove nothing")
		}
		if got := core.NewMask(secret).Apply(text); strings.Contains(got, secret) {
			t.Errorf("%q is still in %q", secret, got)
		}
	})
}
