package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Config is what an Engine works with. Store, ControlPlanes, Dial, Clock and Random
// are required.
type Config struct {
	Store         ports.WorkspaceStore
	ControlPlanes ports.ControlPlanes
	Dial          ports.Dialer
	Clock         ports.Clock
	// Random gives create attempt IDs and jitter: crypto/rand.Reader but in tests.
	Random io.Reader
	// Sink hears of each stored transition; optional.
	Sink ports.StatusSink
	// Evidence takes the logs of failed tests; without one none are read.
	Evidence ports.EvidenceSink
	// Logger is silent by default.
	Logger  *slog.Logger
	Options Options
}

// Engine carries out what Decide decides. It keeps nothing about a test that a
// restart could miss. It is safe for concurrent use; two steps of one test at once
// are safe, but one of them is wasted.
type Engine struct {
	config Config
	dialed *dialed

	mu sync.Mutex
	// limited counts the steps in a row that ended in a 429, by test.
	limited map[uuid.UUID]int
	// evidenced holds the tests whose evidence this process has handed over.
	evidenced map[uuid.UUID]bool
}

// New checks the configuration and fills in defaults. It does no I/O.
func New(config Config) (*Engine, error) {
	for _, dependency := range []struct {
		name    string
		missing bool
	}{
		{"Store", config.Store == nil},
		{"ControlPlanes", config.ControlPlanes == nil},
		{"Dial", config.Dial == nil},
		{"Clock", config.Clock == nil},
		{"Random", config.Random == nil},
	} {
		if dependency.missing {
			return nil, assertionFailed("the engine's %s is not set", dependency.name)
		}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Options = config.Options.WithDefaults()
	return &Engine{
		config:    config,
		dialed:    newDialed(config.Dial, config.Clock),
		limited:   make(map[uuid.UUID]int),
		evidenced: make(map[uuid.UUID]bool),
	}, nil
}

// Next tells when a test wants its next step.
type Next struct {
	// Done: nothing is left to do, or the record is gone.
	Done bool
	// After is when to look again at the latest; 0 means at once.
	After time.Duration
	// Watch is a workspace whose stream should wake the test sooner; uuid.Nil for
	// none. Use Engine.WatchWorkspace with ControlPlane.
	Watch uuid.UUID
	// ControlPlane is the test's Spec.ControlPlaneRef.
	ControlPlane string
}

// Step does one step of the test (lifecycle section 4): it sends at most one
// request that changes something in Coder. seen, when not nil, is the workspace as
// its stream just delivered it: enough to go on waiting, never enough for a
// verdict or a request.
//
// An error means that the record could not be loaded or stored, or breaks an
// assertion; nothing is lost, and the step can be repeated. What Coder does wrong
// is never an error: it is a wait or a verdict in the record.
func (e *Engine) Step(ctx context.Context, test uuid.UUID, seen *core.Workspace) (Next, error) {
	record, err := e.config.Store.Load(ctx, test, ports.Cached)
	if errors.Is(err, ports.ErrNotFound) {
		e.forget(test)
		return Next{Done: true}, nil
	}
	if err != nil {
		return Next{}, fmt.Errorf("load test %s: %w", test, err)
	}
	if record.ID != test {
		return Next{}, assertionFailed("the store returned test %s for %s", record.ID, test)
	}
	run := &stepRun{Engine: e, in: Input{Record: record, Options: e.config.Options}}
	if seen != nil && seen.ID == record.Status.WorkspaceID && seen.ID != uuid.Nil {
		run.in.Seen.Workspaces = map[uuid.UUID]Result[core.Workspace]{seen.ID: {Done: true, Value: *seen}}
		run.streamed = true
	}
	next, err := run.step(ctx)
	if err != nil {
		return Next{}, fmt.Errorf("test %s: %w", test, err)
	}
	if next.Done {
		e.forget(test)
	}
	next.ControlPlane = record.Spec.ControlPlaneRef
	return next, nil
}

// WatchWorkspace streams a workspace of the control plane as
// ports.WorkspaceWatcher says.
func (e *Engine) WatchWorkspace(ctx context.Context, controlPlane string, workspace uuid.UUID, on func(core.Workspace)) error {
	plane, err := e.config.ControlPlanes.ControlPlane(ctx, controlPlane, ports.Cached)
	if err != nil {
		return fmt.Errorf("find control plane %s: %w", controlPlane, err)
	}
	if plane.State != core.ControlPlaneUsable {
		return fmt.Errorf("watch workspace: control plane %s cannot be used now", controlPlane)
	}
	runner, err := e.dialed.runner(plane.Connection)
	if err != nil {
		return fmt.Errorf("dial control plane %s: %w", controlPlane, err)
	}
	return runner.WatchWorkspace(ctx, workspace, on)
}

// forget drops what is remembered about a test.
func (e *Engine) forget(test uuid.UUID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.limited, test)
	delete(e.evidenced, test)
}

