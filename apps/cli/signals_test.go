package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/ports"
)

// steppingClock lets so much time pass between two looks at it.
type steppingClock struct {
	ports.Clock
	step, now time.Duration
}

func (c *steppingClock) Monotonic() time.Duration {
	c.now += c.step
	return c.now
}

func TestUntilSignal(t *testing.T) {
	for _, row := range []struct {
		why     string
		signals []os.Signal
		apart   time.Duration
		// obeys: f ends when its context does.
		obeys  bool
		signal os.Signal
		err    error
	}{
		{"one signal ends what obeys", []os.Signal{syscall.SIGTERM}, 0, true, syscall.SIGTERM, context.Canceled},
		{"a second one leaves what does not", []os.Signal{os.Interrupt, os.Interrupt}, 500 * time.Millisecond, false, os.Interrupt, errLeft},
		{"another one is no repetition", []os.Signal{os.Interrupt, syscall.SIGTERM}, 0, false, os.Interrupt, errLeft},
		{"one that comes twice is one", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, 499 * time.Millisecond, true, syscall.SIGTERM, context.Canceled},
	} {
		signals := make(chan os.Signal, 2)
		for _, signal := range row.signals {
			signals <- signal
		}
		release := make(chan struct{})
		env := Env{Signals: signals, Stderr: new(bytes.Buffer), Clock: &steppingClock{step: row.apart}}
		_, signal, err := untilSignal(t.Context(), env, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			if !row.obeys {
				<-release
			}
			return 0, ctx.Err()
		})
		close(release)
		if signal != row.signal || !errors.Is(err, row.err) {
			t.Errorf("%s: signal %v, error %v", row.why, signal, err)
		}
	}
	value, signal, err := untilSignal(t.Context(), Env{}, func(context.Context) (int, error) { return 7, nil })
	if value != 7 || signal != nil || err != nil {
		t.Errorf("without a signal: %d, %v, %v", value, signal, err)
	}
}
