package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// feedMemory is how many transitions a Feed remembers, so that those who keep up read
// nothing from the store.
const feedMemory = 2048

// feedRead is how many transitions are read from the store at once.
const feedRead = 256

// FeedSource is what a Feed needs of a store.
type FeedSource interface {
	ports.TestHistory
	Changes(ctx context.Context, on func(id uuid.UUID)) error
}

// Feed tells any number of listeners of transitions as they are stored, by whatever
// server. It reads each one once; a listener that is slow, or that comes later, reads
// what it missed from the store by itself. Nobody waits for a listener.
type Feed struct {
	source FeedSource
	clock  ports.Clock
	log    *slog.Logger

	mu sync.Mutex
	// recent are the newest transitions, in their order; all after from are among them.
	recent []core.TestTransition
	from   int64
	// news is closed when recent grows.
	news chan struct{}
}

// NewFeed makes a Feed that knows nothing before Run.
func NewFeed(source FeedSource, clock ports.Clock, logger *slog.Logger) *Feed {
	return &Feed{source: source, clock: clock, log: logger, news: make(chan struct{})}
}

// retryPause is how long a Feed waits after the store failed.
const retryPause = time.Second

// Run reads what is new until ctx is done.
func (f *Feed) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() { f.listen(ctx, changed) })
	begun := false
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if err := f.read(ctx, &begun); err != nil && ctx.Err() == nil {
			f.log.Warn("what is new could not be read; it is tried again", "error", err)
			f.pause(ctx)
			wake(changed)
		}
	}
}

func (f *Feed) listen(ctx context.Context, changed chan<- struct{}) {
	for ctx.Err() == nil {
		err := f.source.Changes(ctx, func(uuid.UUID) { wake(changed) })
		if ctx.Err() != nil {
			return
		}
		f.log.Warn("the store does not tell of changes any more; it is asked again", "error", err)
		f.pause(ctx)
		wake(changed)
	}
}

func wake(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default: // it is awake
	}
}

func (f *Feed) pause(ctx context.Context) {
	over := make(chan struct{})
	timer := f.clock.AfterFunc(retryPause, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// read takes in what is new. The first time it only learns where the newest is.
func (f *Feed) read(ctx context.Context, begun *bool) error {
	if !*begun {
		last, err := f.source.LastTransition(ctx)
		if err != nil {
			return err
		}
		f.take(nil, last)
		*begun = true
		return nil
	}
	for {
		f.mu.Lock()
		last := f.last()
		f.mu.Unlock()
		next, err := f.source.TransitionsAfter(ctx, last, feedRead)
		if err != nil || len(next) == 0 {
			return err
		}
		f.take(next, 0)
	}
}

func (f *Feed) last() int64 {
	if len(f.recent) == 0 {
		return f.from
	}
	return f.recent[len(f.recent)-1].Seq
}

func (f *Feed) take(next []core.TestTransition, from int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if next == nil {
		f.from = from
	}
	f.recent = append(f.recent, next...)
	if over := len(f.recent) - feedMemory; over > 0 {
		f.from = f.recent[over-1].Seq
		f.recent = append([]core.TestTransition{}, f.recent[over:]...)
	}
	close(f.news)
	f.news = make(chan struct{})
}

// After returns transitions with a larger number than after, in their order, as soon as
// there are some; at once what is known, or nil and a channel that is closed when there
// is news.
func (f *Feed) After(ctx context.Context, after int64) ([]core.TestTransition, <-chan struct{}, error) {
	f.mu.Lock()
	from, news := f.from, f.news
	var found []core.TestTransition
	for i := range f.recent {
		if f.recent[i].Seq > after {
			found = f.recent[i:len(f.recent):len(f.recent)]
			break
		}
	}
	f.mu.Unlock()
	if after >= from {
		return found, news, nil
	}
	missed, err := f.source.TransitionsAfter(ctx, after, feedRead)
	return missed, news, err
}

// Last is the number of the newest transition that the feed knows of.
func (f *Feed) Last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last()
}
