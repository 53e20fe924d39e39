package lifecycle

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// gatherPatience is how long a step waits for a read that is on its way, to do its own
// together with others.
const gatherPatience = time.Second

// gather has steps that want to read the same at the same time read it together: who asks
// while it is being read waits until that ends and shares the next read with all others who
// asked meanwhile. Every read begins after all who share it asked for it, so that its
// answer is as good to each as one of its own: unlike shared, this may serve any read.
type gather[T any] struct {
	clock ports.Clock
	// turn is taken while a read is on its way.
	turn chan struct{}

	mu sync.Mutex
	// next gathers those who share the read after the one that is on its way.
	next *gathering[T]
}

type gathering[T any] struct {
	members int
	landed  chan struct{}
	value   T
	err     error
	// again: whoever was to read left. Those who wait ask once more.
	again bool
}

func newGather[T any](clock ports.Clock) *gather[T] {
	return &gather[T]{clock: clock, turn: make(chan struct{}, 1)}
}

// read calls read once for all who ask meanwhile; members is how many they are.
func (g *gather[T]) read(ctx context.Context, read func(members int) (T, error)) (value T, err error) {
	for {
		meeting, first := g.join()
		if first {
			return g.lead(ctx, meeting, read)
		}
		select {
		case <-meeting.landed:
		case <-ctx.Done():
			return value, &core.Failure{Op: "wait for another test's read", Message: ctx.Err().Error()}
		}
		if !meeting.again {
			return meeting.value, meeting.err
		}
	}
}

func (g *gather[T]) join() (meeting *gathering[T], first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next, first = &gathering[T]{landed: make(chan struct{}), again: true}, true
	}
	g.next.members++
	return g.next, first
}

// lead does the read of a gathering, on the goroutine of whoever came first.
func (g *gather[T]) lead(ctx context.Context, meeting *gathering[T], read func(members int) (T, error)) (value T, err error) {
	defer close(meeting.landed)
	release := g.await(ctx)
	defer release()
	g.mu.Lock()
	// Who asks from now on shares the read after this one.
	g.next = nil
	members := meeting.members
	g.mu.Unlock()
	value, err = read(members)
	// What somebody who left was told may say nothing about Coder.
	meeting.value, meeting.err, meeting.again = value, err, ctx.Err() != nil
	return value, err
}

// await waits until no read is on its way, for as long as its patience lasts.
func (g *gather[T]) await(ctx context.Context) (release func()) {
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }
	default:
	}
	over := make(chan struct{})
	timer := g.clock.AfterFunc(gatherPatience, func() { close(over) })
	defer timer.Stop()
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }
	case <-over:
	case <-ctx.Done():
	}
	return func() {}
}

// listPage is how many workspaces one request of a list brings.
const listPage = 100

// ownerReads are the reads of one owner's workspaces.
type ownerReads struct {
	*gather[map[uuid.UUID]core.Workspace]

	// owned is how many live workspaces the last list had.
	owned atomic.Int64
}

// workspace reads a workspace by its ID, or out of a list that many who ask at once share.
// One that the list does not name may be deleted: only its ID tells.
func (o *ownerReads) workspace(ctx context.Context, runner ports.WorkspaceReader, owner core.User, id uuid.UUID) (core.Workspace, error) {
	var own core.Workspace
	var ownErr error
	alone := false
	together, err := o.read(ctx, func(members int) (map[uuid.UUID]core.Workspace, error) {
		if alone = members == 1; alone {
			own, ownErr = runner.Workspace(ctx, id)
			return nil, nil
		}
		if !o.worthAList(members) {
			return nil, nil
		}
		// A list can fail where a read does not: it names none then, and each reads its own.
		list, _ := runner.OwnedWorkspaces(ctx, owner)
		o.owned.Store(int64(len(list)))
		named := make(map[uuid.UUID]core.Workspace, len(list))
		for _, w := range list {
			named[w.ID] = w
		}
		return named, nil
	})
	switch found, named := together[id]; {
	case alone:
		return own, ownErr
	case err != nil:
		return core.Workspace{}, err
	case named:
		return found, nil
	default:
		return runner.Workspace(ctx, id)
	}
}

// worthAList reports whether a list costs Coder fewer requests than a read for each member.
func (o *ownerReads) worthAList(members int) bool {
	pages := 1 + max(int(o.owned.Load()), members)/listPage
	return members > 2*pages
}
