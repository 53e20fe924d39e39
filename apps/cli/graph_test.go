package cli

import (
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/ports"
)

func testEnv() Env {
	return Env{
		LookupEnv: func(string) (string, bool) { return "", false },
		Clock:     systemclock.New(), Random: strings.NewReader(""), Dial: runner.NewDirectory().Dial,
		Stdout: &strings.Builder{}, Stderr: &strings.Builder{},
	}
}

func TestGraphIsComplete(t *testing.T) {
	var s *session
	if err := fx.ValidateApp(graph(testEnv(), runConfig{}), fx.Populate(&s)); err != nil {
		t.Error(err)
	}
}

func TestConstructingDoesNoIO(t *testing.T) {
	var s *session
	app := fx.New(graph(testEnv(), runConfig{statePath: "/nonexistent/folder/assay.db"}), fx.Populate(&s))
	if err := app.Err(); err != nil {
		t.Errorf("constructing failed where only starting may: %v", err)
	}
	if s == nil || s.driver == nil {
		t.Error("the session was not constructed")
	}
}

func TestControlPlane(t *testing.T) {
	policy := core.Policy{AllowRetain: true}
	planes := newControlPlane(runConfig{policy: policy, connection: core.Connection{URL: "https://coder.example.com"}})
	for _, row := range []struct {
		ref    string
		want   core.ControlPlaneState
		reason string
	}{
		{controlPlaneRef, core.ControlPlaneUsable, "the one that the command line names"},
		{"main", core.ControlPlaneUnready, "another front end's control plane is not proven to be gone"},
	} {
		plane, err := planes.ControlPlane(t.Context(), row.ref, ports.Live)
		if err != nil || plane.Ref != row.ref || plane.State != row.want {
			t.Errorf("control plane %q: %+v, error %v; want state %d: %s", row.ref, plane, err, row.want, row.reason)
		}
	}
}
