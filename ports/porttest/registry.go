package porttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// patience bounds how long a row waits for something that the contract promises
// "soon". It only ends a test that would hang.
const patience = 20 * time.Second

// TestRegistry shows that the registry which open makes keeps the contracts of
// ports.WorkspaceStore and ports.TestRegistry. Each row gets an empty one.
func TestRegistry(t *testing.T, open func(t *testing.T) ports.TestRegistry) {
	t.Helper()
	WorkspaceStore(t, func(t *testing.T) StoreFixture {
		registry := open(t)
		return StoreFixture{
			Store: registry,
			Create: func(t *testing.T, record core.Record) core.Record {
				t.Helper()
				return must(registry.Create(t.Context(), record))(t)
			},
			RequestDeletion: func(t *testing.T, id uuid.UUID) {
				t.Helper()
				if err := registry.RequestDeletion(t.Context(), id); err != nil {
					t.Errorf("request deletion: %v", err)
				}
			},
		}
	})
	for _, row := range registryRows {
		t.Run(row.name, func(t *testing.T) {
			registry := open(t)
			t.Logf("contract: %s", row.contract)
			row.run(t, registry)
		})
	}
}

type registryRow struct {
	name     string
	contract string
	run      func(t *testing.T, r ports.TestRegistry)
}

var registryRows = []registryRow{
	{"create", "Create stores a new record, not held, and returns it with its revision", func(t *testing.T, r ports.TestRegistry) {
		record := NewRecord()
		record.Name, record.Held = "nightly", true
		record.Status = fullStatus()
		created := must(r.Create(t.Context(), record))(t)
		record.Held = false
		sameRecord(t, record, created)
		loaded := must(r.Load(t.Context(), record.ID, ports.Live))(t)
		sameRecord(t, record, loaded)
		if created.Revision == "" || created.Revision != loaded.Revision {
			t.Errorf("created revision %q, loaded %q", created.Revision, loaded.Revision)
		}
	}},
	{"create taken", "Create: ErrExists when the ID is taken, nothing was stored", func(t *testing.T, r ports.TestRegistry) {
		first := must(r.Create(t.Context(), NewRecord()))(t)
		second := NewRecord()
		second.ID, second.Name = first.ID, "second"
		_, err := r.Create(t.Context(), second)
		wantError(t, err, ports.ErrExists)
		sameRecord(t, first, must(r.Load(t.Context(), first.ID, ports.Live))(t))
	}},
	{"create at once", "Create from many goroutines: one of them stores the ID", func(t *testing.T, r ports.TestRegistry) {
		record := NewRecord()
		won := countSuccesses(t, 8, ports.ErrExists, func(int) error {
			_, err := r.Create(t.Context(), record)
			return err
		})
		if won != 1 {
			t.Errorf("%d creates of one ID won, want 1", won)
		}
	}},
	{"a new record of a deleted ID", "Delete: a new test of the same identity is never deleted with the old revision", func(t *testing.T, r ports.TestRegistry) {
		old := must(r.Create(t.Context(), NewRecord()))(t)
		noError(t, r.Delete(t.Context(), old))
		again := old
		again.Name = "again"
		again = must(r.Create(t.Context(), again))(t)
		wantError(t, r.Delete(t.Context(), old), ports.ErrConflict)
		sameRecord(t, again, must(r.Load(t.Context(), old.ID, ports.Live))(t))
	}},
	{"list", "List returns every record, oldest first", func(t *testing.T, r ports.TestRegistry) {
		if records := must(r.List(t.Context()))(t); len(records) != 0 {
			t.Fatalf("an empty registry lists %d records", len(records))
		}
		var want []core.Record
		for _, offset := range []time.Duration{2 * time.Hour, time.Millisecond, 0} {
			record := NewRecord()
			record.CreatedAt = record.CreatedAt.Add(offset)
			record.Status = fullStatus()
			want = append([]core.Record{must(r.Create(t.Context(), record))(t)}, want...)
		}
		got := must(r.List(t.Context()))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("list differs (-want +got):\n%s", diff)
		}
	}},
	{"deletion request of a record that is not held", "RequestDeletion: a record that is not held disappears at once", func(t *testing.T, r ports.TestRegistry) {
		record := must(r.Create(t.Context(), NewRecord()))(t)
		noError(t, r.RequestDeletion(t.Context(), record.ID))
		_, err := r.Load(t.Context(), record.ID, ports.Live)
		wantError(t, err, ports.ErrNotFound)
	}},
	{"deletion request repeated", "RequestDeletion: repeating it changes nothing, the time included", func(t *testing.T, r ports.TestRegistry) {
		record := must(r.TakeHold(t.Context(), must(r.Create(t.Context(), NewRecord()))(t)))(t)
		noError(t, r.RequestDeletion(t.Context(), record.ID))
		first := must(r.Load(t.Context(), record.ID, ports.Live))(t)
		noError(t, r.RequestDeletion(t.Context(), record.ID))
		second := must(r.Load(t.Context(), record.ID, ports.Live))(t)
		if !first.DeletionRequested() {
			t.Error("the wish is not stored")
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the repeated request changed the record (-first +second):\n%s", diff)
		}
	}},
	{"wishes about a missing record", "RequestDeletion, SetDeletionPolicy: ErrNotFound when there is none", func(t *testing.T, r ports.TestRegistry) {
		wantError(t, r.RequestDeletion(t.Context(), uuid.New()), ports.ErrNotFound)
		wantError(t, r.SetDeletionPolicy(t.Context(), uuid.New(), "retain"), ports.ErrNotFound)
	}},
	{"deletion policy as written", "SetDeletionPolicy stores what is asked for, as written", func(t *testing.T, r ports.TestRegistry) {
		record := must(r.Create(t.Context(), NewRecord()))(t)
		for _, policy := range []string{"retain", "Retain ", "", "delete"} {
			noError(t, r.SetDeletionPolicy(t.Context(), record.ID, policy))
			if got := must(r.Load(t.Context(), record.ID, ports.Live))(t).DeletionPolicy; got != policy {
				t.Errorf("policy is %q, want %q", got, policy)
			}
		}
	}},
	{"wishes are not lost", "RequestDeletion and SetDeletionPolicy succeed while others save, and a stale save conflicts", func(t *testing.T, r ports.TestRegistry) {
		record := must(r.TakeHold(t.Context(), must(r.Create(t.Context(), NewRecord()))(t)))(t)
		countSuccesses(t, 3, nil, func(i int) error {
			switch i {
			case 0:
				return r.RequestDeletion(t.Context(), record.ID)
			case 1:
				return r.SetDeletionPolicy(t.Context(), record.ID, "retain")
			default:
				for range 10 {
					if err := increment(t.Context(), r, record.ID); err != nil {
						return err
					}
				}
				return nil
			}
		})
		got := must(r.Load(t.Context(), record.ID, ports.Live))(t)
		if !got.DeletionRequested() || got.DeletionPolicy != "retain" || got.Status.DeleteAttempts != 10 {
			t.Errorf("requested %v, policy %q, count %d; want true, retain, 10",
				got.DeletionRequested(), got.DeletionPolicy, got.Status.DeleteAttempts)
		}
		_, err := r.Save(t.Context(), record)
		wantError(t, err, ports.ErrConflict)
	}},
	{"changes", "Changes calls on soon after each record changed in any way", changesAreTold},
	{"changes end with their context", "Changes blocks until ctx is done", func(t *testing.T, r ports.TestRegistry) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Changes(ctx, func(uuid.UUID) {}) }()
		cancel()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("changes: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Changes did not return after its context was canceled")
		}
	}},
}

