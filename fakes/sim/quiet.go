package sim

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// quiet (I8): no record, log line or error holds a token, a parameter value, an agent's
// name or what a template printed, and every message is short and valid text. It
// searches everything that was stored or said for secrets that were planted so that they
// are unmistakable. (A record's spec holds the parameters that the person wrote.)
func quiet(h *History) []Violation {
	var f findings
	for i := range h.Stored {
		s := &h.Stored[i]
		if s.After == nil {
			continue
		}
		eachText(&s.After.Status, func(text string) {
			if secret := secretIn(h, text); secret != "" {
				f.add(s.Test, "the record stored at %s holds the secret %q: %q", clockTime(s.At), secret, text)
			}
			if len(text) > core.MaxMessageBytes || !utf8.ValidString(text) {
				f.add(s.Test, "the record stored at %s holds a text of %d bytes: %q", clockTime(s.At), len(text), text)
			}
		})
	}
	for i := range h.Texts {
		t := &h.Texts[i]
		if secret := secretIn(h, t.Text); secret != "" {
			f.add(uuid.Nil, "the %s at %s holds the secret %q: %q", t.Where, clockTime(t.At), secret, t.Text)
		}
	}
	return f
}

// eachText calls on with every text in a status that could come from elsewhere.
func eachText(st *core.Status, on func(text string)) {
	on(st.Message)
	on(string(st.Reason))
	on(st.ErrorCode)
	on(st.TemplateVersionName)
	if st.CreateAnswer != nil {
		on(st.CreateAnswer.Message)
	}
	for i := range st.Conditions {
		on(st.Conditions[i].Message)
	}
}

func secretIn(h *History, text string) string {
	for _, secret := range h.Secrets {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}
