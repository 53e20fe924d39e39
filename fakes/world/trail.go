package world

import (
	"maps"
	"time"

	"github.com/google/uuid"
)

// Change is one request that would change something in the deployment, refused ones
// included.
type Change struct {
	// At is the deployment's wall clock.
	At time.Time
	// Actor is the user whose token sent it.
	Actor uuid.UUID
	// ByPeople tells that it came through People and not through a front end.
	ByPeople bool
	// Op is "create", "cancel", "start", "stop" or "delete" for workspaces, and a few
	// words such as "rename workspace" for the rest.
	Op string
	// Workspace, Build and Version are what it was about, as far as they are known.
	Workspace uuid.UUID
	Build     uuid.UUID
	Version   uuid.UUID
	Owner     uuid.UUID
	// Name is the name asked for, for "create" and the renames.
	Name string
	// Refused is why nothing changed; nil for a request that took effect.
	Refused *Error
}

// Requests is how often each operation was asked for, by its name, such as "read
// workspace" or "create". What People did is not among them.
func (w *World) Requests() map[string]int {
	w.lock()
	defer w.unlock()
	return maps.Clone(w.requests)
}

// Changes lists every changing request so far, in their order.
func (w *World) Changes() []Change {
	w.lock()
	defer w.unlock()
	return append([]Change(nil), w.changes...)
}

// ChangesSince lists the changing requests after the first n.
func (w *World) ChangesSince(n int) []Change {
	changes := w.Changes()
	return changes[min(n, len(changes)):]
}

func (w *World) count(op string) { w.requests[op]++ }

// record notes a change with how it ended and counts it.
func (w *World) record(change Change, refused *Error) {
	change.At, change.Refused = w.stamp(), refused
	w.changes = append(w.changes, change)
	if !change.ByPeople {
		w.count(change.Op)
	}
}
