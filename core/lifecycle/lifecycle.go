package lifecycle

// A rule looks at a step and either decides it or passes it on.
type rule struct {
	name  string
	apply func(*step) (Decision, bool)
}

// rules are tried in this order; the first that applies decides the step. The
// order is part of the contract (lifecycle section 4).
var rules = []rule{
	{"an answer to this step's own request is absorbed", absorbAnswer}, // 5.3, 6.2
	{"a create that this step announced is sent", sendAnnouncedCreate}, // 5.3
	{"a deletion request means cleanup, never new work", stopOnDeletionRequest},
	{"the hold comes before anything else", takeHold},
	{"a new test is initialized", initialize},
	{"a final test only cleans up and expires", finish},                               // 6, 7
	{"a control plane that is gone ends a test that may have a workspace", endOnGone}, // 4.6
	{"the deadline ends the run", endOnDeadline},                                      // 4.7
	{"a test needs a connection", connect},                                            // 5.1
	{"a workspace whose agents were ready is deleted", deleteAfterPass},               // 5.6
	{"a workspace is watched until its agents are ready", awaitReadiness},             // 5.5
	{"a create request whose answer is missing is confirmed", confirmCreate},          // 5.3, 5.4
	{"inputs are resolved, then a create is announced", resolveInputs},                // 5.2, 5.3
}

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
	s := &step{Input: in, next: in.Record}
	if err := assertRecord(&in.Record); err != nil {
		return Decision{Err: err}
	}
	for _, rule := range rules {
		if decision, applies := rule.apply(s); applies {
			return s.bounded(decision)
		}
	}
	return Decision{Err: assertionFailed("no rule applies")}
}
