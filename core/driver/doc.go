// Package driver runs many tests to their end at once, for front ends that have no
// work queue of their own.
//
// The driver decides when a test takes its next step and nothing else: what a step
// does, and whether it may be done twice, is the engine's. A test steps when its
// stream brings news of its workspace, when the time that its last step asked for
// has come, when somebody else changed its record, and when it is added or woken. A
// test that waits costs a timer and, while it has a workspace, one stream.
package driver
