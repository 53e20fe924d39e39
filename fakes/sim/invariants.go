package sim

import (
	"fmt"

	"github.com/google/uuid"
)

// Check is one invariant.
type Check struct {
	// Name begins with the invariant's number in lifecycle section 9.
	Name string
	// Broken lists what breaks it; empty when it holds.
	Broken func(*History) []Violation
}

// Violation is one way in which an invariant does not hold.
type Violation struct {
	// Check is the name of the invariant.
	Check string
	Test  uuid.UUID
	What  string
}

// String is the violation for a report.
func (v Violation) String() string { return fmt.Sprintf("%s: test %s: %s", v.Check, v.Test, v.What) }

// Checks are the invariants, in their order. I7 is not among them: it compares runs, see
// CrashEverywhere.
var Checks = []Check{
	{"I1 no leak", noLeak},
	{"I2 no theft", noTheft},
	{"I3 one create", oneCreate},
	{"I4 final is final", finalIsFinal},
	{"I5 success is a succeeded delete", successIsDeleted},
	{"I6 held while a workspace can exist", heldWhileNeeded},
	{"I8 quiet", quiet},
	{"I9 bounded", bounded},
	{"no broken assertion", noBrokenAssertion},
}

// restartChangesNothing is the name of I7.
const restartChangesNothing = "I7 restart changes nothing"

// Judge is what breaks any of the Checks.
func Judge(h *History) []Violation {
	var all []Violation
	for _, check := range Checks {
		for _, v := range check.Broken(h) {
			v.Check = check.Name
			all = append(all, v)
		}
	}
	return all
}

// findings collects violations.
type findings []Violation

func (f *findings) add(test uuid.UUID, format string, args ...any) {
	*f = append(*f, Violation{Test: test, What: fmt.Sprintf(format, args...)})
}

// noTheft (I2): no request ever changes a workspace that this test did not make. It looks
// at each cancel and delete when it is sent, refused ones included: that Coder refused
// would be luck. A test made a workspace if a create request for it did, or, for a record
// that was lost, if the first build that is not the prebuilds user's is a start build of
// the pinned version by the pinned operator user (proven provenance).
func noTheft(h *History) []Violation {
	var f findings
	for i := range h.Sent {
		if s := &h.Sent[i]; s.Theft != "" {
			f.add(s.Test, "%s at %s: %s", s.Kind, clockTime(s.At), s.Theft)
		}
	}
	return f
}

// noBrokenAssertion (lifecycle section 4.1): no step ends with an error that no fault
// caused. The engine asserts what its own writes guarantee, so such an error is a bug.
func noBrokenAssertion(h *History) []Violation {
	var f findings
	for i := range h.Steps {
		if s := &h.Steps[i]; s.Err != nil && !s.Injected {
			f.add(s.Test, "the step at %s ended with: %v", clockTime(s.Began), s.Err)
		}
	}
	return f
}
