package clock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports/porttest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTimersRunInTheOrderOfTheirTimes(t *testing.T) {
	c := clock.New(start)
	var trail []string
	note := func(name string) func() {
		return func() { trail = append(trail, name+" "+c.Monotonic().String()) }
	}
	c.AfterFunc(2*time.Second, note("second"))
	c.AfterFunc(time.Second, func() {
		note("first")()
		c.AfterFunc(500*time.Millisecond, note("planned by the first"))
	})
	c.AfterFunc(2*time.Second, note("second, made later"))
	c.AfterFunc(time.Minute, note("too late"))
	stopped := c.AfterFunc(time.Second, note("stopped"))
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer stops once")
	}

	c.Advance(3 * time.Second)

	want := []string{"first 1s", "planned by the first 1.5s", "second 2s", "second, made later 2s"}
	if diff := cmp.Diff(want, trail); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if next, ok := c.NextTimer(); !ok || !next.Equal(start.Add(time.Minute)) {
		t.Errorf("NextTimer = %v, %v", next, ok)
	}
}

func TestATimerForNowWaitsForTheNextAdvance(t *testing.T) {
	c := clock.New(start)
	calls := 0
	timer := c.AfterFunc(-time.Second, func() { calls++ })
	if calls != 0 {
		t.Fatal("ran inside AfterFunc")
	}
	c.Advance(0)
	if calls != 1 || timer.Stop() {
		t.Errorf("calls = %d; a timer that ran cannot be stopped", calls)
	}
	if _, ok := c.NextTimer(); ok {
		t.Error("no timer is left")
	}
}

func TestJumpMovesTheWallOnly(t *testing.T) {
	c := clock.New(start)
	calls := 0
	c.AfterFunc(time.Minute, func() { calls++ })
	c.Jump(time.Hour)
	c.Advance(59 * time.Second)
	if calls != 0 || c.Monotonic() != 59*time.Second {
		t.Errorf("calls = %d, monotonic = %v: a jump is no time passed", calls, c.Monotonic())
	}
	next, _ := c.NextTimer()
	if want := start.Add(time.Hour + time.Minute); !next.Equal(want) {
		t.Errorf("NextTimer = %v, want %v: it speaks of the wall clock of now", next, want)
	}
	c.AdvanceTo(next)
	if calls != 1 || !c.Now().Equal(next) {
		t.Errorf("calls = %d at %v", calls, c.Now())
	}
	c.AdvanceTo(start)
	if !c.Now().Equal(next) {
		t.Error("AdvanceTo never turns time back")
	}
}

func TestACallMayAdvance(t *testing.T) {
	c := clock.New(start)
	var trail []time.Duration
	note := func() { trail = append(trail, c.Monotonic()) }
	c.AfterFunc(time.Second, func() {
		c.Advance(30 * time.Second) // a request that hangs until its timeout
		note()
	})
	c.AfterFunc(10*time.Second, note)
	c.Advance(5 * time.Second)
	want := []time.Duration{10 * time.Second, 31 * time.Second}
	if diff := cmp.Diff(want, trail); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if c.Monotonic() != 31*time.Second {
		t.Errorf("monotonic = %v: the outer Advance must not turn time back", c.Monotonic())
	}
}

func TestContract(t *testing.T) {
	porttest.Clock(t, func(*testing.T) porttest.ClockFixture {
		c := clock.New(start)
		return porttest.ClockFixture{Clock: c, Pass: c.Advance}
	})
}
