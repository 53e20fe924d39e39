// Package evidence is what the operator may do besides its role when it keeps evidence
// (--evidence). It holds no code.
package evidence

//go:generate controller-gen rbac:roleName=assay-operator-evidence,fileName=evidence_role.yaml paths=. output:rbac:dir=../../manifests/rbac
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;update
