package core

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// masked stands where a secret stood.
const masked = "***"

// shortSecret is the length, in bytes, below which a value is masked only where it
// stands alone: replacing every "1" or "eu" would leave no readable log.
const shortSecret = 4

// Mask replaces known secrets in text. The zero value replaces nothing. It finds a
// secret as it is, each line of one with several lines, and its JSON, URL and base64
// forms; what a program makes of it otherwise stays.
type Mask struct{ needles []string }

// NewMask makes a Mask for the secrets; empty ones are ignored.
func NewMask(secrets ...string) Mask {
	found := map[string]bool{}
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			found[form] = true
		}
	}
	var m Mask
	for form := range found {
		m.needles = append(m.needles, form)
	}
	slices.SortFunc(m.needles, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return m
}

// forms lists how a secret can appear in a log.
func forms(secret string) []string {
	var all []string
	add := func(form string) {
		if strings.TrimSpace(form) != "" {
			all = append(all, form)
		}
	}
	add(secret)
	// Logs are made printable before they are masked.
	secret = Printable(secret)
	add(secret)
	for line := range strings.SplitSeq(secret, "\n") {
		add(strings.TrimSpace(line))
	}
	if quoted, err := json.Marshal(secret); err == nil {
		add(string(quoted[1 : len(quoted)-1]))
	}
	add(url.QueryEscape(secret))
	add(url.PathEscape(secret))
	if len(secret) >= shortSecret {
		add(base64.StdEncoding.EncodeToString([]byte(secret)))
		add(base64.RawURLEncoding.EncodeToString([]byte(secret)))
	}
	return all
}

// Apply returns the text with every secret replaced. Secrets that overlap leave
// nothing of either behind.
func (m Mask) Apply(text string) string {
	type span struct{ from, to int }
	var spans []span
	for _, needle := range m.needles {
		for at := 0; ; {
			i := strings.Index(text[at:], needle)
			if i < 0 {
				break
			}
			from, to := at+i, at+i+len(needle)
			if len(needle) >= shortSecret || standsAlone(text, from, to) {
				spans = append(spans, span{from, to})
			}
			_, size := utf8.DecodeRuneInString(text[from:])
			at = from + size
		}
	}
	if len(spans) == 0 {
		return text
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var result strings.Builder
	end := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ {
			to = max(to, spans[i].to)
		}
		result.WriteString(text[end:from])
		result.WriteString(masked)
		end = to
	}
	result.WriteString(text[end:])
	return result.String()
}

// standsAlone reports whether text[from:to] is no part of a longer word.
func standsAlone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !wordRune(before)) && (to == len(text) || !wordRune(after))
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
