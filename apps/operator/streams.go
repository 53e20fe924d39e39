package operator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// The pause before a stream that ended is opened again doubles from firstPause to
// longestPause.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// streams follow the workspaces of running tests, so that a test steps when Coder tells
// of a change and not at its next poll. A test never depends on its stream.
type streams struct {
	ctx   context.Context //nolint:containedctx // the streams' own, ended by stop
	stop  context.CancelFunc
	watch func(ctx context.Context, plane string, workspace uuid.UUID, on func(core.Workspace)) error
	// wake puts a test into the work queue, unless ctx is done first.
	wake  func(ctx context.Context, test types.NamespacedName)
	clock ports.Clock
	log   *slog.Logger
	group sync.WaitGroup

	mu     sync.Mutex
	byTest map[types.NamespacedName]*stream
}

// stream is the following of one workspace.
type stream struct {
	workspace uuid.UUID
	end       context.CancelFunc
	// seen is what came last and no step took yet.
	seen *core.Workspace
}

func newStreams(engine engine, clock ports.Clock, log *slog.Logger, wake func(ctx context.Context, test types.NamespacedName)) *streams {
	ctx, stop := context.WithCancel(context.Background())
	return &streams{
		ctx: ctx, stop: stop, watch: engine.WatchWorkspace, wake: wake, clock: clock, log: log,
		byTest: map[types.NamespacedName]*stream{},
	}
}

// close ends every stream and waits for them.
func (s *streams) close() {
	s.stop()
	s.group.Wait()
}

// take takes the newest event of the test's stream for a step, nil if there is none.
func (s *streams) take(test types.NamespacedName) *core.Workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	followed := s.byTest[test]
	if followed == nil {
		return nil
	}
	seen := followed.seen
	followed.seen = nil
	return seen
}

// follow makes the workspace the one whose stream wakes the test; uuid.Nil for none.
func (s *streams) follow(test types.NamespacedName, plane string, workspace uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if followed := s.byTest[test]; followed != nil {
		if followed.workspace == workspace {
			return
		}
		s.endLocked(test)
	}
	if workspace == uuid.Nil || s.ctx.Err() != nil {
		return
	}
	ctx, end := context.WithCancel(s.ctx)
	followed := &stream{workspace: workspace, end: end}
	s.byTest[test] = followed
	s.group.Go(func() { s.read(ctx, test, plane, followed) })
}

// end ends the test's stream.
func (s *streams) end(test types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(test)
}

func (s *streams) endLocked(test types.NamespacedName) {
	if followed := s.byTest[test]; followed != nil {
		followed.end()
		delete(s.byTest, test)
	}
}

// read keeps a stream open until ctx is done.
func (s *streams) read(ctx context.Context, test types.NamespacedName, plane string, followed *stream) {
	pause := firstPause
	for {
		err := s.watch(ctx, plane, followed.workspace, func(workspace core.Workspace) {
			pause = firstPause
			s.saw(ctx, test, followed, &workspace)
		})
		if ctx.Err() != nil {
			return
		}
		s.log.Debug("the stream of a workspace ended", "test", test, "workspace", followed.workspace, "error", err)
		over := make(chan struct{})
		timer := s.clock.AfterFunc(pause, func() { close(over) })
		pause = min(2*pause, longestPause)
		select {
		case <-over:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// saw keeps the newest event, and wakes the test unless an older one is still to be
// taken: then it is awake.
func (s *streams) saw(ctx context.Context, test types.NamespacedName, followed *stream, workspace *core.Workspace) {
	s.mu.Lock()
	current := s.byTest[test] == followed
	awake := followed.seen != nil
	if current {
		followed.seen = workspace
	}
	s.mu.Unlock()
	if current && !awake {
		s.wake(ctx, test)
	}
}
