package main

import (
	"bytes"
	"errors"
	"testing"
)

func TestWrongUsage(t *testing.T) {
	for _, row := range []struct {
		reason string
		args   []string
	}{
		{"no command", nil},
		{"an unknown command", []string{"down"}},
		{"a command too many", []string{"build", "up"}},
		{"an unknown flag", []string{"up", "-nomad"}},
		{"a flag of another command", []string{"build", "-kubernetes"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), row.args, &out, &out); !errors.Is(err, errUsage) || out.Len() > 0 {
				t.Errorf("got %v and %q", err, out.String())
			}
		})
	}
}
