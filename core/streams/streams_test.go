package streams_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/streams"
	"github.com/assay-dev/assay/fakes/clock"
)

// coder is a source whose streams and lists a test controls. It lives in a bubble.
type coder struct {
	mu      sync.Mutex
	streams map[uuid.UUID]chan core.Workspace
	opened  int
	// owned is what lists say; failure has them fail. slow is how long one takes.
	owned   []core.Workspace
	failure error
	listed  int
	slow    func()
}

func (c *coder) WatchWorkspace(ctx context.Context, _ string, workspace uuid.UUID, on func(core.Workspace)) error {
	events := make(chan core.Workspace)
	c.mu.Lock()
	c.streams[workspace] = events
	c.opened++
	c.mu.Unlock()
	for {
		select {
		case event, open := <-events:
			if !open {
				return errors.New("the stream broke")
			}
			on(event)
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.streams, workspace)
			c.mu.Unlock()
			return nil
		}
	}
}

func (c *coder) OwnedWorkspaces(context.Context, string, uuid.UUID) ([]core.Workspace, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed++
	if c.slow != nil {
		c.slow()
	}
	return slices.Clone(c.owned), c.failure
}

func (c *coder) stream(workspace uuid.UUID) chan core.Workspace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[workspace]
}

// lists sets what the next lists say.
func (c *coder) lists(failure error, owned ...core.Workspace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owned, c.failure = owned, failure
}

// stage is Streams of tests that are named by strings.
type stage struct {
	*streams.Streams[string]
	coder *coder
	clock *clock.Clock
	mu    sync.Mutex
	woken []string
}

func inBubble(t *testing.T, most int, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			coder: &coder{streams: map[uuid.UUID]chan core.Workspace{}},
			clock: clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		}
		s.Streams = streams.New(streams.Config[string]{Source: s.coder, Clock: s.clock, Most: most, Wake: func(_ context.Context, test string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.woken = append(s.woken, test)
		}})
		defer s.Close()
		f(t, s)
	})
}

// wantWoken fails unless exactly these tests were woken since the last call.
func (s *stage) wantWoken(t *testing.T, why string, tests ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.woken)
	if !slices.Equal(s.woken, tests) {
		t.Errorf("woken: %q, want %q: %s", s.woken, tests, why)
	}
	s.woken = nil
}

func (s *stage) advance(d time.Duration) {
	s.clock.Advance(d)
	synctest.Wait()
}

var owner = uuid.MustParse("00000000-0000-4000-8000-0000000000aa")

// follow has a test follow a new workspace.
func (s *stage) follow(test string) core.Workspace {
	w := core.Workspace{ID: uuid.New(), OwnerID: owner, Latest: core.Build{Job: core.Job{Status: core.JobPending}}}
	s.Follow(test, streams.Target{ControlPlane: "main", Owner: owner, Workspace: w.ID})
	synctest.Wait()
	return w
}

func TestAStreamWakesWithTheNewest(t *testing.T) {
	inBubble(t, 10, func(t *testing.T, s *stage) {
		w := s.follow("a")
		s.Follow("a", streams.Target{ControlPlane: "main", Owner: owner, Workspace: w.ID})
		if s.Working("a") || s.coder.opened != 1 {
			t.Errorf("working: %v after %d streams, want one that brought nothing yet", s.Working("a"), s.coder.opened)
		}
		for _, name := range []string{"older", "newest"} {
			w.Name = name
			s.coder.stream(w.ID) <- w
		}
		s.wantWoken(t, "a test that is awake need not be woken", "a")
		if seen := s.Take("a"); seen == nil || seen.Name != "newest" || s.News("a") {
			t.Errorf("taken: %v, news afterwards: %v; want the newest and none", seen, s.News("a"))
		}
		if seen := s.Take("a"); seen != nil || !s.Working("a") {
			t.Errorf("taken twice: %v, working: %v", seen, s.Working("a"))
		}
		s.Follow("a", streams.Target{})
		if s.coder.stream(w.ID) != nil || s.Working("a") {
			synctest.Wait()
			if s.coder.stream(w.ID) != nil {
				t.Error("a test without a workspace is still followed")
			}
		}
	})
}

