package managed

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// What a field of the spec is when it is not set. The definition has the same defaults;
// objects that are older than those lack them.
const (
	defaultImage             = "ghcr.io/coder/coder:latest"
	defaultReplicas    int32 = 1
	defaultServiceType       = corev1.ServiceTypeClusterIP
	defaultServicePort int32 = 80
)

// complete returns the spec with its defaults, as a copy.
func complete(plane *v1alpha1.CoderControlPlane) v1alpha1.CoderControlPlaneSpec {
	spec := *plane.Spec.DeepCopy()
	spec.Image = cmp.Or(spec.Image, defaultImage)
	if spec.Replicas == nil {
		spec.Replicas = new(defaultReplicas)
	}
	spec.Service.Type = cmp.Or(spec.Service.Type, defaultServiceType)
	spec.Service.Port = cmp.Or(spec.Service.Port, defaultServicePort)
	return spec
}
