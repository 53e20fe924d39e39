package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/assay-dev/assay/ports"
)

// errLeft tells that a second signal came.
var errLeft = errors.New("a second signal ended the run: what was under way goes on in Coder")

// sameSignal is how long after the first signal the same one counts as that: GNU timeout
// and some shells signal a process and then the group that it is in.
const sameSignal = 500 * time.Millisecond

// patienceWithSignals tells the first signal of a run from the second.
type patienceWithSignals struct {
	first os.Signal
	at    time.Duration
}

// take notes a signal and reports whether it is the first, or a second one. One that
// counts as the first once more is neither.
func (p *patienceWithSignals) take(clock ports.Clock, signal os.Signal) (first, second bool) {
	now := clock.Monotonic()
	if p.first == nil {
		p.first, p.at = signal, now
		return true, false
	}
	return false, signal != p.first || now-p.at >= sameSignal
}

// untilSignal calls f. The first signal ends its context, and f has to end soon; a
// second one leaves it behind. The signal is the first one, nil for none.
func untilSignal[T any](ctx context.Context, env Env, f func(context.Context) (T, error)) (T, os.Signal, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f(ctx)
		done <- result{value, err}
	}()
	var signals patienceWithSignals
	for {
		select {
		case r := <-done:
			return r.value, signals.first, r.err
		case signal := <-env.Signals:
			first, second := signals.take(env.Clock, signal)
			if second {
				var zero T
				return zero, signals.first, errLeft
			}
			if first {
				fmt.Fprintln(env.Stderr, "stopping; a second signal leaves at once")
				cancel()
			}
		}
	}
}

// interruptible calls f, in which nothing is stored yet, and has a signal end it.
func interruptible[T any](ctx context.Context, env Env, f func(context.Context) (T, error)) (T, error) {
	value, signal, err := untilSignal(ctx, env, f)
	if signal != nil {
		var zero T
		return zero, &exitError{interruptedCode(signal), errors.New("interrupted before anything was started")}
	}
	return value, err
}

func interruptedCode(signal os.Signal) int {
	if signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}
