// Package cli is assay's command line: it tests one template version against a Coder
// deployment, shows how that goes, and tells the verdict by its exit code.
//
// Run is the whole program with everything it touches handed in: arguments, streams,
// environment, clock, signals and the way to Coder. No rule of the lifecycle lives
// here; the engine has them all.
package cli

//go:generate go run ./cmd/clidocs -page ../../docs/reference/cli.md
