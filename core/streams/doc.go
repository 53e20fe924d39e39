// Package streams tells front ends when something happened to the workspaces of their
// tests, so that a test steps at once and not at its next poll.
//
// A bounded number of workspaces have a stream of their own, the first that ask. The rest
// are read together: one list for each owner, again and again, told of only where it says
// something new. Who waits for a stream gets the next one that becomes free.
//
// What is told here wakes, it proves nothing: streams and lists miss, repeat and delay.
// A test that is not told anything goes on by its own timer, which may be slower while
// Working reports true.
package streams
