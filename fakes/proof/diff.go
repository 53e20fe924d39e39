package proof

import (
	"fmt"
	"strings"
)

// Diff shows the lines of the file that the mutant changes, before and after.
func (p *Package) Diff(m *Mutant) string {
	before, after := p.Plain(m)
	was, becomes := strings.Split(before, "\n"), strings.Split(after, "\n")
	head := 0
	for head < min(len(was), len(becomes)) && was[head] == becomes[head] {
		head++
	}
	tail := 0
	for tail < min(len(was), len(becomes))-head && was[len(was)-1-tail] == becomes[len(becomes)-1-tail] {
		tail++
	}
	const around = 3
	var out strings.Builder
	fmt.Fprintf(&out, "%s:%d\n", m.File, head+1)
	lines := func(mark string, lines []string) {
		for _, line := range lines {
			out.WriteString(mark + line + "\n")
		}
	}
	lines("  ", was[max(0, head-around):head])
	lines("- ", was[head:len(was)-tail])
	lines("+ ", becomes[head:len(becomes)-tail])
	lines("  ", was[len(was)-tail:min(len(was), len(was)-tail+around)])
	return out.String()
}
