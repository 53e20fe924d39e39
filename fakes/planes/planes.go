// Package planes is an in-memory ports.ControlPlanes.
package planes

import (
	"context"
	"sync"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Planes holds control planes by their references. It is safe for concurrent use.
type Planes struct {
	mu     sync.Mutex
	planes map[string]core.ControlPlane
	// failure is what every read ends with while it is set.
	failure error
	// cached, while it is set, is what cached reads see.
	cached map[string]core.ControlPlane
	reads  map[ports.Freshness]int
}

var _ ports.ControlPlanes = (*Planes)(nil)

// New makes a Planes with these control planes.
func New(all ...core.ControlPlane) *Planes {
	p := &Planes{planes: map[string]core.ControlPlane{}, reads: map[ports.Freshness]int{}}
	for _, plane := range all {
		p.Put(plane)
	}
	return p
}

// ControlPlane implements ports.ControlPlanes. One that was never put is unready: that
// nobody put it is no proof that it is gone.
func (p *Planes) ControlPlane(ctx context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	if err := ctx.Err(); err != nil {
		return core.ControlPlane{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads[fresh]++
	if p.failure != nil {
		return core.ControlPlane{}, p.failure
	}
	from := p.planes
	if fresh == ports.Cached && p.cached != nil {
		from = p.cached
	}
	plane, ok := from[ref]
	if !ok {
		return core.ControlPlane{Ref: ref, State: core.ControlPlaneUnready, Message: "no control plane of this name is known"}, nil
	}
	return plane, nil
}

// Put sets a control plane.
func (p *Planes) Put(plane core.ControlPlane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planes[plane.Ref] = plane
}

// Edit changes a control plane that was put, for example its policy or its state.
func (p *Planes) Edit(ref string, change func(*core.ControlPlane)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plane := p.planes[ref]
	plane.Ref = ref
	change(&plane)
	p.planes[ref] = plane
}

// Remove makes a control plane gone.
func (p *Planes) Remove(ref string) {
	p.Edit(ref, func(plane *core.ControlPlane) {
		*plane = core.ControlPlane{Ref: ref, State: core.ControlPlaneGone, Message: "the control plane was removed"}
	})
}

// Fail has every read end with err from now on; nil ends that.
func (p *Planes) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// Lag has cached reads see what is there now, whatever changes later, until it is
// called with false.
func (p *Planes) Lag(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cached = nil
	if !on {
		return
	}
	p.cached = map[string]core.ControlPlane{}
	for ref, plane := range p.planes {
		p.cached[ref] = plane
	}
}

// Reads is how often control planes were read.
func (p *Planes) Reads(fresh ports.Freshness) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads[fresh]
}
