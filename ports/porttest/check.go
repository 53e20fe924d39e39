package porttest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// must takes the results of a call and gives the value to a test that the call's
// error would end: must(call())(t).
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return value
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %v", err, want)
	}
}

// countSuccesses calls f from n goroutines that start together and returns how
// many calls succeeded. An error other than the allowed one fails the test.
func countSuccesses(t *testing.T, n int, allowed error, f func(i int) error) int {
	t.Helper()
	var (
		start = make(chan struct{})
		done  sync.WaitGroup
		won   atomic.Int64
	)
	for i := range n {
		done.Go(func() {
			<-start
			switch err := f(i); {
			case err == nil:
				won.Add(1)
			case allowed == nil || !errors.Is(err, allowed):
				t.Errorf("goroutine %d: %v", i, err)
			}
		})
	}
	close(start)
	done.Wait()
	return int(won.Load())
}
