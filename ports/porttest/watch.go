package porttest

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// watch runs WatchWorkspace in a goroutine and keeps what it tells.
type watch struct {
	stop context.CancelFunc
	mu   sync.Mutex
	seen []core.Workspace
	done bool
	err  error
}

func startWatch(t *testing.T, runner ports.CodeRunner, id uuid.UUID) *watch {
	ctx, stop := context.WithCancel(t.Context())
	w := &watch{stop: stop}
	t.Cleanup(stop)
	go func() {
		err := runner.WatchWorkspace(ctx, id, func(workspace core.Workspace) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, workspace)
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done, w.err = true, err
	}()
	return w
}

// saw reports whether the stream told of a workspace for which ok holds. It fails
// the test if the stream ended.
func (w *watch) saw(t *testing.T, ok func(core.Workspace) bool) bool {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, workspace := range w.seen {
		if ok(workspace) {
			return true
		}
	}
	if w.done {
		t.Fatalf("the stream ended: %v", w.err)
	}
	return false
}

// ended waits for the stream to end and returns its error.
func (w *watch) ended(t *testing.T, s stage) error {
	t.Helper()
	s.Settle(t, "the stream to end", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.done
	})
	return w.err
}

func watchToDeleted(t *testing.T, s stage) {
	member := s.member(t)
	made := s.made(t, member.User, Passing)
	w := startWatch(t, member.Runner, made.ID)
	wait := func(what string, ok func(core.Workspace) bool) {
		s.Settle(t, "the stream to tell of "+what, func() bool { return w.saw(t, ok) })
	}
	wait("the workspace", func(got core.Workspace) bool { return got.ID == made.ID && got.Latest.ID == made.Latest.ID })
	wait("the end of the start build", func(got core.Workspace) bool { return got.Latest.Job.Status == core.JobSucceeded })
	wait("the agent being ready", func(got core.Workspace) bool {
		return len(got.Latest.Agents) == 1 && got.Latest.Agents[0].Status == core.AgentConnected &&
			got.Latest.Agents[0].Lifecycle == core.AgentReady
	})
	build, err := s.admin.Runner.DeleteWorkspace(t.Context(), made.ID)
	fine(t, "delete", err)
	wait("the delete build", func(got core.Workspace) bool { return got.Latest.ID == build.ID })
	wait("the end of the delete build", func(got core.Workspace) bool {
		return got.Deleted && got.Latest.ID == build.ID && got.Latest.Job.Status == core.JobSucceeded
	})
	w.stop()
	fine(t, "the stream that was stopped", w.ended(t, s))
}

func watchDeleted(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	s.deleted(t, made.ID)
	w := startWatch(t, s.admin.Runner, made.ID)
	// Nothing can be waited for: some time passes, and the stream must neither end
	// nor tell of a live workspace.
	calls := 0
	s.Settle(t, "some time to pass", func() bool {
		calls++
		if w.saw(t, func(got core.Workspace) bool { return !got.Deleted }) {
			t.Fatal("the stream tells of a live workspace")
		}
		return calls > 5
	})
	w.stop()
	fine(t, "the stream that was stopped", w.ended(t, s))
}

func watchNeverExisted(t *testing.T, s stage) {
	err := s.admin.Runner.WatchWorkspace(t.Context(), uuid.New(), func(core.Workspace) {
		t.Error("the stream tells of a workspace")
	})
	refused(t, "watch", err, core.FailureNotFound)
}

func watchBadToken(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	err := s.WithBadToken(t).WatchWorkspace(t.Context(), made.ID, func(core.Workspace) {
		t.Error("the stream tells of a workspace")
	})
	refused(t, "watch", err, core.FailureUnauthorized)
}
