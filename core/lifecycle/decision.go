package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Decision is what one step does, in the order of its fields: read, store, change
// the hold, send, and then look again.
type Decision struct {
	// Err is a broken assertion; nothing else is set then.
	Err error
	// Read asks for one more observation; nothing else is set then.
	Read Read
	// Record is the next record. It is stored when it differs from the input's.
	Record core.Record
	Hold   HoldChange
	// Expire deletes the record, on the condition that it did not change.
	Expire bool
	// Request is sent after Record was stored; nil for none.
	Request *Request
	// Continue asks again in the same step, after Record was stored.
	Continue bool
	// Fact tells that Record holds the outcome of a create request that was sent:
	// on a conflict it is applied to what is stored by then instead of dropped.
	Fact bool
	// Waits tells that the decision only waits: it may rest on cached reads and on
	// what a stream said.
	Waits bool
	// Live tells that the decision rests on the control plane being gone or on what
	// its policy allows: both record and control plane must have been read live.
	Live bool
	// After is when to look again; 0 means at once. Meaningless when Done.
	After time.Duration
	// Heard is the same for a test whose stream of Watch works; less than After means
	// After.
	Heard time.Duration
	// Watch is the workspace whose stream should wake the test before that.
	Watch uuid.UUID
	// Done tells that there is nothing left to do for this record.
	Done bool
}

// HoldChange says what becomes of the hold.
type HoldChange int

// The hold changes.
const (
	HoldUnchanged HoldChange = iota
	HoldTake
	HoldRelease
)

// RequestKind names a request that changes something in Coder.
type RequestKind int

// The requests.
const (
	RequestCreate RequestKind = iota + 1
	RequestCancel
	RequestDelete
)

// String names the kind as trails and logs show it.
func (k RequestKind) String() string {
	switch k {
	case RequestCreate:
		return "create"
	case RequestCancel:
		return "cancel"
	case RequestDelete:
		return "delete"
	default:
		return "none"
	}
}

// Request changes something in Coder.
type Request struct {
	Kind RequestKind
	// Create is set for RequestCreate.
	Create core.CreateRequest
	// Build and Expected are set for RequestCancel.
	Build    uuid.UUID
	Expected core.JobStatus
	// Workspace is set for RequestCancel and RequestDelete.
	Workspace uuid.UUID
	// Evidence asks to read evidence first, for a failed test: once its workspace
	// is gone, Coder no longer shows the agents' logs.
	Evidence bool
}

// step is one call of Decide: the input, the record that it turns into, and what the
// rule that applies decides about it. It lives on the stack: a wait that changes nothing
// allocates nothing.
type step struct {
	Input
	next    core.Record
	decided Decision
}

// ask asks for an observation.
func (s *step) ask(want Read) *Decision {
	s.decided = Decision{Read: want}
	return &s.decided
}

// read asks for an observation of this kind.
func (s *step) read(kind ReadKind, id uuid.UUID) *Decision { return s.ask(Read{Kind: kind, ID: id}) }

// broken ends the step with a broken assertion.
func (s *step) broken(err error) *Decision {
	s.decided = Decision{Err: err}
	return &s.decided
}

// status is the status that the step writes.
func (s *step) status() *core.Status { return &s.next.Status }

// lookAgain ends the step after which the test looks again.
func (s *step) lookAgain(after time.Duration) *Decision {
	s.decided = Decision{After: after, Watch: s.next.Status.WorkspaceID}
	return &s.decided
}

// heard marks a wait that ends with something that Coder's streams tell, unless it has
// ended in a verdict.
func (s *step) heard(d *Decision) *Decision {
	if d.Waits {
		d.Heard = s.Options.HeardPoll
	}
	return d
}

// complete adds the record to what was decided: every write says which generation it
// saw, and a wait never sleeps past the deadline.
func (s *step) complete(d *Decision) {
	if d.Read.Kind != ReadNothing || d.Err != nil {
		return
	}
	if !d.Expire && !sameStatus(&s.next.Status, &s.Record.Status) {
		s.next.Status.ObservedGeneration = s.next.Generation
	}
	running := s.next.Status.Phase == core.PhasePending || s.next.Status.Phase == core.PhaseRunning
	if running && !s.next.DeletionRequested() && !d.Done && !d.Expire {
		left := max(0, s.deadline().Sub(s.Now))
		d.After, d.Heard = min(d.After, left), min(d.Heard, left)
	}
	d.Record = s.next
}
