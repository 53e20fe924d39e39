package porttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// StoreFixture is an empty WorkspaceStore with the ways to bring a record into
// the states that the store itself cannot make. A TestRegistry has them all; for
// a store whose records somebody else makes, such as an API server, they act as
// that somebody.
type StoreFixture struct {
	Store ports.WorkspaceStore
	// Create stores a new record, not held, and returns it as the store reads it.
	Create func(t *testing.T, record core.Record) core.Record
	// RequestDeletion stores the wish that the test stops.
	RequestDeletion func(t *testing.T, id uuid.UUID)
	// NewRecord makes a valid record that Create takes; nil stands for NewRecord of
	// this package.
	NewRecord func() core.Record
	// OvertakenHolds tells that a deletion that is under way can overtake a hold that is
	// taken: the record is gone then. See ports.WorkspaceStore.TakeHold.
	OvertakenHolds bool
}

// WorkspaceStore shows that the store which open makes keeps the contract of
// ports.WorkspaceStore. Each row gets a store of its own.
func WorkspaceStore(t *testing.T, open func(t *testing.T) StoreFixture) {
	t.Helper()
	for _, row := range storeRows {
		t.Run(row.name, func(t *testing.T) {
			f := open(t)
			if f.NewRecord == nil {
				f.NewRecord = NewRecord
			}
			t.Logf("contract: %s", row.contract)
			row.run(t, f)
		})
	}
}

// NewRecord returns a valid record of a new ID that nobody stored yet.
func NewRecord() core.Record {
	return core.Record{
		ID: uuid.New(), Generation: 1,
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Spec: core.Spec{
			Template: "acme.docker", Version: core.VersionSelector{Active: true},
			Parameters:     []core.Parameter{{Name: "region", Value: "élan \"west\"\n"}},
			TimeoutSeconds: 900, ControlPlaneRef: "main",
		},
		DeletionPolicy: string(core.DeletionPolicyDelete),
	}
}

// fullStatus sets every field of a status, so that one a store drops is noticed.
func fullStatus() core.Status {
	at := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	status := core.Status{
		ObservedGeneration: 1, Phase: core.PhaseFailed, Reason: core.ReasonBuildFailed, Message: "the build failed",
		StartTime: at, CompletionTime: at.Add(time.Minute),
		Pins: core.Pins{
			OrganizationID: uuid.New(), TemplateID: uuid.New(), TemplateVersionID: uuid.New(),
			TemplateVersionName: "v2", OwnerID: uuid.New(), WorkspaceName: "ktt-0123456789abcdef0123456789ab",
			DeploymentID: "deployment", OperatorUserID: uuid.New(),
		},
		CreateAttemptTime: at, CreateAttemptID: uuid.New(),
		CreateAnswer: &core.CreateAnswer{Status: 409, Message: "taken"},
		WorkspaceID:  uuid.New(), StartBuildID: uuid.New(), DeleteBuildID: uuid.New(),
		StartBuildRan: true, AgentsReadyTime: at.Add(time.Second), DeleteAttempts: 3,
		OutcomeClass: core.OutcomeTemplateFailed, LastWaitReason: core.ReasonWaitingForBuild, ErrorCode: "X",
	}
	status.SetCondition(at, core.Condition{Type: core.ConditionReady, Status: core.ConditionFalse, Reason: core.ReasonBuildFailed})
	return status
}

type storeRow struct {
	name     string
	contract string
	run      func(t *testing.T, f StoreFixture)
}

