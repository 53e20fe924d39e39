package streams

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// DefaultMost is how many streams are open at once when Config does not say.
	DefaultMost = 1000
	// DefaultEvery is the pause between two lists of an owner when Config does not say.
	DefaultEvery = 2 * time.Second
	// listShare bounds the work that lists are to Coder: the pause is at least this many
	// times as long as the list took.
	listShare = 10
	// The pause after a failure doubles from firstPause to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
)

// Target is the workspace that a test waits on. Its zero value is none.
type Target struct {
	// ControlPlane is the test's Spec.ControlPlaneRef.
	ControlPlane string
	// Owner is the Coder user that owns the workspace; uuid.Nil has it never listed.
	Owner     uuid.UUID
	Workspace uuid.UUID
}

// Source asks Coder. *lifecycle.Engine is one.
type Source interface {
	// WatchWorkspace streams a workspace as ports.WorkspaceWatcher says.
	WatchWorkspace(ctx context.Context, controlPlane string, workspace uuid.UUID, on func(core.Workspace)) error
	// OwnedWorkspaces lists the live workspaces of the owner, with latest builds and agents.
	OwnedWorkspaces(ctx context.Context, controlPlane string, owner uuid.UUID) ([]core.Workspace, error)
}

// Config is what Streams are made of. Source, Wake and Clock are required.
type Config[K comparable] struct {
	Source Source
	// Wake is called when News of a test turned true. It may block until ctx is done, which
	// it is once Close was called.
	Wake  func(ctx context.Context, test K)
	Clock ports.Clock
	// Logger hears why streams and lists ended; nil means nobody.
	Logger *slog.Logger
	// Most bounds the open streams; 0 means DefaultMost, less than 0 none.
	Most int
	// Every is the least pause between two lists of an owner; 0 means DefaultEvery.
	Every time.Duration
}

// Streams follow the workspaces of tests, which K names. They are safe for concurrent use.
type Streams[K comparable] struct {
	config Config[K]
	ctx    context.Context //nolint:containedctx // the streams' own, ended by Close
	stop   context.CancelFunc
	group  sync.WaitGroup

	mu sync.Mutex
	// free is how many more streams may be opened.
	free    int
	byTest  map[K]*followed[K]
	lists   map[listKey]*list[K]
	waiting []*followed[K]
}

// followed is the following of one workspace for one test. Streams.mu guards it.
type followed[K comparable] struct {
	test   K
	target Target
	// end ends the stream; nil for one that is listed.
	end context.CancelFunc
	// ended: nobody follows it any more.
	ended bool
	// news: something was told, or the telling broke off, and no step took notice yet.
	news bool
	// seen is the newest that was told and no step took.
	seen *core.Workspace
	// working: what happens to the workspace is told now.
	working bool
	// said is what the last list said of it; listed tells that there was one.
	said   digest
	listed bool
}

// New makes Streams that follow nothing. Close ends them.
func New[K comparable](config Config[K]) *Streams[K] {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Most == 0 {
		config.Most = DefaultMost
	}
	if config.Every == 0 {
		config.Every = DefaultEvery
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Streams[K]{
		config: config, ctx: ctx, stop: stop, free: max(0, config.Most),
		byTest: map[K]*followed[K]{}, lists: map[listKey]*list[K]{},
	}
}

// Close ends every stream and list and returns when they are. Nothing is followed
// afterwards.
func (s *Streams[K]) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.group.Wait()
}

// Follow makes the target the one that wakes the test; the zero target means none.
func (s *Streams[K]) Follow(test K, target Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.byTest[test]; f != nil {
		if f.target.Workspace == target.Workspace {
			return
		}
		s.end(f)
	}
	if target.Workspace == uuid.Nil || s.ctx.Err() != nil {
		return
	}
	f := &followed[K]{test: test, target: target}
	s.byTest[test] = f
	if s.free > 0 {
		s.open(f)
		return
	}
	s.waiting = append(s.waiting, f)
	s.list(f)
}

