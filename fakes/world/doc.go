// Package world is an in-memory model of one Coder deployment: its people, templates,
// workspaces, builds and agents, with Coder's own rules about them. Whoever needs a
// Coder in a test has this one, seen through a front end: the CodeRunner of
// fakes/runner, or the HTTP server of fakes/coderd.
//
// A scenario says beforehand how builds and agents will behave (BuildPlan, AgentPlan).
// The changes take effect when their time has come, at the next call of any method: so
// the world runs on a virtual clock as well as on a real one, and on a virtual clock it
// is deterministic, IDs and order of events included.
//
// Methods that take an actor follow Coder's rules about who may do what and are counted
// (see Requests, Changes). People does what other people do to the deployment
// meanwhile. The rest builds the scenario and looks at its end.
//
// The rules are those of Coder v2.36.1. A comment that says "seen" speaks of a real
// server that was watched, "source" of its source that was read.
package world
