// Package install derives from the generated definitions and roles what the kustomize
// base and the Helm chart ship of them, so that neither is written by hand.
//
// The operator's role is split: its work goes where tests are, leading goes into the
// namespace of the lease, and asking who may read the metrics belongs to the cluster.
package install

//go:generate go run ./cmd/ship ..