// End stops following for a test.
func (s *Streams[K]) End(test K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.byTest[test]; f != nil {
		s.end(f)
	}
}

// Take hands the newest that was told of the test's workspace to a step, nil if there is
// nothing that no step took yet.
func (s *Streams[K]) Take(test K) *core.Workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byTest[test]
	if f == nil {
		return nil
	}
	seen := f.seen
	f.seen, f.news = nil, false
	return seen
}

// News reports whether there is something that no Take took notice of.
func (s *Streams[K]) News(test K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byTest[test]
	return f != nil && f.news
}

// Working reports whether what happens to the test's workspace is told now: its open
// stream brought something, or the last list named it.
func (s *Streams[K]) Working(test K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byTest[test]
	return f != nil && f.working
}

// Count tells how many workspaces have a stream, and how many are listed.
func (s *Streams[K]) Count() (streamed, listed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.byTest {
		if f.end != nil {
			streamed++
		}
	}
	return streamed, len(s.byTest) - streamed
}

// open gives the workspace a stream. s.mu is held, and there is a free one.
func (s *Streams[K]) open(f *followed[K]) {
	s.free--
	ctx, end := context.WithCancel(s.ctx)
	f.end = end
	s.group.Go(func() { s.read(ctx, f) })
}

// end ends a following, and gives a stream that becomes free to who waits longest.
// s.mu is held.
func (s *Streams[K]) end(f *followed[K]) {
	delete(s.byTest, f.test)
	f.ended = true
	if f.end == nil {
		s.unlist(f)
		return
	}
	f.end()
	s.free++
	for s.free > 0 && len(s.waiting) > 0 && s.ctx.Err() == nil {
		next := s.waiting[0]
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
		if next.ended {
			continue
		}
		s.unlist(next)
		s.open(next)
	}
}

// read keeps a stream open until ctx is done. Streams end for many harmless reasons.
func (s *Streams[K]) read(ctx context.Context, f *followed[K]) {
	failures := 0
	for ctx.Err() == nil {
		err := s.config.Source.WatchWorkspace(ctx, f.target.ControlPlane, f.target.Workspace, func(workspace core.Workspace) {
			failures = 0
			s.tell(f, &workspace)
		})
		if ctx.Err() != nil {
			return
		}
		failures++
		s.config.Logger.Debug("the stream of a workspace ended", "test", f.test, "workspace", f.target.Workspace, "error", err)
		s.brokeOff(f)
		if !s.pause(ctx, pauseAfter(failures)) {
			return
		}
	}
}

// tell keeps what happened for the test's next step, and wakes the test unless it was
// woken already.
func (s *Streams[K]) tell(f *followed[K], workspace *core.Workspace) {
	s.mu.Lock()
	woken := f.news || f.ended
	f.news, f.seen, f.working = true, workspace, true
	s.mu.Unlock()
	if !woken {
		s.config.Wake(s.ctx, f.test)
	}
}

// brokeOff wakes a test that relied on being told: until it is told again, its timer must
// do.
func (s *Streams[K]) brokeOff(f *followed[K]) {
	s.mu.Lock()
	woken := f.news || f.ended || !f.working
	f.working = false
	f.news = f.news || !woken
	s.mu.Unlock()
	if !woken {
		s.config.Wake(s.ctx, f.test)
	}
}

// pause waits by the clock; false when ctx is done first.
func (s *Streams[K]) pause(ctx context.Context, length time.Duration) bool {
	over := make(chan struct{})
	timer := s.config.Clock.AfterFunc(length, func() { close(over) })
	select {
	case <-over:
		return true
	case <-ctx.Done():
		timer.Stop()
		return false
	}
}

// pauseAfter is the pause after so many failures in a row, from 1 on.
func pauseAfter(failures int) time.Duration {
	pause := firstPause
	for ; failures > 1 && pause < longestPause; failures-- {
		pause *= 2
	}
	return min(pause, longestPause)
}
