//go:build !race

package sim_test

// seeds is how many plans TestSeeds plays.
const seeds = 2000
