package access

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/assay-dev/assay/apps/http/problem"
	"github.com/assay-dev/assay/ports"
)

// limits bound how often each of many may do something.
type limits struct {
	clock ports.Clock
	rate  rate.Limit
	burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

// maxLimits bounds the memory of limits. When there are more, all begin anew: whoever has
// so many addresses is not held up by a bound for each.
const maxLimits = 10000

func newLimits(clock ports.Clock, perSecond float64, burst int) *limits {
	return &limits{clock: clock, rate: rate.Limit(perSecond), burst: burst, by: map[string]*rate.Limiter{}}
}

// take counts one, and returns how long to wait if that is too much; then it does not
// count.
func (l *limits) take(who string) time.Duration {
	limiter, now := l.of(who)
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// look returns how long to wait before one more is not too much. It counts nothing.
func (l *limits) look(who string) time.Duration {
	limiter, now := l.of(who)
	missing := 1 - limiter.TokensAt(now)
	return time.Duration(max(0, missing) / float64(l.rate) * float64(time.Second))
}

func (l *limits) of(who string) (limiter *rate.Limiter, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limiter = l.by[who]; limiter == nil {
		if len(l.by) >= maxLimits {
			clear(l.by)
		}
		limiter = rate.NewLimiter(l.rate, l.burst)
		l.by[who] = limiter
	}
	// The wall clock can jump.
	return limiter, time.Unix(0, 0).Add(l.clock.Monotonic())
}

func tooMany(w http.ResponseWriter, wait time.Duration) {
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	problem.Write(w, http.StatusTooManyRequests, "too many requests: wait as Retry-After says")
}
