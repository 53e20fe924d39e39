//go:build race

package sim_test

// The race detector makes runs ten times slower, and there is little for it: a run has one
// goroutine.
const (
	seeds  = 150
	some   = 311
	varied = 0
	// stories is every how many stories are disturbed.
	stories = 7
)
