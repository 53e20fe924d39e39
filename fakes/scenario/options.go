package scenario

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// Options let somebody look into a run and disturb it beyond what its script says. The
// zero value changes nothing.
type Options struct {
	// Front tells the story through a front end; nil is the bare engine.
	Front Front
	// AllEvents has a front end's streams tell of everything. Without it they tell only
	// what the bare engine notices, too: what happens while time passes.
	AllEvents bool
	// Begin is called once, when the stage is set and before the first engine starts.
	Begin func(*Story)
	// Fault has the last word about each call of a port; planned is what the script
	// says about it.
	Fault func(call faults.Call, planned faults.Fault) faults.Fault
	// Store and Beneath wrap what is below the faults: what takes effect. Above wraps
	// what is above them: what an engine asks for.
	Store   func(ports.WorkspaceStore) ports.WorkspaceStore
	Beneath func(ports.CodeRunner) ports.CodeRunner
	Above   func(ports.CodeRunner) ports.CodeRunner
	// Step is called in place of each step of an engine; it does the step.
	Step func(step func() (lifecycle.Next, error)) (lifecycle.Next, error)
	// Sink, Evidence and Logger go to the engines; the sink hears what the trail hears.
	Sink     ports.StatusSink
	Evidence ports.EvidenceSink
	Logger   *slog.Logger
	// Lenient has people fail in vain: what they want to touch can be missing in a run
	// that is disturbed.
	Lenient bool
	// Settle is how long the story goes on after its end, without faults and with the
	// control plane back, unless that is gone: at most, for a test that has its verdict
	// ends it when its record was the same for longer than any wait of a cleanup.
	Settle time.Duration
}

// settled is longer than any wait of a cleanup.
const settled = 40 * time.Minute

// Story is a run from within.
type Story struct{ run *run }

// Test is the ID of the test.
func (s *Story) Test() uuid.UUID { return s.run.test }

// Clock is what the engines are given.
func (s *Story) Clock() *clock.Clock { return s.run.clock }

// World is the deployment.
func (s *Story) World() *world.World { return s.run.world }

// Store holds the record, unless a front end does.
func (s *Story) Store() *store.Store { return s.run.store }

// Plane is the control plane as it is now.
func (s *Story) Plane() core.ControlPlane {
	plane, err := s.run.planes.ControlPlane(context.Background(), s.run.plane.Ref, ports.Live)
	if err != nil {
		return core.ControlPlane{}
	}
	return plane
}

// Note writes a line into the trail.
func (s *Story) Note(what string) { s.run.trail.people(what) }

// HoldRemoved tells that somebody removed the hold by hand.
func (s *Story) HoldRemoved() bool { return s.run.holdRemoved }

// Token is the operator user's session token that the control plane has now.
func (s *Story) Token() core.Secret { return s.run.plane.Connection.Token }

// AnotherEngine starts an engine beside the story's own, which remembers nothing and
// meets no faults. The function does one step of it.
func (s *Story) AnotherEngine() (step func() (lifecycle.Next, error), err error) {
	calm := &faultPlan{run: s.run, injector: faults.New(s.run.clock, nil), reads: map[string]int{}}
	engine, err := s.run.newEngine(calm)
	if err != nil {
		return nil, err
	}
	return func() (lifecycle.Next, error) { return s.run.stepOf(engine) }, nil
}

// settle goes on after the end of the story until nothing is left to do.
func (r *run) settle() error {
	r.faults.injector.SetHook(nil)
	r.faults.rules = nil
	r.todo = nil
	if r.plane.State != core.ControlPlaneUsable {
		plane, err := r.planes.ControlPlane(context.Background(), r.plane.Ref, ports.Live)
		if err == nil && plane.State != core.ControlPlaneGone {
			r.plane.State = core.ControlPlaneUsable
			r.planes.Put(r.plane)
		}
	}
	r.trail.people("everything settles")
	r.settling = true
	r.changed = r.clock.Monotonic()
	r.end = r.changed + r.options.Settle
	return r.play()
}
