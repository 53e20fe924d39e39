package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// TestSameStatusLooksAtEveryField changes each field of a status by itself, those of
// everything in it included: a field that sameStatus forgot would never be stored again.
func TestSameStatusLooksAtEveryField(t *testing.T) {
	full := func() *core.Status {
		return &core.Status{CreateAnswer: &core.CreateAnswer{}, Conditions: make([]core.Condition, 1)}
	}
	seen := 0
	for _, at := range leaves(reflect.TypeFor[core.Status](), nil, "Status") {
		seen++
		changed := full()
		change(t, at, reflect.ValueOf(changed).Elem())
		if sameStatus(full(), changed) || sameStatus(changed, full()) {
			t.Errorf("%s makes no difference", at.name)
		}
		again := full()
		change(t, at, reflect.ValueOf(again).Elem())
		if !sameStatus(changed, again) {
			t.Errorf("%s differs from itself", at.name)
		}
	}
	if seen < 30 {
		t.Errorf("only %d fields were found", seen)
	}
}

func TestSameStatusLooksAtWhatIsMissing(t *testing.T) {
	empty := &core.Status{}
	for why, status := range map[string]*core.Status{
		"an answer, all of whose fields are empty": {CreateAnswer: &core.CreateAnswer{}},
		"an empty condition":                       {Conditions: make([]core.Condition, 1)},
	} {
		if sameStatus(empty, status) || sameStatus(status, empty) {
			t.Errorf("%s makes no difference", why)
		}
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	elsewhere := noon.In(time.FixedZone("elsewhere", 3600))
	if !sameStatus(&core.Status{StartTime: noon}, &core.Status{StartTime: elsewhere}) {
		t.Error("the same moment in another zone makes a difference")
	}
}

// leaf is a field that holds no further fields, and the way to it.
type leaf struct {
	name string
	path []int
}

// leaves lists the fields of a type, through structs, pointers and slices.
func leaves(of reflect.Type, path []int, name string) []leaf {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return []leaf{{name, path}}
	}
	var all []leaf
	for i := range of.NumField() {
		all = append(all, leaves(of.Field(i).Type, append(path[:len(path):len(path)], i), name+"."+of.Field(i).Name)...)
	}
	return all
}

// change sets a field to something else than its zero value.
func change(t *testing.T, at leaf, in reflect.Value) {
	t.Helper()
	for _, i := range at.path {
		in = inside(in).Field(i)
	}
	switch field := inside(in).Addr().Interface().(type) {
	case *time.Time:
		*field = time.Unix(1, 0)
	case *uuid.UUID:
		field[15] = 1
	default:
		switch value := inside(in); value.Kind() {
		case reflect.String:
			value.SetString("changed")
		case reflect.Int, reflect.Int64:
			value.SetInt(1)
		case reflect.Bool:
			value.SetBool(true)
		default:
			t.Fatalf("%s is a %s: say here how to change it", at.name, value.Type())
		}
	}
}

// inside is what a pointer points to, or the first element of a slice.
func inside(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		return v.Elem()
	case reflect.Slice:
		return v.Index(0)
	default:
		return v
	}
}

func TestSameConditionInAnotherZone(t *testing.T) {
	condition := func(at time.Time) *core.Status {
		return &core.Status{Conditions: []core.Condition{{Type: core.ConditionReady, LastTransitionTime: at}}}
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if !sameStatus(condition(at), condition(at.In(time.FixedZone("elsewhere", 3600)))) {
		t.Error("a condition that turned at the same moment makes a difference")
	}
}