var storeRows = []storeRow{
	{"load missing", "Load: ErrNotFound when there is none", func(t *testing.T, f StoreFixture) {
		for _, fresh := range []ports.Freshness{ports.Cached, ports.Live} {
			_, err := f.Store.Load(t.Context(), uuid.New(), fresh)
			wantError(t, err, ports.ErrNotFound)
		}
	}},
	{"save keeps the whole status", "Save stores record.Status and returns the record with its new revision", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		record.Status = fullStatus()
		saved := must(f.Store.Save(t.Context(), record))(t)
		sameRecord(t, record, saved)
		if saved.Revision == record.Revision || saved.Revision == "" {
			t.Errorf("revision after save is %q, was %q", saved.Revision, record.Revision)
		}
		loaded := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
		sameRecord(t, saved, loaded)
		if loaded.Revision != saved.Revision {
			t.Errorf("loaded revision %q, saved %q", loaded.Revision, saved.Revision)
		}
	}},
	{"save takes the status only", "Save: nothing but the status is taken from record", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		changed := record
		changed.Held = true
		changed.DeletionRequestedAt = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		changed.DeletionPolicy = "retain"
		changed.Spec.Template = "other.template"
		changed.Status.Phase = core.PhasePending
		saved := must(f.Store.Save(t.Context(), changed))(t)
		record.Status.Phase = core.PhasePending
		sameRecord(t, record, saved)
		sameRecord(t, record, must(f.Store.Load(t.Context(), record.ID, ports.Live))(t))
	}},
	{"save conflict", "Save: ErrConflict leaves everything as it was", func(t *testing.T, f StoreFixture) {
		old := f.Create(t, f.NewRecord())
		newer := old
		newer.Status.Phase = core.PhasePending
		newer = must(f.Store.Save(t.Context(), newer))(t)
		old.Status.Phase = core.PhaseRunning
		_, err := f.Store.Save(t.Context(), old)
		wantError(t, err, ports.ErrConflict)
		sameRecord(t, newer, must(f.Store.Load(t.Context(), old.ID, ports.Live))(t))
	}},
	{"changes of a missing record", "Save, TakeHold, ReleaseHold: ErrNotFound when the record is gone", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		noError(t, f.Store.Delete(t.Context(), record))
		_, err := f.Store.Save(t.Context(), record)
		wantError(t, err, ports.ErrNotFound)
		_, err = f.Store.TakeHold(t.Context(), record)
		wantError(t, err, ports.ErrNotFound)
		_, err = f.Store.ReleaseHold(t.Context(), record)
		wantError(t, err, ports.ErrNotFound)
	}},
	{"hold taken and released", "TakeHold sets the hold, ReleaseHold clears it; repeating is no error; both return a current revision", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		for _, step := range []struct {
			call func(context.Context, core.Record) (core.Record, error)
			held bool
		}{{f.Store.TakeHold, true}, {f.Store.TakeHold, true}, {f.Store.ReleaseHold, false}, {f.Store.ReleaseHold, false}} {
			record = must(step.call(t.Context(), record))(t)
			loaded := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
			if record.Held != step.held || loaded.Held != step.held {
				t.Fatalf("held: returned %v, stored %v, want %v", record.Held, loaded.Held, step.held)
			}
		}
		record.Status.Phase = core.PhasePending
		must(f.Store.Save(t.Context(), record))(t)
	}},
	{"hold on a stale record", "TakeHold, ReleaseHold: under the same rule as Save, ErrConflict on another revision", func(t *testing.T, f StoreFixture) {
		stale := f.Create(t, f.NewRecord())
		current := must(f.Store.TakeHold(t.Context(), stale))(t)
		_, err := f.Store.ReleaseHold(t.Context(), stale)
		wantError(t, err, ports.ErrConflict)
		must(f.Store.ReleaseHold(t.Context(), current))(t)
		_, err = f.Store.TakeHold(t.Context(), stale)
		wantError(t, err, ports.ErrConflict)
	}},
	{"hold after a deletion request", "TakeHold is refused when deletion of the record was requested meanwhile", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		f.RequestDeletion(t, record.ID)
		_, err := f.Store.TakeHold(t.Context(), record)
		if !errors.Is(err, ports.ErrConflict) && !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("take hold after a deletion request: %v, want a conflict or not found", err)
		}
	}},
	{"deletion request waits for the hold", "ReleaseHold: a record whose deletion is requested disappears with it", func(t *testing.T, f StoreFixture) {
		record := must(f.Store.TakeHold(t.Context(), f.Create(t, f.NewRecord())))(t)
		f.RequestDeletion(t, record.ID)
		requested := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
		if !requested.DeletionRequested() || !requested.Held {
			t.Fatalf("after a deletion request: requested %v, held %v; want both", requested.DeletionRequested(), requested.Held)
		}
		_, err := f.Store.ReleaseHold(t.Context(), record)
		wantError(t, err, ports.ErrConflict)
		must(f.Store.ReleaseHold(t.Context(), requested))(t)
		_, err = f.Store.Load(t.Context(), record.ID, ports.Live)
		wantError(t, err, ports.ErrNotFound)
	}},
	{"delete", "Delete removes a record that has the revision; a record that is gone is no error", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		noError(t, f.Store.Delete(t.Context(), record))
		_, err := f.Store.Load(t.Context(), record.ID, ports.Live)
		wantError(t, err, ports.ErrNotFound)
		noError(t, f.Store.Delete(t.Context(), record))
	}},
	{"delete held", "Delete: ErrHeld when it is held", func(t *testing.T, f StoreFixture) {
		record := must(f.Store.TakeHold(t.Context(), f.Create(t, f.NewRecord())))(t)
		wantError(t, f.Store.Delete(t.Context(), record), ports.ErrHeld)
		sameRecord(t, record, must(f.Store.Load(t.Context(), record.ID, ports.Live))(t))
	}},
	{"delete another revision", "Delete: ErrConflict unless it still has record.Revision", func(t *testing.T, f StoreFixture) {
		old := f.Create(t, f.NewRecord())
		newer := old
		newer.Status.Phase = core.PhasePending
		newer = must(f.Store.Save(t.Context(), newer))(t)
		wantError(t, f.Store.Delete(t.Context(), old), ports.ErrConflict)
		sameRecord(t, newer, must(f.Store.Load(t.Context(), old.ID, ports.Live))(t))
	}},
	{"holder of a workspace", "HolderOf finds the test whose record holds the workspace's ID; ErrNotFound when none does", func(t *testing.T, f StoreFixture) {
		none, one := f.Create(t, f.NewRecord()), f.Create(t, f.NewRecord())
		_, err := f.Store.HolderOf(t.Context(), uuid.Nil)
		wantError(t, err, ports.ErrNotFound)
		one.Status.WorkspaceID = uuid.New()
		one = must(f.Store.Save(t.Context(), one))(t)
		if holder := must(f.Store.HolderOf(t.Context(), one.Status.WorkspaceID))(t); holder != one.ID {
			t.Errorf("holder is %s, want %s (the other is %s)", holder, one.ID, none.ID)
		}
		_, err = f.Store.HolderOf(t.Context(), uuid.New())
		wantError(t, err, ports.ErrNotFound)
		noError(t, f.Store.Delete(t.Context(), one))
		_, err = f.Store.HolderOf(t.Context(), one.Status.WorkspaceID)
		wantError(t, err, ports.ErrNotFound)
	}},
	{"records are values", "changing a record that was returned changes nothing in the store", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		record.Status = fullStatus()
		saved := must(f.Store.Save(t.Context(), record))(t)
		want := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
		for _, r := range []core.Record{record, saved, must(f.Store.Load(t.Context(), record.ID, ports.Cached))(t)} {
			r.Spec.Parameters[0].Value = "changed"
			r.Status.Conditions[0].Message = "changed"
			r.Status.CreateAnswer.Message = "changed"
		}
		got := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
		if got.Spec.Parameters[0].Value == "changed" || got.Status.Conditions[0].Message == "changed" ||
			got.Status.CreateAnswer.Message == "changed" {
			t.Error("a change of a returned record reached the store")
		}
		if want.ID != got.ID {
			t.Errorf("loaded %s, want %s", got.ID, want.ID)
		}
	}},
	{"concurrent saves of one revision", "safe for many goroutines: of writers that read the same revision one wins", func(t *testing.T, f StoreFixture) {
		record := f.Create(t, f.NewRecord())
		const writers = 8
		won := countSuccesses(t, writers, ports.ErrConflict, func(i int) error {
			mine := record
			mine.Status.DeleteAttempts = i + 1
			_, err := f.Store.Save(t.Context(), mine)
			return err
		})
		if won != 1 {
			t.Errorf("%d of %d writers of one revision won, want 1", won, writers)
		}
	}},
	{"no lost updates", "safe for many goroutines: a writer that reloads on a conflict loses nothing", func(t *testing.T, f StoreFixture) {
		const writers, each = 4, 5
		record := f.Create(t, f.NewRecord())
		countSuccesses(t, writers, nil, func(int) error {
			for range each {
				if err := increment(t.Context(), f.Store, record.ID); err != nil {
					return err
				}
			}
			return nil
		})
		got := must(f.Store.Load(t.Context(), record.ID, ports.Live))(t)
		if got.Status.DeleteAttempts != writers*each {
			t.Errorf("counted %d, want %d", got.Status.DeleteAttempts, writers*each)
		}
	}},
	{"hold against a deletion request", "TakeHold and a deletion request at once: whoever was told that it holds, holds", func(t *testing.T, f StoreFixture) {
		for range 10 {
			record := f.Create(t, f.NewRecord())
			requested := make(chan struct{})
			go func() {
				defer close(requested)
				f.RequestDeletion(t, record.ID)
			}()
			held, err := f.Store.TakeHold(t.Context(), record)
			<-requested
			loaded, loadErr := f.Store.Load(t.Context(), record.ID, ports.Live)
			if err == nil && f.OvertakenHolds && errors.Is(loadErr, ports.ErrNotFound) {
				if _, err := f.Store.Save(t.Context(), held); !errors.Is(err, ports.ErrNotFound) {
					t.Fatalf("the record is gone, and saving it ends with %v: a step could go on as if it held", err)
				}
				continue
			}
			if err == nil && (loadErr != nil || !loaded.Held || !held.Held) {
				t.Fatalf("the hold was taken, but the record is gone or not held: %v", loadErr)
			}
			if err != nil && !errors.Is(err, ports.ErrConflict) && !errors.Is(err, ports.ErrNotFound) {
				t.Fatalf("take hold: %v", err)
			}
		}
	}},
}

// increment counts DeleteAttempts up by one, reloading on each conflict.
func increment(ctx context.Context, store ports.WorkspaceStore, id uuid.UUID) error {
	for {
		record, err := store.Load(ctx, id, ports.Live)
		if err != nil {
			return err
		}
		record.Status.DeleteAttempts++
		if _, err = store.Save(ctx, record); !errors.Is(err, ports.ErrConflict) {
			return err
		}
	}
}

// sameRecord compares all but the revision.
func sameRecord(t *testing.T, want, got core.Record) {
	t.Helper()
	want.Revision, got.Revision = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record differs (-want +got):\n%s", diff)
	}
}
