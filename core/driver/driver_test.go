package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

func TestStepsAtOnceAndThenWhenTheStepSays(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		f.add(wait(5 * time.Second))
		wantSteps(t, f.settle(), 1, "a test that is added steps at once")
		wantSteps(t, f.advance(5*time.Second-1), 0, "not before the time that the step asked for")
		wantSteps(t, f.advance(1), 1, "then it steps")
		wantSteps(t, f.advance(20*time.Second), 1, "the virtual clock passes one timer; the next is planned from then on")
	})
}

func TestAfterZeroStepsAgain(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		steps := 0
		f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			steps++
			return lifecycle.Next{Done: steps == 5}, nil
		})
		wantSteps(t, f.settle(), 5, "a step that says at once is followed at once, until one says done")
		wantSteps(t, f.advance(time.Hour), 0, "a done test never steps again")
	})
}

func TestStreamWakesWithWhatItSaw(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		workspace := uuid.New()
		hold := make(chan struct{})
		f.add(func(_ context.Context, _ uuid.UUID, seen *core.Workspace) (lifecycle.Next, error) {
			if seen != nil && seen.Name == "slow" {
				<-hold
			}
			return lifecycle.Next{After: time.Hour, Watch: workspace}, nil
		})
		f.settle()
		stream := f.engine.stream(workspace)
		if stream == nil || f.engine.refs[0] != "main" {
			t.Fatalf("no stream of the record's control plane was opened: %v", f.engine.refs)
		}
		stream <- core.Workspace{Name: "first"}
		calls := f.settle()
		wantSteps(t, calls, 1, "an event wakes")
		if calls[0].seen == nil || calls[0].seen.Name != "first" {
			t.Errorf("the step saw %v, want the event", calls[0].seen)
		}
		for _, name := range []string{"slow", "passed over", "newest"} {
			stream <- core.Workspace{Name: name}
			synctest.Wait()
		}
		close(hold)
		calls = f.settle()
		wantSteps(t, calls, 2, "of the events that come during a step only the newest counts")
		if calls[1].seen == nil || calls[1].seen.Name != "newest" {
			t.Errorf("the step saw %v, want the newest event", calls[1].seen)
		}
		if f.engine.opened != 1 {
			t.Errorf("%d streams were opened, want the one that stays open", f.engine.opened)
		}
	})
}

func TestStreamFollowsWhatTheStepSays(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		first, second := uuid.New(), uuid.New()
		watches := []uuid.UUID{first, second, uuid.Nil, first}
		id := f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			if len(watches) == 0 {
				return lifecycle.Next{Done: true}, nil
			}
			next := lifecycle.Next{After: time.Minute, Watch: watches[0]}
			watches = watches[1:]
			return next, nil
		})
		for i, want := range []uuid.UUID{first, second, uuid.Nil, first, uuid.Nil} {
			f.settle()
			for _, workspace := range []uuid.UUID{first, second} {
				if open := f.engine.stream(workspace) != nil; open != (workspace == want) {
					t.Errorf("after step %d the stream of workspace %s is open: %v", i+1, workspace, open)
				}
			}
			f.clock.Advance(time.Minute)
		}
		if result, err := f.Wait(t.Context(), id); err != nil || !result.Done && !result.AtRest {
			// The record says that it is held and running: the driver let it go by the
			// step's word alone, so the record cannot confirm it.
			if !errors.Is(err, driver.ErrNotDriven) {
				t.Errorf("wait: %v", err)
			}
		}
	})
}

func TestBrokenStreamIsOpenedAgain(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		workspace := uuid.New()
		f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			return lifecycle.Next{After: time.Hour, Watch: workspace}, nil
		})
		f.settle()
		for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			close(f.engine.stream(workspace))
			f.settle()
			f.advance(pause - 1)
			if f.engine.opened != i+1 {
				t.Fatalf("%d streams before the pause of %v is over, want %d", f.engine.opened, pause, i+1)
			}
			f.advance(1)
			if f.engine.opened != i+2 {
				t.Fatalf("%d streams after the pause of %v, want %d", f.engine.opened, pause, i+2)
			}
		}
		f.engine.stream(workspace) <- core.Workspace{}
		f.settle()
		close(f.engine.stream(workspace))
		f.settle()
		f.advance(time.Second)
		if f.engine.opened != 5 {
			t.Errorf("%d streams, want 5: an event makes the pause short again", f.engine.opened)
		}
	})
}

func TestATestThatIsToldLooksLessOften(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		workspace := uuid.New()
		f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			return lifecycle.Next{After: 5 * time.Second, Heard: 30 * time.Second, Watch: workspace}, nil
		})
		wantSteps(t, f.settle(), 1, "the first step")
		wantSteps(t, f.advance(5*time.Second), 1, "a stream that brought nothing yet is not relied on")
		f.engine.stream(workspace) <- core.Workspace{}
		wantSteps(t, f.settle(), 1, "an event wakes")
		wantSteps(t, f.advance(30*time.Second-1), 0, "the stream works: the timer is a safety net")
		wantSteps(t, f.advance(1), 1, "and still there")
		close(f.engine.stream(workspace))
		wantSteps(t, f.settle(), 1, "a stream that breaks off wakes, since nothing is told any more")
		wantSteps(t, f.advance(5*time.Second), 1, "and the timer is the short one again")
	})
}

