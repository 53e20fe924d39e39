package driver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
)

// waited is what a Wait in a goroutine of its own returned.
type waited struct {
	result driver.Result
	err    error
}

func (f *fixture) waitInBackground(t *testing.T, id uuid.UUID) chan waited {
	got := make(chan waited, 1)
	go func() {
		result, err := f.Wait(t.Context(), id)
		got <- waited{result, err}
	}()
	synctest.Wait()
	return got
}

func TestWaitForDone(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		done := false
		id := f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			if done {
				f.records.change(id, func(r *core.Record) { r.Status.Phase, r.Held = core.PhaseSucceeded, false })
			}
			return lifecycle.Next{Done: done, After: time.Second}, nil
		})
		f.settle()
		one, other := f.waitInBackground(t, id), f.waitInBackground(t, id)
		f.advance(time.Second)
		if len(one)+len(other) != 0 {
			t.Fatal("Wait returned before the test was done")
		}
		done = true
		f.advance(time.Second)
		for _, c := range []chan waited{one, other, f.waitInBackground(t, id)} {
			got := <-c
			if got.err != nil || !got.result.Done || got.result.Gone || got.result.Record.Status.Phase != core.PhaseSucceeded {
				t.Errorf("got %+v, error %v; want done with the record, whenever it is asked", got.result, got.err)
			}
		}
	})
}

func TestWaitForARecordThatDisappears(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		gone := false
		id := f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			if gone {
				f.records.delete(id)
			}
			return lifecycle.Next{Done: gone, After: time.Second}, nil
		})
		f.settle()
		waiting := f.waitInBackground(t, id)
		gone = true
		f.advance(time.Second)
		if got := <-waiting; got.err != nil || !got.result.Done || !got.result.Gone || got.result.Record.ID != id {
			t.Errorf("got %+v, error %v; want done, gone, and the record as it was", got.result, got.err)
		}
		if got := <-f.waitInBackground(t, id); got.err != nil || !got.result.Gone {
			t.Errorf("got %+v, error %v; want gone", got.result, got.err)
		}
	})
}

func TestRecordThatDisappearsDuringAStepThatDoesNotKnow(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		steps := 0
		f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			if steps++; steps == 1 {
				f.records.delete(id)
				return lifecycle.Next{After: time.Hour}, nil
			}
			return lifecycle.Next{Done: true}, nil
		})
		wantSteps(t, f.settle(), 2, "the next step is at once, and says that it is done")
	})
}

func TestWaitForRest(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		reason := core.ReasonCleanupPending
		id := f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			f.records.change(id, func(r *core.Record) {
				r.Status.Phase = core.PhaseFailed
				r.Status.SetCondition(time.Unix(0, 0), core.Condition{
					Type: core.ConditionWorkspaceDeleted, Status: core.ConditionFalse, Reason: reason,
				})
			})
			return lifecycle.Next{After: time.Second}, nil
		})
		f.settle()
		waiting := f.waitInBackground(t, id)
		f.advance(time.Second)
		if len(waiting) != 0 {
			t.Fatal("Wait returned while the workspace is being cleaned up")
		}
		reason = core.ReasonRetained
		f.advance(time.Second)
		for _, c := range []chan waited{waiting, f.waitInBackground(t, id)} {
			if got := <-c; got.err != nil || !got.result.AtRest || got.result.Done {
				t.Errorf("got %+v, error %v; want at rest", got.result, got.err)
			}
		}
		reason = core.ReasonDeleting
		wantSteps(t, f.advance(time.Second), 1, "a test at rest is still driven")
		if len(f.waitInBackground(t, id)) != 0 {
			t.Error("Wait returned although the test moves again")
		}
	})
}

func TestWaitErrors(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		stranger := f.records.create()
		if _, err := f.Wait(t.Context(), stranger); !errors.Is(err, driver.ErrNotDriven) {
			t.Errorf("error is %v, want %v", err, driver.ErrNotDriven)
		}
		id := f.add(wait(time.Hour))
		f.settle()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Wait(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want the context's", err)
		}
	})
}
