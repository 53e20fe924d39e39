// Package sample has one of everything that a mutant can change.
package sample

import (
	"errors"
	"strings"
	"time"
)

type kind int

const (
	small kind = iota
	large
)

type thing struct {
	name  string
	kind  kind
	ready bool
}

var errMissing = errors.New("missing")

var names = map[kind]string{small: "small", large: "large"}

var checks = []func(*thing) string{named, sized}

func named(t *thing) string {
	if t.name == "" {
		return "unnamed"
	}
	return ""
}

func sized(t *thing) string {
	switch t.kind {
	case small:
		return "too " + names[small]
	default:
		return ""
	}
}

func problem(t *thing) string {
	for _, check := range checks {
		if text := check(t); text != "" {
			return text
		}
	}
	return ""
}

func made(name string) *thing {
	t := &thing{name: name, kind: large}
	t.ready = true
	return t
}

func same(a, b *thing) bool { return strings.EqualFold(a.name, b.name) && !a.ready }

func find(all []*thing, name string) (*thing, bool) {
	for _, t := range all {
		if t == nil || t.kind == small {
			continue
		}
		if t.name == name {
			return t, true
		}
	}
	return nil, false
}

func open(name string) (string, error) {
	switch {
	case name == "":
		return "", errMissing
	case len(name) > 3:
		return name[:3], nil
	}
	return name, nil
}

func wait(now, deadline time.Time, attempt int) time.Duration {
	const most = 8 * time.Second
	delay := time.Second
	for i := 1; i < attempt; i++ {
		delay *= 2
	}
	if deadline.Before(now.Add(delay)) {
		delay -= time.Millisecond
	}
	return min(delay+time.Minute/60, most)
}

func swap(a, b string) (string, string) {
	a, b = b, a
	return a, b
}

// idle has no effect: nothing can notice what becomes of it.
func idle(n int) {
	n++
	_ = n
}
