package lifecycle

import (
	"time"

	"github.com/assay-dev/assay/core"
)

// Waits after a 429 (lifecycle section 5, "Waits").
const (
	rateLimitFirst  = 2 * time.Second
	rateLimitCap    = 2 * time.Minute
	rateLimitJitter = 0.2
)

// rateLimitDelay is how long to wait after a 429: what Coder asked for, else 2 s
// doubling with jitter; never more than the cap.
func rateLimitDelay(f *core.Failure, limit RateLimit) time.Duration {
	if f.RetryAfter > 0 {
		return min(f.RetryAfter, rateLimitCap)
	}
	delay := doubling(rateLimitFirst, rateLimitCap, limit.Count)
	return min(rateLimitCap, delay+time.Duration(float64(delay)*rateLimitJitter*limit.Jitter))
}

// slowed is a wait after a request that failed, or nil for none: after a 429 it is
// at least what Coder asked for.
func (s *step) slowed(f *core.Failure, wait time.Duration) time.Duration {
	if f == nil || f.Class != core.FailureRateLimited {
		return wait
	}
	return max(wait, rateLimitDelay(f, s.RateLimit))
}

// doubling is first for the first attempt, twice that for the second, and so on
// up to the limit.
func doubling(first, limit time.Duration, attempt int) time.Duration {
	delay := first
	for i := 1; i < attempt && delay < limit; i++ {
		delay *= 2
	}
	return min(delay, limit)
}

// waitFor turns a failed request into the wait that it means for a test without a
// verdict.
func (s *step) waitFor(f *core.Failure) *Decision { return s.waitAs(f, FailureProblem(f)) }

// waitAs waits with what a failed request means here; after a 429 for as long as Coder
// asked for.
func (s *step) waitAs(f *core.Failure, p Problem) *Decision {
	after := s.poll()
	if f.Class == core.FailureRateLimited {
		after = rateLimitDelay(f, s.RateLimit)
	}
	return s.wait(p.Reason, p.Message, after)
}

// poll is the safety net of a running test: inputs are looked at less often than
// a workspace.
func (s *step) poll() time.Duration {
	if s.next.Status.MayHaveWorkspace() {
		return s.Options.RunningPoll
	}
	return s.Options.InputsPoll
}
