// Package porttest holds the conformance suites of the ports: what an
// implementation must do, shown by running it.
//
// The suite of the CodeRunner is a table of facts about Coder that the lifecycle
// relies on. It runs over a real Coder server, the wire-level fake server and the
// in-memory fake alike: where two of them differ, one is wrong.
package porttest
