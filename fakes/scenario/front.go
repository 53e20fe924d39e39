package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// atOnce is less than what a front end may add up to when it takes a moment for "at once".
const atOnce = time.Millisecond

// Front is a front end that a story is told through: it holds the test and its control
// plane, and says when the test steps. Its time passes only in Wait and Asked.Answer,
// and there as fast as the story's.
type Front interface {
	Records() Records
	Planes() Planes
	// Start starts a process around an engine that remembers nothing. Whatever process
	// there was is dead, with all that it remembered.
	Start(engine *lifecycle.Engine) error
	// Wait lets at most d pass until a step is wanted. It returns what passed, and the
	// step, or nil for none.
	Wait(d time.Duration) (passed time.Duration, asked *Asked)
	// Wake has the test step now: somebody did something in Coder, and the bare
	// engine, too, steps at once then.
	Wake()
}

// Asked is a step that a front end wants.
type Asked struct {
	// Seen is what the front end has from a stream.
	Seen *core.Workspace
	// Answer lets pass what the step took, and then gives the front end what came of it.
	Answer func(took time.Duration, next lifecycle.Next, err error)
}

// Records is where the test is, and how people reach it.
type Records interface {
	ports.WorkspaceStore
	Create(ctx context.Context, record core.Record) (core.Record, error)
	RequestDeletion(ctx context.Context, test uuid.UUID) error
	SetDeletionPolicy(ctx context.Context, test uuid.UUID, policy string) error
}

// Planes is where the control plane is, and how people reach it.
type Planes interface {
	ports.ControlPlanes
	Put(plane core.ControlPlane)
	Remove(ref string)
}

// playThrough has the front end do the steps, whenever it wants to.
func (r *run) playThrough(front Front) error {
	for range maxSteps {
		passed, asked := front.Wait(r.happening() - r.clock.Monotonic())
		r.passing.Store(true)
		engine := r.engine
		if err := r.pass(passed); err != nil {
			return err
		}
		if r.engine != engine {
			continue // who asked is dead
		}
		next := lifecycle.Next{Done: true}
		if asked != nil {
			var err error
			if next, err = r.answer(asked); err != nil {
				return err
			}
			if r.look(); r.gone() && len(r.todo) == 0 {
				next.Done = true // nobody asks for a step of a test that is not there
			}
		} else if r.clock.Monotonic() < r.end {
			continue
		}
		if next.Done && len(r.todo) > 0 {
			next.After = r.end
		} else if next.Done || r.over(r.until(next)) {
			r.trail.add(" ", r.ending())
			return nil
		}
	}
	return errors.New("no end")
}

func (r *run) gone() bool {
	_, err := r.record()
	return errors.Is(err, ports.ErrNotFound)
}

// answer does the step that the front end asked for.
func (r *run) answer(asked *Asked) (lifecycle.Next, error) {
	r.steps++
	r.passing.Store(false)
	began := r.clock.Monotonic()
	next, err := r.faults.guard(func() (lifecycle.Next, error) {
		return r.engine.Step(context.Background(), r.test, asked.Seen)
	})
	if errors.Is(err, errCrashed) {
		return lifecycle.Next{}, r.crashed()
	}
	asked.Answer(r.clock.Monotonic()-began, next, err)
	if err != nil && r.faults.injected(err) {
		err = nil
	}
	return next, err
}

// happening is when the next thing happens that is not a step.
func (r *run) happening() time.Duration {
	now, elapsed := r.clock.Now(), r.clock.Monotonic()
	until := r.end
	if event, ok := r.world.NextEvent(); ok {
		until = min(until, elapsed+event.Sub(now))
	}
	if timer, ok := r.clock.NextTimer(); ok {
		until = min(until, elapsed+timer.Sub(now))
	}
	if len(r.todo) > 0 {
		until = min(until, r.todo[0].at)
	}
	return max(elapsed, until)
}
