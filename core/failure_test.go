package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/assay-dev/assay/core"
)

func TestFailureError(t *testing.T) {
	for _, row := range []struct {
		why     string
		failure core.Failure
		want    string
	}{
		{"Coder answered", core.Failure{Class: core.FailureConflict, Op: "create workspace", Status: 409, Message: "taken"}, "create workspace: conflict (HTTP 409): taken"},
		{"without a word", core.Failure{Class: core.FailureForbidden, Op: "cancel build", Status: 403}, "cancel build: forbidden (HTTP 403)"},
		{"the network spoke", core.Failure{Class: core.FailureNoEffect, Op: "create workspace", Message: "refused"}, "create workspace: no effect: refused"},
		{"nobody said anything", core.Failure{Op: "read user"}, "read user: unavailable"},
	} {
		if got := row.failure.Error(); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

func TestFailureClassNames(t *testing.T) {
	seen := map[string]core.FailureClass{}
	for class := core.FailureUnavailable; class <= core.FailureMismatch; class++ {
		name := class.String()
		if other, taken := seen[name]; taken {
			t.Errorf("classes %d and %d are both %q", other, class, name)
		}
		seen[name] = class
		if name == fmt.Sprintf("failure class %d", int(class)) {
			t.Errorf("class %d has no name", class)
		}
	}
	if got := core.FailureClass(99).String(); got != "failure class 99" {
		t.Errorf("an unknown class is %q", got)
	}
}

func TestAsFailure(t *testing.T) {
	failure := &core.Failure{Class: core.FailureGone, Op: "read workspace"}
	if core.AsFailure(nil) != nil {
		t.Error("no error is no failure")
	}
	if got := core.AsFailure(fmt.Errorf("step: %w", failure)); got != failure {
		t.Errorf("a wrapped failure is found: %v", got)
	}
	got := core.AsFailure(errors.New("boom"))
	if got.Class != core.FailureUnavailable || got.Message != "boom" {
		t.Errorf("any other error says the least: %+v", got)
	}
}
