package managed

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

const (
	accessURL = "CODER_ACCESS_URL"
	httpsPort = 443
)

// URL is where programs in the cluster reach the Coder of a managed control plane. With
// certificates that is HTTPS, on the Service's port 443, so that no token crosses the
// network in clear.
func URL(plane *v1alpha1.CoderControlPlane) string {
	spec := complete(plane)
	host := plane.Name + "." + plane.Namespace + ".svc.cluster.local"
	if servesTLS(spec) {
		return "https://" + host
	}
	return fmt.Sprintf("http://%s:%d", host, spec.Service.Port)
}

// ServerName is the name that Coder's certificate is for: the host of the access URL, if
// the spec's extraEnv has it as a plain value. It is empty without certificates, and where
// the certificate has to be for the host of [URL].
func ServerName(plane *v1alpha1.CoderControlPlane) string {
	if !servesTLS(plane.Spec) {
		return ""
	}
	for _, variable := range plane.Spec.ExtraEnv {
		// $(NAME) stands for a value that only the pod knows.
		if variable.Name != accessURL || strings.Contains(variable.Value, "$(") {
			continue
		}
		if address, err := url.Parse(variable.Value); err == nil {
			return address.Hostname()
		}
	}
	return ""
}

func servesTLS(spec v1alpha1.CoderControlPlaneSpec) bool { return len(spec.TLS.SecretNames) > 0 }
