// Package core is the vocabulary of assay: the test of one Coder template
// version, its spec, its record, and every value that crosses a port.
//
// The package holds no I/O, no clock and no rule of the lifecycle. Rules live in
// core/lifecycle; the words they use live here, so that every adapter and front
// end speaks them without importing the rules.
//
// JSON field names are part of the public contract: they are those of the
// Kubernetes API (group coder.com/v1alpha1), and stores that keep records as JSON
// use the same encoding.
package core
