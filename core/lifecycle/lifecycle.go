package lifecycle

// Decide says what one step of a test does next. It is pure: the same input gives
// the same decision, and nothing in the input is changed.
//
// A decision with Read set asks for one more observation: make it, put it into
// Input.Seen and ask again. Every other decision ends the step, except one with
// Continue set: store it, then ask again with the stored record.
//
// Decision.Err is set, with nothing else, for a record that breaks an assertion of
// lifecycle section 4.1.
func Decide(in Input) Decision {
	if err := assertRecord(&in.Record); err != nil {
		return Decision{Err: err}
	}
	s := step{Input: in, next: in.Record}
	d := s.decide()
	s.complete(d)
	return *d
}

// decide tries the rules in this order; the first that applies decides the step. The
// order is part of the contract (lifecycle section 4).
//
// A rule looks at a step and either decides it or passes it on with nil. They are called
// by name and not out of a table, which would move the step to the heap.
func (s *step) decide() *Decision {
	switch {
	case applies(absorbAnswer(s)): // an answer to this step's own request is absorbed (5.3, 6.2)
	case applies(sendAnnouncedCreate(s)): // a create that this step announced is sent (5.3)
	case applies(stopOnDeletionRequest(s)): // a deletion request means cleanup, never new work
	case applies(takeHold(s)): // the hold comes before anything else
	case applies(initialize(s)): // a new test is initialized
	case applies(finish(s)): // a final test only cleans up and expires (6, 7)
	case applies(endOnGone(s)): // a control plane that is gone ends a test that may have a workspace (4.6)
	case applies(endOnDeadline(s)): // the deadline ends the run (4.7)
	case applies(connect(s)): // a test needs a connection (5.1)
	case applies(deleteAfterPass(s)): // a workspace whose agents were ready is deleted (5.6)
	case applies(awaitReadiness(s)): // a workspace is watched until its agents are ready (5.5)
	case applies(confirmCreate(s)): // a create request whose answer is missing is confirmed (5.3, 5.4)
	default: // inputs are resolved, then a create is announced (5.2, 5.3)
		return resolveInputs(s)
	}
	return &s.decided
}

// applies reports whether a rule decided its step.
func applies(d *Decision) bool { return d != nil }
