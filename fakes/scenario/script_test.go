package scenario

import (
	"strings"
	"testing"
)

// A mistake in a scenario file must not pass unseen: the story would be another one.
func TestMistakesAreRefused(t *testing.T) {
	for _, row := range []struct{ why, text, says string }{
		{"a misspelled keyword", "cdoer template acme.docker\n", "line 1 (cdoer template acme.docker): unknown keyword"},
		{"a statement before any keyword", "  template acme.docker\n", "unknown keyword"},
		{"a keyword alone", "# a comment\ncoder\n", "line 2 (coder ): needs words"},
		{"an event without a time", "at somebody deletes the workspace\n", "is no time"},
		{"a template without a name", "coder template acme\n", "needs ORGANIZATION.NAME"},
		{"a role in no organization", "coder user x as admin\n", "as comes before in"},
		{"a prebuilt workspace of no version", "coder template a.b\n      prebuild p\n", "comes before a version"},
		{"an import that ends otherwise", "coder template a.b\n      version v import 1s badly\n", "ends ok, fails or canceled"},
		{"a clause that says nothing", "coder template a.b\n      version v\n      start build 1s ok,\n", "cannot read"},
	} {
		script, err := Parse(row.text)
		if err == nil {
			_, err = newRun(script, Options{})
		}
		if err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.why, err, row.says)
		}
	}
}
