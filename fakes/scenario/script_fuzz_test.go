package scenario

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
)

// FuzzParse reads texts as scenario files and sets their stages: a mistake in a file is
// an error, never a panic, and writing the trail anew keeps the header.
func FuzzParse(f *testing.F) {
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(names) == 0 {
		f.Fatalf("no scenarios: %v", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(scenarios.Files, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{
		"", "coder\n", "coder template\n", "  coder template a.b\n", "cdoer template a.b\n", "at 00:10\n", "at 1:99 delete\n", "until\n",
		"test template=\n", "test timeout\n", "fault\n", "fault create\n", "plane\n", "row\n", "00:00 x\n00:01\n", "coder start build cancel\n",
		"coder user\n      user x in\n", "coder organization\n", "coder workspace x owner\n", "coder preset p =\n", "coder parameter n number 1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("the error does not name the line: %v", err)
			}
			return
		}
		again, err := Parse(script.Text(script.Trail))
		if err != nil {
			t.Fatalf("with its trail written anew it cannot be read: %v", err)
		}
		if diff := cmp.Diff(told(script), told(again)); diff != "" {
			t.Errorf("writing the trail anew changes the script (-before +after):\n%s", diff)
		}
		_, _ = newRun(script, Options{})
	})
}

// told is what a script says, line by line.
func told(script *Script) []string {
	lines := append([]string{}, script.Trail...)
	for _, st := range script.statements {
		lines = append(lines, st.keyword+" "+formatTime(st.at)+" "+st.rest(0))
	}
	return lines
}
