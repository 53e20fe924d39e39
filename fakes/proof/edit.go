package proof

import (
	"fmt"
	"slices"
	"strings"
)

// edit puts instrumentation around a piece of source text, by byte offsets. Edits nest
// like the syntax they follow; of two with the same borders the earlier is outside.
type edit struct {
	from, to int
	wrap     func(inner string) string
}

// apply renders the source with all edits.
func apply(source string, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return render(source, edits, 0, len(source))
}

// render renders a piece of the source; edits are those inside it, sorted.
func render(source string, edits []edit, from, to int) string {
	var out strings.Builder
	at := from
	for len(edits) > 0 {
		e, inside := edits[0], 1
		for inside < len(edits) && edits[inside].from < e.to {
			if edits[inside].to > e.to {
				panic(fmt.Sprintf("edits overlap at %d..%d and %d..%d", e.from, e.to, edits[inside].from, edits[inside].to))
			}
			inside++
		}
		out.WriteString(source[at:e.from])
		out.WriteString(e.wrap(render(source, edits[1:inside], e.from, e.to)))
		at, edits = e.to, edits[inside:]
	}
	out.WriteString(source[at:to])
	return out.String()
}
