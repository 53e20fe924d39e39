package operator

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/ports"
)

// newEvidence is where evidence goes; nil when nobody asked for it.
func newEvidence(m manager.Manager, options Options, planes ports.ControlPlanes) ports.EvidenceSink {
	if !options.Evidence {
		return nil
	}
	return kubernetes.NewEvidence(m.GetClient(), m.GetAPIReader(), planes)
}
