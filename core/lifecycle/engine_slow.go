package lifecycle

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// A 429 is Coder's answer to one test and asks all tests of the deployment to slow down
// (lifecycle section 5, "Waits"): until the wait of the first is over none of them asks.

// noteRateLimit counts the steps of the test that met a 429, and has the other tests of the
// deployment wait as well.
func (r *stepRun) noteRateLimit(f *core.Failure) {
	if f == nil || f.Class != core.FailureRateLimited {
		return
	}
	r.mu.Lock()
	if !r.rateLimited {
		r.rateLimited = true
		r.limited[r.in.Record.ID]++
		r.in.RateLimit = RateLimit{Count: r.limited[r.in.Record.ID], Jitter: r.jitter()}
	}
	r.mu.Unlock()
	if r.entry != nil {
		r.entry.slowUntil(r.config.Clock.Monotonic() + rateLimitDelay(f, r.in.RateLimit))
	}
}

// slowedDown is the failure of a request that is not sent because Coder asked for fewer;
// nil when it may be sent. A step that met the 429 itself goes on: what it reads then says
// what became of its own request. The wait is up to a fifth longer than it need be, so that not
// all tests ask at once when it is over.
func (r *stepRun) slowedDown() *core.Failure {
	if r.entry == nil || r.rateLimited && !r.held {
		return nil
	}
	left := time.Duration(r.entry.slow.Load()) - r.config.Clock.Monotonic()
	if left <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		// The test's own backoff stays as it is.
		r.rateLimited, r.held = true, true
		r.in.RateLimit = RateLimit{Count: max(1, r.limited[r.in.Record.ID]), Jitter: r.jitter()}
	}
	spread := time.Duration(float64(left) * rateLimitJitter * (1 + r.in.RateLimit.Jitter) / 2)
	return &core.Failure{
		Class: core.FailureRateLimited, Op: "ask coder", Message: "Coder asked for fewer requests", RetryAfter: left + spread,
	}
}

// slowUntil keeps requests back until a monotonic time.
func (e *dialedEntry) slowUntil(at time.Duration) {
	for {
		standing := e.slow.Load()
		if int64(at) <= standing || e.slow.CompareAndSwap(standing, int64(at)) {
			return
		}
	}
}
