package main

import (
	"fmt"
	"io"
	"os"

	"github.com/assay-dev/assay/fakes/proof"
)

// progress tells at once of each survivor that is not explained, and how many mutants are
// done: on one line of a terminal, else on a line for every hundred.
type progress struct {
	out            io.Writer
	terminal       bool
	explained      proof.Survivors
	all            int
	done, survived int
}

func newProgress(out io.Writer, all int, explained proof.Survivors) *progress {
	p := &progress{out: out, all: all, explained: explained}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) add(r proof.Result) {
	p.done++
	if r.Killer == "" {
		p.survived++
		if _, explained := p.explained[r.Mutant.Key()]; !explained {
			p.end()
			fmt.Fprintln(p.out, "survived:", r.Mutant)
		}
	}
	switch {
	case p.terminal:
		fmt.Fprintf(p.out, "\r%d of %d mutants, %d survived", p.done, p.all, p.survived)
	case p.done%100 == 0:
		fmt.Fprintf(p.out, "%d of %d mutants, %d survived\n", p.done, p.all, p.survived)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