// stepRun is one step on its way.
type stepRun struct {
	*Engine
	in Input
	// streamed: the workspace in Seen came from a stream.
	streamed bool
	// live: record and control plane were read live in this step.
	live bool
	// storedAt is the monotonic time at which this step's create marker was stored.
	storedAt time.Duration
	// deploymentAt is the monotonic time at which Seen.Deployment was read.
	deploymentAt time.Duration
	// decidedAt is the monotonic time of the last decision.
	decidedAt time.Duration
	// rateLimited: Coder answered 429 in this step.
	rateLimited bool
	lastRead    Read
}

// step asks for decisions and carries them out until one ends the step.
func (r *stepRun) step(ctx context.Context) (Next, error) {
	for {
		d := r.decide()
		switch {
		case d.Err != nil:
			return Next{}, d.Err
		case d.Read.Kind != ReadNothing:
			if err := r.observe(ctx, d.Read); err != nil {
				return Next{}, err
			}
			continue
		case r.streamed && !mayRestOnStream(&d, &r.in.Record):
			r.distrustStream()
			continue
		case restsOnLiveReads(&d) && !r.live:
			unchanged, gone, err := r.goLive(ctx)
			if err != nil || gone {
				return Next{Done: gone}, err
			}
			if !unchanged {
				continue
			}
		}
		switch result, err := r.store(ctx, &d); {
		case err != nil:
			return Next{}, err
		case result == recordGone:
			return Next{Done: true}, nil
		case result == recordMoved && d.Fact:
			// A fact is applied to what is stored by now, never dropped.
			gone, err := r.reload(ctx)
			if gone {
				r.logLostFact(ctx, &d)
			}
			if err != nil || gone {
				return Next{Done: gone}, err
			}
			continue
		case result == recordMoved:
			return Next{}, nil
		}
		if d.Request != nil {
			r.send(ctx, d.Request)
			// What was sent is a fact: it is stored even when the caller gives up.
			ctx = context.WithoutCancel(ctx)
			continue
		}
		if !d.Continue {
			r.endStep()
			// A wait counts from its decision: a slow store must not push it past the deadline.
			after := max(0, d.After-(r.config.Clock.Monotonic()-r.decidedAt))
			return Next{Done: d.Done, After: after, Watch: d.Watch}, nil
		}
	}
}

func (r *stepRun) decide() Decision {
	r.in.Now, r.decidedAt = r.config.Clock.Now(), r.config.Clock.Monotonic()
	if r.in.Began.IsZero() {
		r.in.Began = r.in.Now
	}
	if own := r.in.Seen.OwnMarker; own != nil {
		own.Age = r.config.Clock.Monotonic() - r.storedAt
	}
	if r.in.Seen.Deployment.Done {
		r.in.Seen.DeploymentAge = r.config.Clock.Monotonic() - r.deploymentAt
	}
	return Decide(r.in)
}

// mayRestOnStream reports whether a decision may rest on what a stream said: it only
// waits, and neither notes nor counts a delete build, which events that come late or
// again would have it do twice.
func mayRestOnStream(d *Decision, before *core.Record) bool {
	return d.Waits && d.Record.Status.DeleteBuildID == before.Status.DeleteBuildID
}

// distrustStream drops what a stream said, so that it is read.
func (r *stepRun) distrustStream() {
	r.in.Seen.Workspaces = nil
	r.streamed = false
}

// restsOnLiveReads reports whether the decision may not rest on caches (lifecycle
// section 3).
func restsOnLiveReads(d *Decision) bool {
	return d.Request != nil || d.Continue || d.Live || d.Expire || d.Hold == HoldRelease
}

// goLive reads the record and the control plane live. Where either differs from
// what the decision rested on, everything is to be read and decided again.
func (r *stepRun) goLive(ctx context.Context) (unchanged, gone bool, err error) {
	revision, before := r.in.Record.Revision, r.in.Seen.ControlPlane
	if gone, err = r.reload(ctx); err != nil || gone {
		return false, gone, err
	}
	r.live = true
	unchanged = r.in.Record.Revision == revision
	if before.Done {
		r.readControlPlane(ctx, r.in.Record.Spec.ControlPlaneRef)
		after := r.in.Seen.ControlPlane
		unchanged = unchanged && after.Failure == nil && before.Failure == nil && after.Value == before.Value
	}
	if !unchanged {
		r.in.Seen = Seen{ControlPlane: r.in.Seen.ControlPlane}
		r.streamed = false
		r.lastRead = Read{}
	}
	return unchanged, false, nil
}

// reload reads the record live.
func (r *stepRun) reload(ctx context.Context) (gone bool, err error) {
	record, err := r.config.Store.Load(ctx, r.in.Record.ID, ports.Live)
	if errors.Is(err, ports.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("load live: %w", err)
	}
	r.in.Record = record
	return false, nil
}

// endStep resets the backoff of a test that saw no 429 in this step.
func (r *stepRun) endStep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.rateLimited {
		delete(r.limited, r.in.Record.ID)
	}
}
