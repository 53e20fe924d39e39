package lifecycle

import (
	"sync"
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
	r.entry.slow.extend(r.config.Clock.Monotonic() + rateLimitDelay(f, r.in.RateLimit))
}

// slowedDown is the failure of a request that is not sent because Coder asked for fewer;
// nil when it may be sent. A step that met the 429 itself goes on: what it reads then says
// what became of its own request.
func (r *stepRun) slowedDown() *core.Failure {
	if r.entry == nil || r.rateLimited {
		return nil
	}
	left := r.entry.slow.left(r.config.Clock.Monotonic())
	if left <= 0 {
		return nil
	}
	r.held = true
	return &core.Failure{Class: core.FailureRateLimited, Op: "ask coder", Message: "Coder asked for fewer requests", RetryAfter: left}
}

// slowness keeps requests back until a monotonic time.
type slowness struct {
	mu    sync.Mutex
	until time.Duration
}

// extend keeps requests back until at, if that is later.
func (s *slowness) extend(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = max(s.until, at)
}

// left is for how long requests are kept back; 0 or less for not at all.
func (s *slowness) left(now time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until - now
}
