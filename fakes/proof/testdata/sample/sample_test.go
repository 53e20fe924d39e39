package sample

import (
	"fmt"
	"testing"
	"time"
)

func Test(t *testing.T) {
	start := time.Unix(1000, 0)
	little, big, other := &thing{name: "a"}, &thing{name: "b", kind: large}, &thing{name: "B", kind: large}
	one := func(text string, err error) string { return fmt.Sprint(text, err) }
	two := func(t *thing, ok bool) string { return fmt.Sprint(t != nil && t.name == "b", ok) }
	idle(1)
	for _, row := range []struct{ got, want any }{
		{problem(little), "too small"}, {problem(big), ""}, {problem(&thing{}), "unnamed"}, {names[large], "large"},
		{*made("c"), thing{name: "c", kind: large, ready: true}},
		{same(big, other), true}, {same(little, other), false}, {same(made("c"), made("c")), false}, {same(made("b"), big), false},
		{two(find([]*thing{nil, little, other, big}, "b")), "true true"}, {two(find([]*thing{little, big}, "a")), "false false"},
		{one(open("")), "missing"}, {one(open("ab")), "ab<nil>"}, {one(open("abc")), "abc<nil>"}, {one(open("abcd")), "abc<nil>"},
		{wait(start, start.Add(time.Hour), 1), 2 * time.Second}, {wait(start, start.Add(time.Hour), 9), 8 * time.Second},
		{wait(start, start.Add(time.Second), 1), 2 * time.Second}, {wait(start, start, 2), 3*time.Second - time.Millisecond},
		{wait(start, start.Add(time.Hour), 3), 5 * time.Second},
		{fmt.Sprint(swap("a", "b")), "ba"},
	} {
		if fmt.Sprint(row.got) != fmt.Sprint(row.want) {
			t.Errorf("got %v, want %v", row.got, row.want)
		}
	}
}
