package world

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// watcher is one subscription.
type watcher struct {
	on func()
	// once keeps cancel from running twice.
	once sync.Once
}

// Subscribe calls on after each change of the workspace, its build or its agents, under
// no lock and on the goroutine that found the change; it must not block. While a
// subscription stands, the world sets a timer of its clock for its next event, so that
// changes are found when they are due. Cancel ends it; a call can still be under way.
func (w *World) Subscribe(workspace uuid.UUID, on func()) (cancel func()) {
	w.lock()
	defer w.unlock()
	sub := &watcher{on: on}
	w.watchers[workspace] = append(w.watchers[workspace], sub)
	return func() {
		sub.once.Do(func() {
			w.lock()
			defer w.unlock()
			var rest []*watcher
			for _, other := range w.watchers[workspace] {
				if other != sub {
					rest = append(rest, other)
				}
			}
			if len(rest) == 0 {
				delete(w.watchers, workspace)
			} else {
				w.watchers[workspace] = rest
			}
		})
	}
}

// Watch is a stream of what happens to one workspace, for a user who may read it.
type Watch struct {
	world     *World
	actor     uuid.UUID
	workspace uuid.UUID
	// Close ends it.
	Close func()
}

// Watch subscribes as Subscribe does: NotFound where reading the workspace is.
func (w *World) Watch(actor, workspace uuid.UUID, on func()) (*Watch, error) {
	watch := &Watch{world: w, actor: actor, workspace: workspace, Close: w.Subscribe(workspace, on)}
	w.lock()
	w.count("watch workspace")
	w.unlock()
	if _, err := watch.Look(); err != nil {
		watch.Close()
		return nil, err
	}
	return watch, nil
}

// Look is the workspace as it is now, deleted or not. It is not counted.
func (watch *Watch) Look() (Workspace, error) {
	watch.world.lock()
	defer watch.world.unlock()
	ws, refused := watch.world.readWorkspace(watch.actor, watch.workspace, true)
	if refused != nil {
		return Workspace{}, refused
	}
	return watch.world.workspaceView(ws), nil
}

// Subscriptions is how many subscriptions to workspaces stand.
func (w *World) Subscriptions() int {
	w.lock()
	defer w.unlock()
	n := 0
	for _, subs := range w.watchers {
		n += len(subs)
	}
	return n
}

// touch notes that a workspace changed.
func (w *World) touch(ws *workspace) {
	ws.updated = w.stamp()
	w.touched = append(w.touched, ws.id)
}

func (w *World) takeCalls() []func() {
	var calls []func()
	for i, id := range w.touched {
		if slices.Contains(w.touched[:i], id) {
			continue
		}
		for _, sub := range w.watchers[id] {
			calls = append(calls, sub.on)
		}
	}
	w.touched = nil
	return calls
}

// rearm keeps the one timer on the next event while anybody watches.
func (w *World) rearm() {
	if w.alarm != nil {
		w.alarm.Stop()
		w.alarm = nil
	}
	if len(w.watchers) == 0 {
		return
	}
	if next := w.nextEvent(); next != nil {
		w.alarm = w.clock.AfterFunc(next.due-w.clock.Monotonic(), w.Settle)
	}
}
