//go:build !race

package sim_test

// How much the tests do; cmd/sim does more.
const (
	// seeds is how many plans TestSeeds plays.
	seeds = 2000
	// some is every how many calls a story is disturbed. Each begins at another one.
	some = 23
	// varied is how many plans TestEverythingHappens plays.
	varied = 1500
	// stories is every how many stories are disturbed.
	stories = 1
)