func TestAStreamThatBreaksOffWakesAndIsOpenedAgain(t *testing.T) {
	inBubble(t, 10, func(t *testing.T, s *stage) {
		w := s.follow("a")
		close(s.coder.stream(w.ID))
		s.wantWoken(t, "nobody relied on a stream that brought nothing")
		s.advance(time.Second - 1)
		if s.coder.opened != 1 {
			t.Error("a broken stream is opened again without a pause")
		}
		s.advance(1)
		s.coder.stream(w.ID) <- w
		s.wantWoken(t, "the news", "a")
		s.Take("a")
		close(s.coder.stream(w.ID))
		s.wantWoken(t, "from now on the test has to look for itself", "a")
		if s.Working("a") || s.Take("a") != nil {
			t.Error("a broken stream counts as working, or brought something")
		}
		s.advance(time.Second)
		if s.coder.opened != 3 {
			t.Errorf("%d streams, want 3: news make the pause short again", s.coder.opened)
		}
	})
}

func TestThoseWithoutAStreamAreReadTogether(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, s *stage) {
		a, b, c := s.follow("a"), s.follow("b"), s.follow("c")
		if streamed, listed := s.Count(); streamed != 1 || listed != 2 {
			t.Fatalf("%d streamed and %d listed, want 1 and 2", streamed, listed)
		}
		s.coder.lists(nil, a, b, c, core.Workspace{ID: uuid.New(), OwnerID: owner})
		s.advance(streams.DefaultEvery)
		s.wantWoken(t, "the first list says something new of those without a stream", "b", "c")
		if seen := s.Take("b"); seen == nil || seen.ID != b.ID || !s.Working("b") {
			t.Errorf("taken: %v, working: %v", seen, s.Working("b"))
		}
		s.Take("c")
		s.advance(streams.DefaultEvery)
		s.wantWoken(t, "a list that says the same wakes nobody")
		c.Latest.Job.Status = core.JobRunning
		s.coder.lists(nil, b, c)
		s.advance(streams.DefaultEvery)
		s.wantWoken(t, "only the one with news", "c")
		s.Take("c")
		if s.coder.listed != 3 {
			t.Errorf("%d lists, want 3: one for all of an owner", s.coder.listed)
		}
		s.coder.lists(nil, b)
		s.advance(streams.DefaultEvery)
		s.wantWoken(t, "one that a list no longer names must look for itself", "c")
		if s.Take("c") != nil || s.Working("c") || !s.Working("b") {
			t.Error("what is not listed counts as working, or what is listed does not")
		}
		s.End("a")
		synctest.Wait()
		if streamed, listed := s.Count(); streamed != 1 || listed != 1 || s.coder.stream(b.ID) == nil {
			t.Errorf("%d streamed and %d listed: who waits longest gets the stream that is free", streamed, listed)
		}
		s.End("b")
		s.End("c")
		listed := s.coder.listed
		s.advance(time.Minute)
		if s.coder.listed != listed {
			t.Error("a list without members goes on")
		}
	})
}

func TestListsThatFailWakeAndPause(t *testing.T) {
	inBubble(t, -1, func(t *testing.T, s *stage) {
		a := s.follow("a")
		s.coder.lists(nil, a)
		s.advance(streams.DefaultEvery)
		s.Take("a")
		s.wantWoken(t, "the first list", "a")
		s.coder.lists(errors.New("503"))
		s.advance(streams.DefaultEvery)
		s.wantWoken(t, "nothing is told any more", "a")
		if s.Working("a") {
			t.Error("a list that failed counts as working")
		}
		s.Take("a")
		for _, pause := range []int{2, 2, 4, 8, 16, 32, 60, 60} {
			before := s.coder.listed
			s.advance(time.Duration(pause)*time.Second - 1)
			if s.coder.listed != before {
				t.Errorf("listed again before the pause of %d s", pause)
			}
			s.advance(1)
			if s.coder.listed != before+1 {
				t.Errorf("not listed after the pause of %d s", pause)
			}
		}
		s.wantWoken(t, "a test that was told once need not be told again")
	})
}

func TestSlowListsAreRare(t *testing.T) {
	inBubble(t, -1, func(t *testing.T, s *stage) {
		s.coder.slow = func() { s.clock.Jump(0); s.clock.Advance(3 * time.Second) }
		s.follow("a")
		s.advance(streams.DefaultEvery)
		s.advance(30*time.Second - 1)
		if s.coder.listed != 1 {
			t.Errorf("%d lists within ten times the time that one took, want 1", s.coder.listed)
		}
		s.advance(1)
		if s.coder.listed != 2 {
			t.Errorf("%d lists, want 2", s.coder.listed)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, s *stage) {
		a := s.follow("a")
		s.follow("b")
		s.Close()
		if s.coder.stream(a.ID) != nil {
			t.Error("a stream is still open")
		}
		s.follow("c")
		if streamed, listed := s.Count(); streamed+listed != 2 {
			t.Errorf("%d streamed and %d listed: nothing is followed afterwards", streamed, listed)
		}
	})
}