func TestRecordChangedByOthersWakes(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		id := f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			f.records.change(id, func(r *core.Record) { r.Status.DeleteAttempts++ })
			return lifecycle.Next{After: time.Hour}, nil
		})
		wantSteps(t, f.settle(), 1, "what a step itself stores is no reason for another")
		f.records.change(id, func(r *core.Record) { r.Status.DeleteAttempts++ })
		wantSteps(t, f.settle(), 1, "what others store is")
		wantSteps(t, f.advance(time.Hour-1), 0, "the timer is planned by the newest step")
		wantSteps(t, f.advance(1), 1, "and still there")
		f.records.change(uuid.New(), func(*core.Record) {})
		wantSteps(t, f.settle(), 0, "the records of tests that were not added are not driven")
	})
}

func TestWishDuringAStepIsNotMissed(t *testing.T) {
	for _, row := range []struct {
		name, why string
		wish      func(r *core.Record)
	}{
		{
			"deletion", "a step that read the record before the request knows nothing of it",
			func(r *core.Record) { r.DeletionRequestedAt = time.Unix(1, 0) },
		},
		{
			"policy", "retain can be asked for at any time",
			func(r *core.Record) { r.DeletionPolicy = "retain" },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
				steps := 0
				f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
					if steps++; steps == 1 {
						f.records.change(id, row.wish)
					}
					return lifecycle.Next{After: time.Hour}, nil
				})
				wantSteps(t, f.settle(), 2, row.why)
			})
		})
	}
}

func TestFailedStepsBackOff(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		fail := true
		f.add(func(_ context.Context, id uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			f.records.change(id, func(r *core.Record) { r.Status.DeleteAttempts++ })
			if fail {
				return lifecycle.Next{}, errors.New("the store is full")
			}
			return lifecycle.Next{After: time.Hour}, nil
		})
		wantSteps(t, f.settle(), 1, "the first step fails")
		for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			pause := time.Duration(seconds) * time.Second
			wantSteps(t, f.advance(pause-1), 0, fmt.Sprintf("pause of %v", pause))
			wantSteps(t, f.advance(1), 1, fmt.Sprintf("end of the pause of %v", pause))
		}
		fail = false
		wantSteps(t, f.advance(time.Minute), 1, "the step that succeeds")
		fail = true
		wantSteps(t, f.advance(time.Hour), 1, "it fails anew")
		wantSteps(t, f.advance(time.Second), 1, "and the pause is short again")
	})
}

func TestATestThatAnotherProcessRunsIsLeft(t *testing.T) {
	var left []uuid.UUID
	inBubble(t, driver.Config{Left: func(id uuid.UUID) { left = append(left, id) }}, func(t *testing.T, f *fixture) {
		id := f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			return lifecycle.Next{}, fmt.Errorf("save test: %w", ports.ErrLeased)
		})
		waiting := make(chan driver.Result, 1)
		go func() {
			result, err := f.Wait(t.Context(), id)
			if err != nil && !errors.Is(err, driver.ErrNotDriven) {
				t.Errorf("wait: %v", err)
			}
			waiting <- result
		}()
		wantSteps(t, f.settle(), 1, "the step that is refused")
		wantSteps(t, f.advance(time.Hour), 0, "nothing that it would store is taken any more")
		<-waiting
		if len(left) != 1 || left[0] != id {
			t.Errorf("%v left, want the test", left)
		}
	})
}

func TestOnlyTestsThatEndLeave(t *testing.T) {
	var left []uuid.UUID
	inBubble(t, driver.Config{Left: func(id uuid.UUID) { left = append(left, id) }}, func(t *testing.T, f *fixture) {
		f.add(wait(time.Hour))
		done := f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			return lifecycle.Next{Done: true}, nil
		})
		f.settle()
		if len(left) != 1 || left[0] != done {
			t.Errorf("%v left, want the test that is done", left)
		}
	})
	if len(left) != 1 {
		t.Errorf("%d left, want none of those that the end of the driver leaves behind", len(left))
	}
}

