package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

// gatherers ask a gather at once. They live in a bubble.
type gatherers struct {
	*gather[int]
	clock *clock.Clock
	group sync.WaitGroup
	// reads counts the reads; each waits until a test lets it go.
	reads atomic.Int32
	let   chan error
	mu    sync.Mutex
	got   map[string]string
}

func withGatherers(t *testing.T, f func(t *testing.T, g *gatherers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		g := &gatherers{gather: newGather[int](virtual), clock: virtual, let: make(chan error), got: map[string]string{}}
		f(t, g)
		g.group.Wait()
	})
}

// ask has somebody ask; what comes of it is in got.
func (g *gatherers) ask(ctx context.Context, who string) {
	g.group.Go(func() {
		members, err := g.read(ctx, func(members int) (int, error) {
			g.reads.Add(1)
			select {
			case err := <-g.let:
				return members, err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.got[who] = fmt.Sprintf("read of %d", members); err != nil {
			g.got[who] = err.Error()
		}
	})
	synctest.Wait()
}

// proceed lets the read that is on its way end.
func (g *gatherers) proceed(err error) {
	g.let <- err
	synctest.Wait()
}

func (g *gatherers) want(t *testing.T, why string, reads int, got map[string]string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if int(g.reads.Load()) != reads || fmt.Sprint(g.got) != fmt.Sprint(got) {
		t.Errorf("%d reads, got %v; want %d and %v: %s", g.reads.Load(), g.got, reads, got, why)
	}
}

func TestThoseWhoAskMeanwhileReadTogether(t *testing.T) {
	withGatherers(t, func(t *testing.T, g *gatherers) {
		g.ask(t.Context(), "first")
		for _, who := range []string{"a", "b", "c"} {
			g.ask(t.Context(), who)
		}
		g.want(t, "a read that began before somebody asked says nothing to them", 1, map[string]string{})
		g.proceed(nil)
		g.want(t, "the next read begins for all of them", 2, map[string]string{"first": "read of 1"})
		g.ask(t.Context(), "late")
		g.proceed(nil)
		all := map[string]string{"first": "read of 1", "a": "read of 3", "b": "read of 3", "c": "read of 3"}
		g.want(t, "and serves all but those who came later", 3, all)
		g.proceed(errors.New("502"))
		all["late"] = "502"
		g.want(t, "a failure is an answer", 3, all)
	})
}

func TestWhoWasToReadMayLeave(t *testing.T) {
	withGatherers(t, func(t *testing.T, g *gatherers) {
		leaves, leave := context.WithCancel(t.Context())
		g.ask(t.Context(), "first")
		g.ask(leaves, "leaves")
		g.ask(t.Context(), "stays")
		leave()
		synctest.Wait()
		g.proceed(nil)
		g.proceed(nil)
		g.want(t, "the others ask again", 3, map[string]string{"first": "read of 1", "leaves": "context canceled", "stays": "read of 1"})

		waits, leave := context.WithCancel(t.Context())
		g.ask(t.Context(), "reads")
		g.ask(t.Context(), "next")
		g.ask(waits, "waits")
		leave()
		synctest.Wait()
		if want := "wait for another test's read: unavailable: context canceled"; g.got["waits"] != want {
			t.Errorf("who waits for another's read may leave as well: %q, want %q", g.got["waits"], want)
		}
		g.proceed(nil)
		g.proceed(nil)
	})
}

func TestAFailureIsTheAnswerOfAll(t *testing.T) {
	withGatherers(t, func(t *testing.T, g *gatherers) {
		for _, who := range []string{"first", "a", "b"} {
			g.ask(t.Context(), who)
		}
		g.proceed(nil)
		g.proceed(errors.New("502"))
		g.want(t, "nobody asks again", 2, map[string]string{"first": "read of 1", "a": "502", "b": "502"})
	})
}

// TestACrashLeavesNobodyWithoutAnAnswer: a read that panics has told nobody anything.
func TestACrashLeavesNobodyWithoutAnAnswer(t *testing.T) {
	withGatherers(t, func(t *testing.T, g *gatherers) {
		g.ask(t.Context(), "first")
		g.group.Go(func() {
			defer func() { _ = recover() }()
			_, _ = g.read(t.Context(), func(int) (int, error) { panic("crash") })
		})
		synctest.Wait()
		g.ask(t.Context(), "stays")
		g.proceed(nil)
		g.proceed(nil)
		g.want(t, "those who waited ask again", 2, map[string]string{"first": "read of 1", "stays": "read of 1"})
	})
}

func TestAReadThatHangsIsNotWaitedForLong(t *testing.T) {
	withGatherers(t, func(t *testing.T, g *gatherers) {
		g.ask(t.Context(), "hangs")
		g.ask(t.Context(), "patient")
		g.clock.Advance(gatherPatience - 1)
		synctest.Wait()
		g.want(t, "the read may end soon", 1, map[string]string{})
		g.clock.Advance(1)
		synctest.Wait()
		g.want(t, "it does not", 2, map[string]string{})
		g.proceed(nil)
		g.proceed(nil)
	})
}

// owned is a reader of one owner's workspaces. Each read waits until a test lets it go.
type owned struct {
	ports.WorkspaceReader
	let    chan struct{}
	mu     sync.Mutex
	calls  []string
	list   []core.Workspace
	refuse error
}

func (o *owned) called(what string) {
	o.mu.Lock()
	o.calls = append(o.calls, what)
	o.mu.Unlock()
	<-o.let
}

func (o *owned) Workspace(_ context.Context, id uuid.UUID) (core.Workspace, error) {
	o.called("read")
	return core.Workspace{ID: id, Name: "read"}, nil
}

func (o *owned) OwnedWorkspaces(context.Context, core.User) ([]core.Workspace, error) {
	o.called("list")
	return o.list, o.refuse
}

func TestWorkspacesAreReadTogether(t *testing.T) {
	ids := []uuid.UUID{id(1), id(2), id(3), id(4)}
	many := make([]core.Workspace, 2*listPage)
	for _, row := range []struct {
		why    string
		asking int
		owned  int
		list   []core.Workspace
		refuse error
		// want are the calls after the first one's read, got the workspaces of the others.
		want, got string
	}{
		{why: "three ask: one list", asking: 3, list: []core.Workspace{{ID: ids[1], Name: "listed"}, {ID: ids[2], Name: "listed"}, {ID: ids[3], Name: "listed"}}, want: "[list]", got: "listed listed listed"},
		{why: "two ask: a list is no fewer", asking: 2, want: "[read read]", got: "read read"},
		{why: "the owner has more than a few requests can list", asking: 3, owned: len(many), want: "[read read read]", got: "read read read"},
		{why: "what fills a page takes another request to see", asking: 3, owned: listPage, want: "[read read read]", got: "read read read"},
		{why: "one is not in the list: perhaps it is deleted", asking: 3, list: []core.Workspace{{ID: ids[1], Name: "listed"}, {ID: ids[3], Name: "listed"}}, want: "[list read]", got: "listed read listed"},
		{why: "the list fails", asking: 3, refuse: unavailable, want: "[list read read read]", got: "read read read"},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
				reads := &ownerReads{gather: newGather[map[uuid.UUID]core.Workspace](virtual)}
				reads.owned.Store(int64(row.owned))
				coder := &owned{let: make(chan struct{}), list: row.list, refuse: row.refuse}
				var group sync.WaitGroup
				got := make([]string, row.asking+1)
				for i := range got {
					group.Go(func() {
						w, err := reads.workspace(t.Context(), coder, core.User{}, ids[i])
						if err != nil || w.ID != ids[i] {
							t.Errorf("workspace %s, error %v", w.ID, err)
						}
						got[i] = w.Name
					})
					synctest.Wait()
				}
				close(coder.let)
				group.Wait()
				text := ""
				for _, name := range got[1:] {
					text += " " + name
				}
				if owned := int(reads.owned.Load()); strings.HasPrefix(row.want, "[list") && owned != len(row.list) {
					t.Errorf("%d workspaces are remembered, the list had %d", owned, len(row.list))
				}
				if calls := fmt.Sprint(coder.calls[1:]); calls != row.want || text[1:] != row.got {
					t.Errorf("calls %s, got%s; want %s, %s", calls, text, row.want, row.got)
				}
			})
		})
	}
}

func TestWhoLeavesReadsNoWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		reads := &ownerReads{gather: newGather[map[uuid.UUID]core.Workspace](virtual)}
		coder := &owned{let: make(chan struct{})}
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for _, ctx := range []context.Context{t.Context(), t.Context(), ctx} {
			group.Go(func() {
				if _, err := reads.workspace(ctx, coder, core.User{}, id(1)); (err != nil) != (ctx.Err() != nil) {
					t.Errorf("error %v", err)
				}
			})
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if fmt.Sprint(coder.calls) != "[read]" {
			t.Errorf("calls %v, want that of the first alone", coder.calls)
		}
		close(coder.let)
		group.Wait()
	})
}
