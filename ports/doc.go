// Package ports holds the interfaces between the lifecycle and everything that
// does I/O. It holds interfaces only: their values are core's, their
// implementations are adapters and fakes, and ports/porttest has one conformance
// suite for each.
package ports

//go:generate moq -out portsmoq/store.go -pkg portsmoq . WorkspaceStore
