package proof

import "testing"

func TestEditsNest(t *testing.T) {
	in := func(left, right string) func(string) string {
		return func(inner string) string { return left + inner + right }
	}
	for _, test := range []struct {
		why   string
		edits []edit
		want  string
	}{
		{"none", nil, "a && b"},
		{"side by side", []edit{{5, 6, in("[", "]")}, {0, 1, in("(", ")")}}, "(a) && [b]"},
		{"one in the other, whatever comes first", []edit{{0, 1, in("[", "]")}, {0, 6, in("(", ")")}}, "([a] && b)"},
		{"of the same borders the earlier is outside", []edit{{0, 1, in("(", ")")}, {0, 1, in("[", "]")}}, "([a]) && b"},
		{"an edit need not keep what is inside", []edit{{2, 4, func(string) string { return "," }}, {0, 6, in("f(", ")")}}, "f(a , b)"},
	} {
		if got := apply("a && b", test.edits); got != test.want {
			t.Errorf("%s: got %q, want %q", test.why, got, test.want)
		}
	}
}
