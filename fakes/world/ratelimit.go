package world

import (
	"fmt"
	"math"
	"time"
)

// rateWindow is the window that Coder counts requests in.
const rateWindow = time.Minute

// Quota is what a caller may still ask of one path.
type Quota struct {
	Limit     int
	Remaining int
	// Reset is when the current window ends.
	Reset time.Time
}

// limiter counts requests by caller and path: a window of the present, and the last one
// weighted by how much of it is less than a minute ago (source).
type limiter struct {
	limit  int
	counts map[rateKey]*rateCount
}

type rateKey struct{ caller, path string }

type rateCount struct {
	window          time.Time
	present, before int
}

func newLimiter() limiter { return limiter{limit: 512, counts: map[rateKey]*rateCount{}} }

// LimitRate sets how many requests a minute a caller may send to one path: 512 until it
// is set, as in a deployment that was left alone; 0 for no limit.
func (w *World) LimitRate(perMinute int) {
	w.lock()
	defer w.unlock()
	w.limiter.limit = perMinute
}

// Limits tells whether requests are limited at all.
func (w *World) Limits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.limiter.limit != 0
}

// Admit counts a request of the caller, a user ID or an address, for a path of the API
// below its root, and refuses it with RateLimited when there were too many.
func (w *World) Admit(caller, path string) (Quota, error) {
	w.lock()
	defer w.unlock()
	limit := w.limiter.limit
	switch {
	case limit == 0:
		return Quota{}, nil
	case path == "/users/login":
		limit = min(limit, 60)
	case path == "/files":
		limit = min(limit, 12)
	}
	now := w.stamp()
	window := now.Truncate(rateWindow)
	key := rateKey{caller, path}
	count := w.limiter.counts[key]
	switch {
	case count == nil || count.window.Before(window.Add(-rateWindow)):
		count = &rateCount{window: window}
		w.limiter.counts[key] = count
	case count.window.Before(window):
		count.window, count.before, count.present = window, count.present, 0
	}
	weight := float64(rateWindow-now.Sub(window)) / float64(rateWindow)
	rate := int(math.Round(float64(count.before)*weight)) + count.present
	quota := Quota{Limit: limit, Remaining: max(limit-rate-1, 0), Reset: window.Add(rateWindow)}
	if rate+1 > limit {
		return quota, &Error{
			Kind: RateLimited, RetryAfter: rateWindow,
			Message: fmt.Sprintf("You've been rate limited for sending more than %v requests in %v.", limit, rateWindow),
		}
	}
	count.present++
	return quota, nil
}
