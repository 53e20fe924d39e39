package service_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
)

// onFeed runs f with a feed over a source that has 10 transitions when it begins. It lives
// in a bubble.
func onFeed(t *testing.T, f func(t *testing.T, feed *service.Feed, source *source, virtual *clock.Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		source := &source{wake: make(chan struct{}, 1)}
		source.store(10)
		feed := service.NewFeed(source, virtual, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { feed.Run(ctx) })
		synctest.Wait()
		f(t, feed, source, virtual)
		stop()
		running.Wait()
	})
}

func TestFeedBeginsWithWhatIsNew(t *testing.T) {
	onFeed(t, func(t *testing.T, feed *service.Feed, source *source, _ *clock.Clock) {
		if got := feed.Last(); got != 10 {
			t.Errorf("the newest is %d, want 10", got)
		}
		none, news, err := feed.After(t.Context(), 10)
		if err != nil || len(none) != 0 {
			t.Fatalf("after the newest there are %v, error %v", none, err)
		}
		source.store(2)
		synctest.Wait()
		select {
		case <-news:
		default:
			t.Error("who waits is not woken")
		}
		found, _, err := feed.After(t.Context(), 10)
		if err != nil || seqs(found) != [2]int64{11, 12} {
			t.Errorf("after 10 there are %v, error %v; want 11 and 12", found, err)
		}
		if source.readsOfMissed() != 0 {
			t.Error("the store was read for what the feed knows")
		}
	})
}

func TestFeedReadsWhatAListenerMissed(t *testing.T) {
	onFeed(t, func(t *testing.T, feed *service.Feed, source *source, _ *clock.Clock) {
		source.store(5000)
		synctest.Wait()
		after, count := int64(3), 0
		for {
			found, _, err := feed.After(t.Context(), after)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				break
			}
			for _, transition := range found {
				if transition.Seq != after+1 {
					t.Fatalf("after %d comes %d", after, transition.Seq)
				}
				after, count = transition.Seq, count+1
			}
		}
		if count != 5007 {
			t.Errorf("%d transitions after 3, want all 5007 in their order", count)
		}
	})
}

func TestFeedOutlivesAStoreThatFails(t *testing.T) {
	onFeed(t, func(t *testing.T, feed *service.Feed, source *source, virtual *clock.Clock) {
		source.fail(errors.New("the network is gone"))
		source.store(1)
		synctest.Wait()
		if got := feed.Last(); got != 10 {
			t.Fatalf("the newest is %d, want 10: the store does not answer", got)
		}
		source.fail(nil)
		virtual.Advance(time.Second)
		synctest.Wait()
		if got := feed.Last(); got != 11 {
			t.Errorf("the newest is %d, want 11: it was asked again", got)
		}
	})
}

func seqs(transitions []core.TestTransition) (found [2]int64) {
	for i, transition := range transitions {
		found[min(i, 1)] = transition.Seq
	}
	return found
}

// source is a history.
type source struct {
	wake chan struct{}

	mu     sync.Mutex
	all    []core.TestTransition
	err    error
	missed int
}

func (s *source) store(count int) {
	s.mu.Lock()
	for range count {
		s.all = append(s.all, core.TestTransition{Seq: int64(len(s.all) + 1)})
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) readsOfMissed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}

// Changes implements service.FeedSource.
func (s *source) Changes(ctx context.Context, on func(uuid.UUID)) error {
	for {
		select {
		case <-s.wake:
			on(uuid.Nil)
		case <-ctx.Done():
			return nil
		}
	}
}

// TransitionsAfter implements ports.TestHistory.
func (s *source) TransitionsAfter(_ context.Context, after int64, limit int) ([]core.TestTransition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < 10 {
		s.missed++
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.all[after:min(int(after)+limit, len(s.all))], nil
}

// Transitions implements ports.TestHistory.
func (s *source) Transitions(context.Context, uuid.UUID, int64, int) ([]core.TestTransition, error) {
	return nil, nil
}

// LastTransition implements ports.TestHistory.
func (s *source) LastTransition(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.all)), s.err
}
