package porttest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/ports"
)

// ClockFixture is a clock with the way to let its time pass.
type ClockFixture struct {
	Clock ports.Clock
	// Pass returns once d has passed by the clock: it sleeps for a real clock and
	// advances a virtual one. A virtual clock may hold calls that are due until
	// then, so the rows let 0 pass for those.
	Pass func(d time.Duration)
}

// Clock shows that a clock keeps the contract of ports.Clock. It lets some tens of
// milliseconds pass.
func Clock(t *testing.T, open func(t *testing.T) ClockFixture) {
	t.Helper()
	for _, row := range clockRows {
		t.Run(row.name, func(t *testing.T) {
			t.Logf("contract: %s", row.contract)
			row.run(t, open(t))
		})
	}
}

var clockRows = []struct {
	name     string
	contract string
	run      func(t *testing.T, f ClockFixture)
}{
	{"now advances", "Now is the wall clock", func(t *testing.T, f ClockFixture) {
		before := f.Clock.Now()
		f.Pass(2 * time.Millisecond)
		if after := f.Clock.Now(); before.IsZero() || !after.After(before) {
			t.Errorf("now was %v, is %v after 2 ms", before, after)
		}
	}},
	{"monotonic advances", "Monotonic never goes back and counts the time that passes", func(t *testing.T, f ClockFixture) {
		last := f.Clock.Monotonic()
		for range 1000 {
			now := f.Clock.Monotonic()
			if now < last {
				t.Fatalf("monotonic went back from %v to %v", last, now)
			}
			last = now
		}
		f.Pass(2 * time.Millisecond)
		if now := f.Clock.Monotonic(); now < last+2*time.Millisecond {
			t.Errorf("monotonic was %v, is %v after 2 ms", last, now)
		}
	}},
	{"timers that are due call at once", "AfterFunc calls f at once for d <= 0", func(t *testing.T, f ClockFixture) {
		for _, d := range []time.Duration{0, -time.Hour} {
			called := make(chan struct{})
			f.Clock.AfterFunc(d, func() { close(called) })
			f.Pass(0)
			await(t, called, "the call of a timer that is due")
		}
	}},
	{"a goroutine of its own", "AfterFunc calls f in a goroutine of its own: the caller may hold what f waits for", func(t *testing.T, f ClockFixture) {
		release, called := make(chan struct{}), make(chan struct{})
		f.Clock.AfterFunc(0, func() { <-release; close(called) })
		close(release)
		f.Pass(0)
		await(t, called, "the call")
	}},
	{"timers wait", "AfterFunc calls f once d has passed by the monotonic clock, not before", func(t *testing.T, f ClockFixture) {
		const d = 5 * time.Millisecond
		start := f.Clock.Monotonic()
		at := make(chan time.Duration, 1)
		f.Clock.AfterFunc(d, func() { at <- f.Clock.Monotonic() })
		f.Pass(d)
		select {
		case got := <-at:
			if got < start+d {
				t.Errorf("called after %v, want at least %v", got-start, d)
			}
		case <-time.After(patience):
			t.Fatal("the timer did not call")
		}
	}},
	{"timers call once", "AfterFunc calls f once", func(t *testing.T, f ClockFixture) {
		var calls atomic.Int64
		called := make(chan struct{}, 10)
		f.Clock.AfterFunc(time.Millisecond, func() { calls.Add(1); called <- struct{}{} })
		f.Pass(time.Millisecond)
		await(t, called, "the call")
		f.Pass(5 * time.Millisecond)
		if n := calls.Load(); n != 1 {
			t.Errorf("called %d times", n)
		}
	}},
	{"timers can be made in a call", "a timer's f may make the next one", func(t *testing.T, f ClockFixture) {
		second := make(chan struct{})
		first := make(chan struct{})
		f.Clock.AfterFunc(time.Millisecond, func() {
			f.Clock.AfterFunc(time.Millisecond, func() { close(second) })
			close(first)
		})
		f.Pass(time.Millisecond)
		await(t, first, "the first call")
		f.Pass(time.Millisecond)
		await(t, second, "the second call")
	}},
	{"stop prevents", "Stop prevents the call and reports whether it did", func(t *testing.T, f ClockFixture) {
		var calls atomic.Int64
		timer := f.Clock.AfterFunc(3*time.Millisecond, func() { calls.Add(1) })
		if !timer.Stop() {
			t.Error("the first Stop reports that it prevented nothing")
		}
		if timer.Stop() {
			t.Error("the second Stop reports that it prevented the call again")
		}
		f.Pass(6 * time.Millisecond)
		if calls.Load() != 0 {
			t.Error("a stopped timer called")
		}
	}},
	{"stop after the call", "Stop reports false once the call began", func(t *testing.T, f ClockFixture) {
		called := make(chan struct{})
		timer := f.Clock.AfterFunc(time.Millisecond, func() { close(called) })
		f.Pass(time.Millisecond)
		await(t, called, "the call")
		if timer.Stop() {
			t.Error("Stop reports that it prevented a call that was made")
		}
	}},
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}
