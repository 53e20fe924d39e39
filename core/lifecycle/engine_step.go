package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

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
	// entry is the connection that this step asks on; nil before it asked.
	entry *dialedEntry
	// rateLimited: Coder answered 429 in this step. held: it did so in another one, whose
	// wait is not over.
	rateLimited, held bool
	lastRead          Read
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
			r.noteMoved()
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
			gone := r.config.Clock.Monotonic() - r.decidedAt
			return Next{Done: d.Done, After: max(0, d.After-gone), Heard: max(0, d.Heard-gone), Watch: d.Watch}, nil
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

// noteMoved has the next step load its record live.
func (r *stepRun) noteMoved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved[r.in.Record.ID] = true
}

// endStep resets the backoff of a test that met no 429 in this step and was not held back
// by another one's.
func (r *stepRun) endStep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.rateLimited && !r.held {
		delete(r.limited, r.in.Record.ID)
	}
}
