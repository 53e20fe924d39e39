// Package lifecycle holds the rules of a template test (docs/reference/lifecycle.md)
// and the engine that carries them out.
//
// The rules are a pure function, Decide: from the time, the record and what was
// seen to the next record, at most one request that changes something in Coder,
// and when to look again. When a rule needs to know more, the decision is to read
// one more thing, and Decide is asked again with it. There is no context, clock,
// randomness or I/O in it.
//
// Engine is the thin shell around it: it loads the record, reads what Decide asks
// for, stores the decision, and only then sends its request, whose answer is the
// next thing that Decide sees.
//
// Where to find a rule: lifecycle.go reads like a table of contents.
package lifecycle
