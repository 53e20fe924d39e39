// Package v1alpha1 is the API of assay in a cluster: the kinds CoderTemplateTest and
// CoderControlPlane of the group coder.com.
//
// The custom resource definitions are generated from these types. What they refuse at
// admission is what core.Spec.Validate refuses, rule by rule; a test compares the two on
// a real API server.
//
// +kubebuilder:object:generate=true
// +groupName=coder.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Descriptions are cut at a length that keeps the definitions below the size that
// kubectl apply can take; the reference has them in full.
//
//go:generate controller-gen object paths=.
//go:generate controller-gen crd:maxDescLen=300 paths=. output:crd:dir=../../../apps/operator/manifests/crd
//go:generate crd-ref-docs --config=reference/config.yaml --templates-dir=reference --renderer=markdown --max-depth=4 --log-level=ERROR --source-path=. --output-path=../../../docs/reference/api.md

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "coder.com", Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&CoderTemplateTest{}, &CoderTemplateTestList{},
		&CoderControlPlane{}, &CoderControlPlaneList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
