package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assay-dev/assay/fakes/proof"
)

// some is a package with ten mutants in each of two files, two on a line.
func some() *proof.Package {
	pkg := &proof.Package{}
	for _, file := range []string{"a.go", "b.go"} {
		for i := range 10 {
			pkg.Mutants = append(pkg.Mutants, proof.Mutant{ID: len(pkg.Mutants) + 1, File: file, Line: 1 + i/2, Was: strconv.Itoa(i)})
		}
	}
	return pkg
}

func TestChoice(t *testing.T) {
	for _, row := range []struct {
		why    string
		choice choice
		want   []int
		err    string
	}{
		{"one file", choice{only: "b.go"}, []int{11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, ""},
		{"one line", choice{only: "a.go:3"}, []int{5, 6}, ""},
		{"one mutant", choice{mutant: 7}, []int{7}, ""},
		{"a sample larger than all there is", choice{only: "a.go:1", sample: 5}, []int{1, 2}, ""},
		{"no such file", choice{only: "c.go"}, nil, "-only c.go: no mutants there"},
		{"no line", choice{only: "a.go:x"}, nil, `-only a.go:x: "x" is no line number`},
		{"no such mutant", choice{mutant: 21}, nil, "there is no mutant 21: they are 1 to 20"},
	} {
		mutants, err := row.choice.choose(some())
		var got []int
		for _, m := range mutants {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, row.want) || (err != nil) != (row.err != "") || err != nil && err.Error() != row.err {
			t.Errorf("%s: %v, %v", row.why, got, err)
		}
	}
}

func TestASeedDecidesTheSample(t *testing.T) {
	drawn := func(seed uint64) string {
		c := choice{sample: 5, seed: seed}
		mutants, err := c.choose(some())
		if err != nil || len(mutants) != 5 {
			t.Fatalf("%d mutants, %v", len(mutants), err)
		}
		var text strings.Builder
		for _, m := range mutants {
			text.WriteString(m.String() + "\n")
		}
		return text.String()
	}
	if first, again := drawn(1), drawn(1); first != again {
		t.Error("a seed draws different samples")
	}
	if drawn(1) == drawn(2) && drawn(1) == drawn(3) {
		t.Error("every seed draws the same sample")
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	mutants := some().Mutants
	p := newProgress(&out, 200, proof.Survivors{mutants[1].Key(): "because"})
	for i := range 200 {
		r := proof.Result{Mutant: &mutants[i%20], Killer: "unit"}
		if i < 2 {
			r.Killer = ""
		}
		p.add(r)
	}
	p.end()
	want := "survived: " + mutants[0].String() + "\n100 of 200 mutants, 2 survived\n200 of 200 mutants, 2 survived\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestHelpTeaches(t *testing.T) {
	var out bytes.Buffer
	code, err := run(t.Context(), []string{"-help"}, &out, &out)
	if err != nil || code != 0 {
		t.Errorf("%d, %v", code, err)
	}
	for _, suite := range proof.Suites {
		if !strings.Contains(out.String(), "\n  "+suite.Name+" ") {
			t.Errorf("nothing about %s in\n%s", suite.Name, out.String())
		}
	}
	for _, args := range [][]string{{"-nonsense"}, {"extra"}, {"-workers", "0"}} {
		if code, _ := run(t.Context(), args, &out, &out); code != 2 {
			t.Errorf("%v: %d", args, code)
		}
	}
}
