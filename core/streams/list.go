package streams

import (
	"context"
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// listKey names what one list covers.
type listKey struct {
	controlPlane string
	owner        uuid.UUID
}

// list is the reading together of an owner's workspaces that have no stream. It goes on
// while it has members. Streams.mu guards it.
type list[K comparable] struct {
	// members are by workspace: two tests never share one.
	members map[uuid.UUID]*followed[K]
	end     context.CancelFunc
}

// list has the workspace read together with the others of its owner. s.mu is held.
func (s *Streams[K]) list(f *followed[K]) {
	if f.target.Owner == uuid.Nil {
		return
	}
	key := listKey{f.target.ControlPlane, f.target.Owner}
	l := s.lists[key]
	if l == nil {
		ctx, end := context.WithCancel(s.ctx)
		l = &list[K]{members: map[uuid.UUID]*followed[K]{}, end: end}
		s.lists[key] = l
		s.group.Go(func() { s.readList(ctx, key, l) })
	}
	l.members[f.target.Workspace] = f
}

// unlist is the end of that. s.mu is held.
func (s *Streams[K]) unlist(f *followed[K]) {
	key := listKey{f.target.ControlPlane, f.target.Owner}
	l := s.lists[key]
	if l == nil || l.members[f.target.Workspace] != f {
		return
	}
	delete(l.members, f.target.Workspace)
	if len(l.members) == 0 {
		l.end()
		delete(s.lists, key)
	}
}

// readList reads an owner's workspaces again and again until ctx is done.
func (s *Streams[K]) readList(ctx context.Context, key listKey, l *list[K]) {
	failures, pause := 0, s.config.Every
	for s.pause(ctx, pause) {
		asked := s.config.Clock.Monotonic()
		workspaces, err := s.config.Source.OwnedWorkspaces(ctx, key.controlPlane, key.owner)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			s.config.Logger.Debug("listing the workspaces of an owner failed", "owner", key.owner, "error", err)
			pause = max(s.config.Every, pauseAfter(failures))
		} else {
			failures = 0
			pause = max(s.config.Every, listShare*(s.config.Clock.Monotonic()-asked))
		}
		for _, test := range s.compare(l, workspaces, err == nil) {
			s.config.Wake(s.ctx, test)
		}
	}
}

// compare notes what a list says about its members and returns the tests that it wakes:
// those of which it says something new, and those that it no longer names. A list that
// failed names none.
func (s *Streams[K]) compare(l *list[K], workspaces []core.Workspace, read bool) (woken []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named := make(map[uuid.UUID]bool, len(l.members))
	for i := range workspaces {
		f := l.members[workspaces[i].ID]
		if f == nil {
			continue
		}
		named[f.target.Workspace] = true
		f.working = true
		if said := digestOf(&workspaces[i]); !f.listed || said != f.said {
			f.said, f.listed = said, true
			workspace := workspaces[i]
			f.seen = &workspace
			woken = s.wakes(woken, f)
		}
	}
	for id, f := range l.members {
		if named[id] || !f.working {
			continue
		}
		// It is gone, or hidden, or nothing is known: the test has to look for itself.
		f.working, f.listed = false, false
		if read {
			f.seen = nil
		}
		woken = s.wakes(woken, f)
	}
	return woken
}

// wakes adds the test to those that are to be woken, unless it was already.
func (s *Streams[K]) wakes(woken []K, f *followed[K]) []K {
	if f.news {
		return woken
	}
	f.news = true
	return append(woken, f.test)
}

// digest stands for what is said of a workspace: it costs less to keep.
type digest uint64

var seed = maphash.MakeSeed()

// digestOf covers what a test can wait for: the latest build, its job and its agents.
func digestOf(w *core.Workspace) digest {
	type agent struct {
		id        uuid.UUID
		status    core.AgentStatus
		lifecycle core.AgentLifecycle
	}
	sum := maphash.Comparable(seed, struct {
		deleted      bool
		build        uuid.UUID
		status       core.JobStatus
		started      int64
		canceled     int64
		provisioners int
	}{w.Deleted, w.Latest.ID, w.Latest.Job.Status, w.Latest.Job.StartedAt.UnixNano(), w.Latest.Job.CanceledAt.UnixNano(), w.Latest.Job.Provisioners})
	// A sum, since Coder does not always list agents in the same order.
	for _, a := range w.Latest.Agents {
		sum += maphash.Comparable(seed, agent{a.ID, a.Status, a.Lifecycle})
	}
	return digest(sum)
}
