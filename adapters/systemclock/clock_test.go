package systemclock_test

import (
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestClock(t *testing.T) {
	porttest.Clock(t, func(*testing.T) porttest.ClockFixture {
		return porttest.ClockFixture{Clock: systemclock.New(), Pass: time.Sleep}
	})
}

func TestNowIsUTCWithoutMonotonicReading(t *testing.T) {
	now := systemclock.New().Now()
	if now.Location() != time.UTC {
		t.Errorf("location is %v, want UTC", now.Location())
	}
	if now != now.Round(0) {
		t.Errorf("%v carries a monotonic reading", now)
	}
}
