// Package clock is a virtual ports.Clock: time passes only when a test says so, and
// every timer runs on the goroutine that lets it pass.
package clock

import (
	"container/heap"
	"sync"
	"time"

	"github.com/assay-dev/assay/ports"
)

// Clock is a virtual clock. It is safe for concurrent use, and deterministic as long
// as one goroutine at a time lets time pass.
type Clock struct {
	mu sync.Mutex
	// wall is what the wall clock said when the monotonic clock said 0; a jump
	// changes it.
	wall      time.Time
	monotonic time.Duration
	timers    timers
	// sequence orders timers that are due at the same moment by their making.
	sequence uint64
}

var _ ports.Clock = (*Clock)(nil)

// New makes a clock that says start.
func New(start time.Time) *Clock { return &Clock{wall: start} }

// Now is the virtual wall clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall.Add(c.monotonic)
}

// Monotonic is the time that passed since New. Jumps do not count.
func (c *Clock) Monotonic() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.monotonic
}

// AfterFunc plans a call of f. It runs during the Advance that reaches it, on the
// goroutine that calls Advance; with d <= 0 during the next Advance, even one by 0.
func (c *Clock) AfterFunc(d time.Duration, f func()) ports.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, due: c.monotonic + max(d, 0), sequence: c.sequence, call: f}
	c.sequence++
	heap.Push(&c.timers, t)
	return t
}

// Advance lets d pass and runs every call that comes due, each at its own time and
// in the order of their times, those planned meanwhile included. A call may itself
// call Advance; the outer one then never turns time back. A negative d counts as 0.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	target := c.monotonic + max(d, 0)
	for len(c.timers) > 0 && c.timers[0].due <= target {
		next := heap.Pop(&c.timers).(*timer)
		c.monotonic = max(c.monotonic, next.due)
		c.mu.Unlock()
		next.call()
		c.mu.Lock()
	}
	c.monotonic = max(c.monotonic, target)
	c.mu.Unlock()
}

// AdvanceTo lets time pass until the wall clock says t. It only runs what is due now
// when the wall clock is already there or past it.
func (c *Clock) AdvanceTo(t time.Time) { c.Advance(t.Sub(c.Now())) }

// Jump sets the wall clock forward, or back for a negative d. No time passes: the
// monotonic clock and the timers do not notice.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

// NextTimer is when, by the wall clock of now, the next call is due, and whether there
// is one at all.
func (c *Clock) NextTimer() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.wall.Add(c.timers[0].due), true
}

type timer struct {
	clock    *Clock
	due      time.Duration
	sequence uint64
	call     func()
	// index is the place in the heap, -1 once the timer left it.
	index int
}

// Stop prevents the call, unless it has begun.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.index)
	return true
}

// timers is a heap: the one due first is first.
type timers []*timer

func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].sequence < h[j].sequence
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timers) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}
