package ports

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Errors of a WorkspaceStore and a WorkspaceClaimer. Implementations wrap them.
var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("no such test")
	// ErrConflict: the record changed since it was read; nothing was stored.
	ErrConflict = errors.New("the test's record changed meanwhile")
	// ErrExists: a record of this ID exists already; nothing was stored.
	ErrExists = errors.New("the test exists already")
	// ErrHeld: the record is held, so it stays.
	ErrHeld = errors.New("the test still holds its record")
	// ErrClaimed: another record looks after the workspace; nothing was stored.
	ErrClaimed = errors.New("another test claims the workspace")
)

// Freshness says whether a read may be answered from a cache.
type Freshness int

// The freshnesses.
const (
	// Cached reads may lag behind what is stored.
	Cached Freshness = iota
	// Live reads see everything stored before they began.
	Live
)

// WorkspaceStore keeps the records of tests and so the knowledge of which
// workspaces can exist.
//
// Every method either takes effect as a whole, durably, or returns an error; an
// error other than the ones named can also mean that the effect happened and its
// confirmation was lost. Records are values: changing one that was returned
// changes nothing in the store. A store is safe for concurrent use by many
// goroutines and, where it is a database, by many processes.
type WorkspaceStore interface {
	// Load reads a record with its revision. ErrNotFound when there is none.
	Load(ctx context.Context, id uuid.UUID, fresh Freshness) (core.Record, error)
	// Save stores record.Status if the stored revision is still record.Revision, and
	// returns the record with its new revision. Nothing but the status is taken from
	// record. ErrConflict and ErrNotFound leave everything as it was.
	Save(ctx context.Context, record core.Record) (core.Record, error)
	// TakeHold sets the hold, under the same rule as Save. It is refused with
	// ErrConflict when deletion of the record was requested meanwhile. Taking one
	// that is held is no error. A store whose deletions another server carries out can
	// have one that was under way overtake the hold: the record is gone then, and Save,
	// which comes before each request to Coder, says ErrNotFound.
	TakeHold(ctx context.Context, record core.Record) (core.Record, error)
	// ReleaseHold clears the hold, under the same rule as Save. A record whose
	// deletion is requested disappears with it. Releasing one that is not held is no
	// error.
	ReleaseHold(ctx context.Context, record core.Record) (core.Record, error)
	// Delete removes a record whose hold is released, if it still has
	// record.Revision: ErrConflict otherwise, so that a new test of the same name is
	// never deleted. ErrHeld when it is held. A record that is gone is no error.
	Delete(ctx context.Context, record core.Record) error
	// HolderOf finds the test whose record holds the workspace's ID, read live.
	// ErrNotFound when none does.
	HolderOf(ctx context.Context, workspace uuid.UUID) (test uuid.UUID, err error)
}

// TestRegistry is how the CLI, the HTTP app and the driver make, list and stop
// tests where no API server does it for them. Every database store is one.
type TestRegistry interface {
	WorkspaceStore
	// Create stores a new record, not held, and returns it with its revision.
	// ErrExists when the ID is taken.
	Create(ctx context.Context, record core.Record) (core.Record, error)
	// List returns every record, oldest first.
	List(ctx context.Context) ([]core.Record, error)
	// RequestDeletion stores the wish that the test stops and cleans up; a record
	// that is not held disappears at once. Repeating it changes nothing.
	RequestDeletion(ctx context.Context, id uuid.UUID) error
	// SetDeletionPolicy stores what is asked for the workspace, as written.
	SetDeletionPolicy(ctx context.Context, id uuid.UUID, policy string) error
	// Changes calls on with the ID of each record that changed in any way, soon after
	// it did, until ctx is done. Calls can repeat and can be missed while a process
	// of another store writes: they wake, they prove nothing. It blocks.
	Changes(ctx context.Context, on func(id uuid.UUID)) error
}

// WorkspaceClaimer makes records of workspaces that exist already. A TestRegistry can be
// one.
type WorkspaceClaimer interface {
	// Claim stores a new record as it is, held and with its deletion request, whose status
	// names a workspace, and returns it with its revision. ErrClaimed when another record
	// claims the workspace (core.Record.Claims), ErrExists when the ID is taken by one that
	// does not.
	Claim(ctx context.Context, record core.Record) (core.Record, error)
}
