package store

import (
	"sync"

	"github.com/google/uuid"
)

// queue holds IDs until somebody takes them, each at most once.
type queue struct {
	mu  sync.Mutex
	ids []uuid.UUID
	// filled has a token while there is something to take.
	filled chan struct{}
}

func newQueue() *queue { return &queue{filled: make(chan struct{}, 1)} }

func (q *queue) put(id uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, waiting := range q.ids {
		if waiting == id {
			return
		}
	}
	q.ids = append(q.ids, id)
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

func (q *queue) take() []uuid.UUID {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := q.ids
	q.ids = nil
	return ids
}