func TestBackoffIsBrokenByPeopleNotByStreams(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		workspace := uuid.New()
		fail := false
		id := f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
			if fail {
				return lifecycle.Next{}, errors.New("the store is full")
			}
			return lifecycle.Next{After: time.Hour, Watch: workspace}, nil
		})
		f.settle()
		fail = true
		stream := f.engine.stream(workspace)
		stream <- core.Workspace{}
		wantSteps(t, f.settle(), 1, "the event's step fails")
		for range 10 {
			stream <- core.Workspace{Name: "newest"}
		}
		wantSteps(t, f.settle(), 0, "a lively stream does not break the backoff")
		f.records.change(id, func(r *core.Record) { r.DeletionRequestedAt = time.Unix(1, 0) })
		calls := f.settle()
		wantSteps(t, calls, 1, "a wish does")
		if calls[0].seen == nil || calls[0].seen.Name != "newest" {
			t.Errorf("the step saw %v, want the newest event", calls[0].seen)
		}
		f.Add(id)
		wantSteps(t, f.settle(), 1, "adding it again does")
		wantSteps(t, f.advance(4*time.Second-1), 0, "the failures count on")
		wantSteps(t, f.advance(1), 1, "the pause ends")
	})
}

func TestStepsAreBoundedAndNeverTwiceForOneTest(t *testing.T) {
	const workers, tests = 3, 50
	inBubble(t, driver.Config{Workers: workers}, func(t *testing.T, f *fixture) {
		proceed := make(chan struct{})
		var ids []uuid.UUID
		for range tests {
			ids = append(ids, f.add(func(context.Context, uuid.UUID, *core.Workspace) (lifecycle.Next, error) {
				<-proceed
				return lifecycle.Next{After: time.Second}, nil
			}))
		}
		wantSteps(t, f.settle(), workers, "only so many steps run at once")
		for _, id := range ids {
			f.Add(id)
			f.records.change(id, func(r *core.Record) { r.Status.DeleteAttempts++ })
		}
		wantSteps(t, f.settle(), 0, "waking changes nothing about it")
		close(proceed)
		f.settle()
		for range 10 {
			f.advance(time.Second)
		}
		if f.engine.twice {
			t.Error("a test took two steps at once")
		}
		if f.engine.most != workers {
			t.Errorf("%d steps ran at once, want %d", f.engine.most, workers)
		}
	})
}

func TestWaitingTestsCostNoGoroutine(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		before := runtime.NumGoroutine()
		for range 500 {
			f.add(wait(time.Hour))
		}
		wantSteps(t, f.settle(), 500, "each steps once")
		if after := runtime.NumGoroutine(); after > before+50 {
			t.Errorf("%d goroutines with 500 waiting tests, %d before", after, before)
		}
	})
}

func TestStopWaitsForRunningSteps(t *testing.T) {
	inBubble(t, driver.Config{Workers: 1}, func(t *testing.T, f *fixture) {
		proceed := make(chan struct{})
		workspace := uuid.New()
		var canceled error
		slow := f.add(func(ctx context.Context, _ uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			<-proceed
			canceled = ctx.Err()
			return lifecycle.Next{Watch: workspace}, nil
		})
		f.settle()
		f.add(wait(0))
		stopped := make(chan struct{})
		go func() { f.Stop(); close(stopped) }()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Stop returned while a step ran")
		default:
		}
		close(proceed)
		<-stopped
		if canceled != nil {
			t.Errorf("the running step was canceled: %v", canceled)
		}
		if err := <-f.ran; err != nil {
			t.Errorf("run: %v", err)
		}
		f.engine.takeCalls()
		f.Add(slow)
		f.records.change(slow, func(*core.Record) {})
		wantSteps(t, f.advance(time.Hour), 0, "no step begins after Stop")
		if f.engine.opened != 0 {
			t.Error("a stream was opened after Stop")
		}
	})
}

func TestCanceledRunCancelsSteps(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		f.add(func(ctx context.Context, _ uuid.UUID, _ *core.Workspace) (lifecycle.Next, error) {
			<-ctx.Done()
			return lifecycle.Next{}, ctx.Err()
		})
		f.settle()
		f.cancel()
		if err := <-f.ran; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v, want the context's error", err)
		}
		if err := f.Run(t.Context()); err == nil {
			t.Error("a driver ran twice")
		}
	})
}

func TestListeningGoesOnAfterAnError(t *testing.T) {
	inBubble(t, driver.Config{}, func(t *testing.T, f *fixture) {
		id := f.add(wait(time.Hour))
		wantSteps(t, f.settle(), 1, "the first step")
		f.records.mu.Lock()
		breakUp := f.records.breakUp
		f.records.mu.Unlock()
		close(breakUp)
		synctest.Wait()
		f.records.change(id, func(r *core.Record) { r.DeletionRequestedAt = time.Unix(1, 0) })
		wantSteps(t, f.settle(), 0, "nobody listens")
		wantSteps(t, f.advance(time.Second), 1, "what was not heard is looked up")
		f.records.change(id, func(r *core.Record) { r.DeletionPolicy = "retain" })
		wantSteps(t, f.settle(), 1, "and then it listens again")
	})
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	if _, err := driver.New(driver.Config{}); err == nil {
		t.Error("a driver without an engine was made")
	}
}
