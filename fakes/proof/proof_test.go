package proof

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the list of the sample's mutants anew")

// sampleSuites is the one suite of testdata/sample.
var sampleSuites = []Suite{{Name: "sample", Package: "testdata/sample", Args: []string{"-test.run=^Test$"}, Quick: true}}

// TestOperators lists the mutants of testdata/sample, and which of them its test notices.
// It also shows that code with all mutants in it, none of them active, still passes, and
// that a mutant does what its text says, since a test notices it.
func TestOperators(t *testing.T) {
	pkg, err := Load(t.Context(), "testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), ".", pkg, sampleSuites, func(what string) { t.Log(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var mutants []*Mutant
	for i := range pkg.Mutants {
		mutants = append(mutants, &pkg.Mutants[i])
	}
	calls := 0
	results, err := p.All(t.Context(), mutants, 2, func(Result) { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	if calls != len(mutants) {
		t.Errorf("%d of %d results were told", calls, len(mutants))
	}
	survivor := slices.IndexFunc(results, func(r Result) bool { return r.Killer == "" })
	p.suites[0].bound = 1 // it never ends in time
	if r, err := p.Run(t.Context(), results[survivor].Mutant, nil); err != nil || r.Killer != "sample" {
		t.Errorf("a suite that does not end has noticed: %+v, %v", r, err)
	}
	var got []string
	for _, r := range results {
		line := string(r.Mutant.Operator) + " " + strings.TrimPrefix(r.Mutant.Key(), "sample.go ")
		if r.Killer == "" {
			line += " SURVIVES"
		}
		got = append(got, line)
	}
	const golden = "testdata/sample/mutants.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(want)), "\n"), got); diff != "" {
		t.Errorf("(-want +got); -update writes the list anew:\n%s", diff)
	}
}

// TestSurvivorsAreHeldAgainstTheList: a survivor needs an entry, and an entry a survivor.
func TestSurvivorsAreHeldAgainstTheList(t *testing.T) {
	pkg := &Package{Mutants: []Mutant{
		{ID: 1, File: "a.go", Line: 7, Func: "f", Was: "a < b", Becomes: "a <= b", nth: 1},
		{ID: 2, File: "a.go", Line: 9, Func: "f", Was: "a < b", Becomes: "a <= b", nth: 2},
	}}
	killed, survived := []Result{{Mutant: &pkg.Mutants[0], Killer: "unit"}}, []Result{{Mutant: &pkg.Mutants[1]}}
	const second = "a.go f: a < b -> a <= b (2)\n\tboth are the same there\n"
	for _, test := range []struct {
		why, list, want string
		results         []Result
		fine            bool
	}{
		{"nothing is listed and nothing survived", "", "1 killed (100.0 %), 0 survived, of which survivors.txt explains 0", killed, true},
		{"a survivor is not listed", "", "\n    a.go:9, mutant 2\na.go f: a < b -> a <= b (2)\n", survived, false},
		{"a survivor is listed", second, "0 killed (0.0 %), 1 survived, of which survivors.txt explains 1", survived, true},
		{"a sample need not run what is listed", second, "1 killed (100.0 %), 0 survived, of which survivors.txt explains 0", killed, true},
		{"a killed mutant is listed", "a.go f: a < b -> a <= b\n\tno reason\n", "a.go f: a < b -> a <= b: killed by unit", killed, false},
		{"a mutant that is gone is listed", "a.go g: c -> d\n\tno reason\n", "a.go g: c -> d: there is no such mutant", killed, false},
	} {
		list, err := parseSurvivors(test.list)
		if err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		var out strings.Builder
		fine, err := Report(&out, pkg, test.results, []Suite{{Name: "unit"}}, list)
		if err != nil || fine != test.fine || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %t, %v, want %t and %q in\n%s", test.why, fine, err, test.fine, test.want, out.String())
		}
	}
}

func TestListOfSurvivors(t *testing.T) {
	list, err := parseSurvivors("# why\n\na.go f: a -> b\na.go f: c -> d\n\tone reason,\n\ttwo lines\n\nb.go g: a -> b\n\tanother\n")
	want := Survivors{
		"a.go f: a -> b": "one reason, two lines", "a.go f: c -> d": "one reason, two lines", "b.go g: a -> b": "another",
	}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, test := range []struct{ why, text, want string }{
		{"no reason", "a -> b\n", "no reason for a -> b"},
		{"no mutant", "\tbecause\n", "line 1: a reason without a mutant"},
		{"twice", "a -> b\n\tx\na -> b\n\ty\n", "line 3: a -> b is listed twice"},
	} {
		if _, err := parseSurvivors(test.text); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.why, err, test.want)
		}
	}
}

// TestTheLifecycleUnderProof compiles the real package with every mutant in it: its
// stories pass, and a mutant that never recognizes its own workspace is killed.
func TestTheLifecycleUnderProof(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles core/lifecycle and the tests of fakes/scenario")
	}
	pkg, err := Load(t.Context(), "../../core/lifecycle", "doc.go", "options.go")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), "../..", pkg, Suites[:1], func(what string) { t.Log(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range pkg.Mutants {
		m := &pkg.Mutants[i]
		if m.File != "provenance.go" || m.Becomes != "return (does not apply)" {
			continue
		}
		var out strings.Builder
		result, err := p.Run(t.Context(), m, &out)
		if err != nil || result.Killer != "stories" || !strings.Contains(out.String(), "the trail differs") {
			t.Errorf("%s: %+v, %v\n%s%s", m, result, err, pkg.Diff(m), out.String())
		}
		return
	}
	t.Error("nothing in provenance.go mutates to proof")
}