func changesAreTold(t *testing.T, r ports.TestRegistry) {
	heard := listen(t, r)
	record := must(r.Create(t.Context(), NewRecord()))(t)
	heard.await(t, record.ID, "create")
	record = must(r.TakeHold(t.Context(), record))(t)
	heard.await(t, record.ID, "take hold")
	record.Status.Phase = core.PhasePending
	record = must(r.Save(t.Context(), record))(t)
	heard.await(t, record.ID, "save")
	noError(t, r.SetDeletionPolicy(t.Context(), record.ID, "retain"))
	heard.await(t, record.ID, "deletion policy")
	noError(t, r.RequestDeletion(t.Context(), record.ID))
	heard.await(t, record.ID, "deletion request")
	must(r.ReleaseHold(t.Context(), must(r.Load(t.Context(), record.ID, ports.Live))(t)))(t)
	heard.await(t, record.ID, "release and disappearance")

	other := must(r.Create(t.Context(), NewRecord()))(t)
	heard.await(t, other.ID, "second create")
	noError(t, r.Delete(t.Context(), other))
	heard.await(t, other.ID, "delete")
}

// listener collects what Changes tells.
type listener struct {
	mu    sync.Mutex
	count map[uuid.UUID]int
	news  chan struct{}
}

// listen starts Changes and returns once it was heard to work.
func listen(t *testing.T, r ports.TestRegistry) *listener {
	t.Helper()
	l := &listener{count: map[uuid.UUID]int{}, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Changes(ctx, l.told); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("changes: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })

	// Nothing tells that Changes listens already, so a record is changed until it
	// is heard.
	probe := must(r.Create(t.Context(), NewRecord()))(t)
	for i := 0; !l.heard(probe.ID); i++ {
		if err := r.SetDeletionPolicy(t.Context(), probe.ID, []string{"retain", "delete"}[i%2]); err != nil {
			t.Fatalf("set deletion policy: %v", err)
		}
		select {
		case <-l.news:
		case <-time.After(time.Millisecond):
		}
	}
	return l
}

func (l *listener) told(id uuid.UUID) {
	l.mu.Lock()
	l.count[id]++
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *listener) heard(id uuid.UUID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[id] == 0 {
		return false
	}
	l.count[id] = 0
	return true
}

func (l *listener) await(t *testing.T, id uuid.UUID, what string) {
	t.Helper()
	deadline := time.After(patience)
	for !l.heard(id) {
		select {
		case <-l.news:
		case <-deadline:
			t.Fatalf("Changes did not tell of: %s", what)
		}
	}
}
