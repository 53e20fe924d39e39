package operator

import (
	"sync"
	"time"
)

// turnPause is after how long a test asks again whose control plane has all its turns
// taken.
const turnPause = 250 * time.Millisecond

// turns bounds how many workers one control plane can keep busy: a Coder that answers
// slowly must not hold up the tests of another.
type turns struct {
	most int
	mu   sync.Mutex
	busy map[string]int
}

// newTurns gives each control plane all workers but one, and one at least.
func newTurns(workers int) *turns {
	return &turns{most: max(1, workers-1), busy: map[string]int{}}
}

// take takes a turn, to be ended by done; false when there is none.
func (t *turns) take(plane string) (done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[plane] >= t.most {
		return nil, false
	}
	t.busy[plane]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.busy[plane]--; t.busy[plane] == 0 {
			delete(t.busy, plane)
		}
	}, true
}

// any reports whether a turn of the control plane is taken.
func (t *turns) any(plane string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy[plane] > 0
}
