package planes_test

import (
	"errors"
	"testing"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/ports"
)

func TestTheLifeOfAControlPlane(t *testing.T) {
	p := planes.New(core.ControlPlane{Ref: "main", State: core.ControlPlaneUsable})
	broken := errors.New("broken")
	for _, step := range []struct {
		why          string
		do           func()
		ref          string
		cached, live core.ControlPlaneState
		err          error
	}{
		{"as it was put", func() {}, "main", core.ControlPlaneUsable, core.ControlPlaneUsable, nil},
		{"unknown is not gone", func() {}, "other", core.ControlPlaneUnready, core.ControlPlaneUnready, nil},
		{"edited", func() {
			p.Edit("main", func(plane *core.ControlPlane) { plane.State = core.ControlPlaneNoAccess })
		}, "main", core.ControlPlaneNoAccess, core.ControlPlaneNoAccess, nil},
		{"removed, behind a cache", func() { p.Lag(true); p.Remove("main") }, "main", core.ControlPlaneNoAccess, core.ControlPlaneGone, nil},
		{"the cache caught up", func() { p.Lag(false) }, "main", core.ControlPlaneGone, core.ControlPlaneGone, nil},
		{"not readable", func() { p.Fail(broken) }, "main", 0, 0, broken},
	} {
		step.do()
		for fresh, want := range map[ports.Freshness]core.ControlPlaneState{ports.Cached: step.cached, ports.Live: step.live} {
			plane, err := p.ControlPlane(t.Context(), step.ref, fresh)
			if !errors.Is(err, step.err) || plane.State != want {
				t.Errorf("%s: freshness %d: state %v, error %v; want %v, %v", step.why, fresh, plane.State, err, want, step.err)
			}
			if err == nil && plane.Ref != step.ref {
				t.Errorf("%s: the control plane names itself %q", step.why, plane.Ref)
			}
		}
	}
	if p.Reads(ports.Live) != 6 {
		t.Errorf("%d live reads, want 6", p.Reads(ports.Live))
	}
}
