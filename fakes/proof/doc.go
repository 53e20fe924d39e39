// Package proof measures the tests of core/lifecycle: it changes the rules and the engine
// in one place at a time and looks whether any test notices. A change that none notices,
// a survivor, is a missing test, dead code, or a change that means the same.
//
// All changes, the mutants, are compiled into one copy of the package, each behind a
// switch (Package.Instrument), so that every test binary is built once; the environment
// variable ASSAY_MUTANT says which one is active, none by default. The copies reach the
// compiler by way of `go test -overlay`: the checkout is never modified.
//
// Suites are tried on a mutant until one fails (Suites): the stories of fakes/scenario,
// the unit tests of core/lifecycle, the seeds of fakes/sim, its crash runs. A suite that
// never ends has noticed too. Survivors that mean the same as the original are listed in
// survivors.txt with the reason; the list may neither miss one nor name one too many.
//
// What breaks on a larger scale than one expression (a store that drops the marker, an
// adapter that sends a create twice, a 404 taken for proof, provenance not asked for) is
// shown to be noticed by TestSabotageIsSeen of fakes/sim, from outside the engine.
package proof
