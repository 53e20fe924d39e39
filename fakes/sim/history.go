package sim

import (
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
)

// History is what happened in a run, as far as the invariants need to know. Each list is
// in the order of time. Records are shared and never changed.
type History struct {
	// Stored are the changes of records, those by people included.
	Stored []Stored
	// Sent are the changing requests that engines sent, whatever became of them, and
	// Made the workspaces that came of the creates among them.
	Sent []Sent
	Made []Made
	// Steps are the engines' steps.
	Steps []Step
	// Texts are log lines and errors.
	Texts []Text
	// Ends is what became of each test once the world had settled.
	Ends []End
	// Secrets are what no text may hold: tokens, parameter values, agents' names and
	// what templates print.
	Secrets []string
	// Excused says for a test what happened to it that the lifecycle does not promise
	// to survive.
	Excused map[uuid.UUID]string
}

// Stored is one change of a record.
type Stored struct {
	At   time.Duration
	Test uuid.UUID
	// Before is nil for a new record, After for one that disappeared.
	Before, After *core.Record
	// ByEngine tells that an engine changed it and not a person.
	ByEngine bool
	// CanExist says, where the hold went, why a workspace of the test can exist at that
	// moment; empty when none can.
	CanExist string
	// Allowed says, where the hold went, why it may go all the same; empty for no
	// reason.
	Allowed string
	// Passed tells, where the test became Succeeded, that a delete build of its
	// workspace had succeeded by then.
	Passed bool
}

// Sent is a changing request on its way to Coder.
type Sent struct {
	At   time.Duration
	Test uuid.UUID
	Kind lifecycle.RequestKind
	// Build is what a cancel is about, Workspace what a delete is about.
	Build, Workspace uuid.UUID
	// Record is the test's record as it was stored at that moment; nil when it was gone.
	Record *core.Record
	// Earlier says why an earlier create of the test can still take effect or has done
	// so; empty when none can. For creates.
	Earlier string
	// Theft says why the request is about something that the test did not make; empty
	// when it did. For cancels and deletes.
	Theft string
}

// Made is a workspace that a create of a test made.
type Made struct {
	At        time.Duration
	Test      uuid.UUID
	Workspace uuid.UUID
}

// Step is one step of an engine.
type Step struct {
	Test uuid.UUID
	// Began and Ended are by the monotonic clock.
	Began, Ended time.Duration
	// Delayed is the part between them that passed in calls other than requests to Coder.
	Delayed time.Duration
	// Calls and Sent count requests to Coder, and those that change something.
	Calls, Sent int
	Crashed     bool
	Next        lifecycle.Next
	// Err is the step's error, and Injected tells that a fault was its cause.
	Err      error
	Injected bool
	// After is the record as it was stored at the end; nil when it was gone. LeftToRun is
	// the time that it had until its deadline by then.
	After     *core.Record
	LeftToRun time.Duration
}

// Text is something that an engine said.
type Text struct {
	At    time.Duration
	Where string
	Text  string
}

// End is what became of a test.
type End struct {
	Test uuid.UUID
	// Record is as it was stored last, and Gone tells that it has disappeared since.
	Record *core.Record
	Gone   bool
	// Live are the workspaces of the test that live.
	Live []uuid.UUID
	// Policy is what the control plane allows at the end.
	Policy core.Policy
	// PlaneGone tells that the control plane was gone at some time.
	PlaneGone bool
	// NameTaken tells that the owner has a live workspace of the test's name that the
	// test did not make.
	NameTaken bool
	// LookAlike tells that a workspace lives that the test made or can be taken to have
	// made, under another name.
	LookAlike bool
	// Stubborn tells that the delete builds of the test's workspace never succeed.
	Stubborn bool
	// Unreachable says why the deployment that the test is pinned to cannot be reached to
	// the end; empty when it can.
	Unreachable string
}

// Excuse notes that something happened to the test that is not promised to be survived.
func (h *History) Excuse(test uuid.UUID, why string) {
	if h.Excused == nil {
		h.Excused = map[uuid.UUID]string{}
	}
	h.Excused[test] = why
}
