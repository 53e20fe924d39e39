package access

import (
	"strconv"
	"testing"
	"time"

	"github.com/assay-dev/assay/fakes/clock"
)

func TestLimits(t *testing.T) {
	virtual := clock.New(time.Unix(0, 0))
	l := newLimits(virtual, 2, 3)
	for n := range 3 {
		if wait := l.take("a"); wait != 0 {
			t.Errorf("request %d waits %s", n, wait)
		}
	}
	if took, looked := l.take("a"), l.look("a"); took != 500*time.Millisecond || looked != took {
		t.Errorf("the fourth one waits %s, and by a look %s", took, looked)
	}
	if wait := l.take("b"); wait != 0 {
		t.Errorf("somebody else waits %s", wait)
	}
	virtual.Jump(time.Hour)
	if wait := l.look("a"); wait != 500*time.Millisecond {
		t.Errorf("after the wall clock jumped: %s", wait)
	}
	virtual.Advance(500 * time.Millisecond)
	if first, second, third := l.look("a"), l.take("a"), l.take("a"); first != 0 || second != 0 || third == 0 {
		t.Errorf("after the wait: a look says %s, then %s and %s", first, second, third)
	}
}

// TestLimitsAreBounded shows that the memory of those who ask is bounded.
func TestLimitsAreBounded(t *testing.T) {
	l := newLimits(clock.New(time.Unix(0, 0)), 1, 1)
	for n := range 3 * maxLimits {
		l.take(strconv.Itoa(n))
	}
	if len(l.by) > maxLimits {
		t.Errorf("%d are remembered, want at most %d", len(l.by), maxLimits)
	}
}
