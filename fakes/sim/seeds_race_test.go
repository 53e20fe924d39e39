//go:build race

package sim_test

// seeds is how many plans TestSeeds plays: the race detector is slow, and a run has one
// goroutine.
const seeds = 400
