// Package doctor looks whether a test could run: the connection, the token, the owner, what
// the test's spec names, and what its build depends on. It only reads.
//
// Each check asks Coder its questions (ask.go) and then judges what was seen (judge.go), by
// the rules of core/lifecycle where a test follows one: the doctor and the engine never
// disagree. The list of checks is in checks.go.
package doctor
