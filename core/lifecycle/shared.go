package lifecycle

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// shared has tests that look at the same inputs at the same time ask Coder once. It is for
// reads before the marker alone (lifecycle 5.2): those after it prove something about one
// workspace, and are nobody else's. Which deployment answers is never shared: a marker that
// names one which another has just replaced leaves a workspace that nobody looks for.
//
// An answer counts for maxAge from before it was asked for; for less than 0 never. A create may follow its inputs
// by Options.SendWindow, which is longer: nothing can happen to an answer here that could
// not happen to one of a test's own.
type shared struct {
	clock  ports.Clock
	maxAge time.Duration

	mu      sync.Mutex
	flights map[sharedKey]*flight
	// cleaned is when old flights were dropped last, by the monotonic clock.
	cleaned time.Duration
}

// sharedKey names what is read.
type sharedKey struct {
	// deployment is who answers the test that asks: another one has other owners and
	// templates.
	deployment string
	kind       ReadKind
	// id and owner are what the read is about, name is the rest of it.
	id, owner uuid.UUID
	name      string
}

// flight is a read, on its way or answered.
type flight struct {
	// began is the monotonic time before the read.
	began time.Duration
	// landed is closed once value and err are set.
	landed chan struct{}
	value  any
	err    error
	// again: nobody knows the answer, because whoever asked left or failed. Those who wait
	// ask for themselves.
	again bool
}

func newShared(clock ports.Clock, maxAge time.Duration) *shared {
	return &shared{clock: clock, maxAge: maxAge, flights: make(map[sharedKey]*flight)}
}

// share reads what the key names, or takes the answer of somebody who asked for it lately.
// A failure is shared with those who wait for it, and never kept.
func share[T any](ctx context.Context, s *shared, key sharedKey, read func() (T, error)) (value T, err error) {
	for {
		f, mine := s.join(key)
		if mine {
			return lead(ctx, s, key, f, read)
		}
		select {
		case <-f.landed:
		case <-ctx.Done():
			return value, &core.Failure{Op: "wait for another test's read", Message: ctx.Err().Error()}
		}
		if f.again {
			continue
		}
		value, _ = f.value.(T)
		return value, f.err
	}
}

// join returns the read that counts for the key, or a new one that is the caller's to do.
func (s *shared) join(key sharedKey) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Monotonic()
	if f := s.flights[key]; f != nil && now-f.began <= s.maxAge {
		return f, false
	}
	if now-s.cleaned > s.maxAge {
		s.cleaned = now
		for other, f := range s.flights {
			if now-f.began > s.maxAge {
				delete(s.flights, other)
			}
		}
	}
	f = &flight{began: now, landed: make(chan struct{}), again: true}
	s.flights[key] = f
	return f, true
}

// lead does the read of a flight, on the caller's goroutine.
func lead[T any](ctx context.Context, s *shared, key sharedKey, f *flight, read func() (T, error)) (value T, err error) {
	// Also where the read panics: those who wait must not wait for ever.
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if (f.again || f.err != nil) && s.flights[key] == f {
			delete(s.flights, key)
		}
		close(f.landed)
	}()
	value, err = read()
	// The failure of somebody who left says nothing about Coder.
	f.value, f.err, f.again = value, err, err != nil && ctx.Err() != nil
	return value, err
}

// shares is what a step may read together with others: nil once its test has a marker, a
// workspace or a verdict, or is to go.
func (r *stepRun) shares(inputs *shared) *shared {
	st := &r.in.Record.Status
	if st.WorkspaceID != uuid.Nil || st.HasMarker() || st.Phase.Final() || r.in.Record.DeletionRequested() {
		return nil
	}
	return inputs
}

// sharedResult is result for a read that others may share.
func sharedResult[T any](ctx context.Context, r *stepRun, s *shared, key sharedKey, read func() (T, error)) Result[T] {
	return result(r, func() (T, error) {
		if s == nil {
			return read()
		}
		return share(ctx, s, key, read)
	})
}

// version is the key of a question about a version: its ID, or its name among the
// template's. The key's own ID is the pinned one, if there is one.
func (k sharedKey) version(selector core.VersionSelector, template core.Template) sharedKey {
	switch {
	case k.id != uuid.Nil:
	case selector.Active:
		k.id = template.ActiveVersionID
	case selector.ID != "":
		k.id = core.Spec{Version: selector}.VersionID()
	default:
		k.id, k.name = template.ID, selector.Name
	}
	return k
}

// parameters is the key of a question about parameters.
func (k sharedKey) parameters(query core.ParameterQuery) sharedKey {
	// Quoted, so that no two lists read the same.
	name := strconv.AppendQuote(strconv.AppendBool(nil, query.Classic), query.Preset)
	for _, parameter := range query.Parameters {
		name = strconv.AppendQuote(strconv.AppendQuote(name, parameter.Name), parameter.Value)
	}
	k.id, k.owner, k.name = query.VersionID, query.OwnerID, string(name)
	return k
}
