// Package metrics is the role of whoever reads the operator's metrics, for example a
// Prometheus server. It holds no code.
package metrics

//go:generate controller-gen rbac:roleName=assay-operator-metrics-reader,fileName=metrics_reader_role.yaml paths=. output:rbac:dir=../../manifests/rbac
//
// +kubebuilder:rbac:urls=/metrics,verbs=get
