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
		Clock:     systemclock.New(), Random: strings.NewReader("16 bytes or more"), Dial: runner.NewDirectory().Dial,
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

func TestControlPlanes(t *testing.T) {
	plane, err := newPlane(core.Connection{URL: "https://coder.example.com"}, core.Policy{AllowRetain: true})
	if err != nil {
		t.Fatal(err)
	}
	planes := newControlPlanes(runConfig{planes: controlPlanes{plane.Ref: plane}})
	for _, row := range []struct {
		ref    string
		want   core.ControlPlaneState
		reason string
	}{
		{plane.Ref, core.ControlPlaneUsable, "the one that the command line names"},
		{"main", core.ControlPlaneUnready, "another front end's control plane is not proven to be gone"},
	} {
		plane, err := planes.ControlPlane(t.Context(), row.ref, ports.Live)
		if err != nil || plane.Ref != row.ref || plane.State != row.want {
			t.Errorf("control plane %q: %+v, error %v; want state %d: %s", row.ref, plane, err, row.want, row.reason)
		}
	}
}

func TestPlanesAreNamedByWhatTheyAre(t *testing.T) {
	base := core.Connection{URL: "https://coder.example.com", Token: core.NewSecret("one")}
	of := func(change func(*core.Connection, *core.Policy)) string {
		connection, policy := base, core.Policy{}
		change(&connection, &policy)
		plane, err := newPlane(connection, policy)
		if err != nil {
			t.Fatal(err)
		}
		return plane.Ref
	}
	same := of(func(*core.Connection, *core.Policy) {})
	for _, row := range []struct {
		change func(*core.Connection, *core.Policy)
		same   bool
		why    string
	}{
		{func(c *core.Connection, _ *core.Policy) { c.Token = core.NewSecret("two") }, true, "a token says who asks, and is not stored"},
		{func(c *core.Connection, _ *core.Policy) { c.URL = "https://other.example.com" }, false, "another deployment"},
		{func(c *core.Connection, _ *core.Policy) { c.CACertificates = "PEM" }, false, "a run must not change what another one trusts"},
		{func(_ *core.Connection, p *core.Policy) { p.OwnerUserID = "x" }, false, "another tester"},
		{func(_ *core.Connection, p *core.Policy) { p.AllowRetain = true }, false, "retain is allowed for one run only"},
	} {
		if got := of(row.change); (got == same) != row.same {
			t.Errorf("reference %q, the unchanged one is %q, want same %v: %s", got, same, row.same, row.why)
		}
	}
}
