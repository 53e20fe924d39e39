package porttest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// ClaimingRegistry is a registry that is a WorkspaceClaimer too.
type ClaimingRegistry interface {
	ports.TestRegistry
	ports.WorkspaceClaimer
}

// WorkspaceClaimer shows that the registry which open makes keeps the contract of
// ports.WorkspaceClaimer. Each row gets an empty one.
func WorkspaceClaimer(t *testing.T, open func(t *testing.T) ClaimingRegistry) {
	t.Helper()
	t.Run("claim", func(t *testing.T) {
		r, record := open(t), claim()
		claimed := must(r.Claim(t.Context(), record))(t)
		sameRecord(t, record, claimed)
		loaded := must(r.Load(t.Context(), record.ID, ports.Live))(t)
		sameRecord(t, record, loaded)
		if !loaded.Held || !loaded.DeletionRequested() || loaded.Revision != claimed.Revision {
			t.Errorf("held %v, deletion requested %v, revision %q after %q; want both as given",
				loaded.Held, loaded.DeletionRequested(), loaded.Revision, claimed.Revision)
		}
		if holder := must(r.HolderOf(t.Context(), record.Status.WorkspaceID))(t); holder != record.ID {
			t.Errorf("holder %v, want %v", holder, record.ID)
		}
		must(r.ReleaseHold(t.Context(), loaded))(t)
		_, err := r.Load(t.Context(), record.ID, ports.Live)
		wantError(t, err, ports.ErrNotFound)
	})
	for _, row := range claimRows {
		t.Run("claim beside "+row.name, func(t *testing.T) {
			r, record := open(t), claim()
			must(r.Create(t.Context(), row.other(record)))(t)
			_, err := r.Claim(t.Context(), record)
			if row.want == nil {
				noError(t, err)
			} else {
				wantError(t, err, row.want)
			}
			want := 2
			if row.want != nil {
				want = 1
			}
			if records := must(r.List(t.Context()))(t); len(records) != want {
				t.Errorf("%d records, want %d: %s", len(records), want, row.why)
			}
		})
	}
	t.Run("claim twice", func(t *testing.T) {
		r, record := open(t), claim()
		must(r.Claim(t.Context(), record))(t)
		_, err := r.Claim(t.Context(), record)
		wantError(t, err, ports.ErrClaimed)
	})
	t.Run("claims at once", func(t *testing.T) {
		r, record := open(t), claim()
		won := countSuccesses(t, 4, ports.ErrClaimed, func(i int) error {
			mine := record
			mine.ID[15] = byte(i)
			_, err := r.Claim(t.Context(), mine)
			return err
		})
		if won != 1 {
			t.Errorf("%d claims of one workspace won, want 1", won)
		}
	})
}

// claimRows say what a record that is stored already means for a claim.
var claimRows = []struct {
	name string
	// other is stored before the record claims its workspace.
	other func(record core.Record) core.Record
	want  error
	why   string
}{
	{"holder of the workspace", func(r core.Record) core.Record {
		other := NewRecord()
		other.Status.WorkspaceID = r.Status.WorkspaceID
		return other
	}, ports.ErrClaimed, "under whatever name: it was renamed"},
	{"running test of the name", func(r core.Record) core.Record {
		other := NewRecord()
		other.ID = sibling(r.ID)
		return other
	}, ports.ErrClaimed, "its create can still be on its way"},
	{"test of the name that has no workspace", func(r core.Record) core.Record {
		other := NewRecord()
		other.ID = sibling(r.ID)
		withoutWorkspace(&other)
		return other
	}, nil, "the workspace is one that it does not know of"},
	{"test of the ID that has no workspace", func(r core.Record) core.Record {
		other := NewRecord()
		other.ID = r.ID
		withoutWorkspace(&other)
		return other
	}, ports.ErrExists, "another ID of the name is free"},
	{"another test", func(core.Record) core.Record { return NewRecord() }, nil, "it is no business of the claim"},
}

// claim is a record as a sweep makes it.
func claim() core.Record {
	record := NewRecord()
	record.Held, record.DeletionRequestedAt = true, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	record.Status.Phase, record.Status.WorkspaceID = core.PhaseRunning, uuid.New()
	return record
}

// sibling is another ID of the same workspace name.
func sibling(id uuid.UUID) uuid.UUID {
	id[15]++
	return id
}

func withoutWorkspace(record *core.Record) {
	record.Status.Phase = core.PhaseFailed
	record.Status.SetCondition(record.CreatedAt, core.Condition{
		Type: core.ConditionWorkspaceDeleted, Status: core.ConditionTrue, Reason: core.ReasonNotCreated,
	})
}
