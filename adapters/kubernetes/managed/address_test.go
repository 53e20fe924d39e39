package managed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

func TestAddress(t *testing.T) {
	access := func(value string, from *corev1.EnvVarSource) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "FIRST", Value: "https://first.example.com"}, {Name: "CODER_ACCESS_URL", Value: value, ValueFrom: from}}
	}
	secret := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "url"}}
	const plain, tls = "http://coder.tests.svc.cluster.local:80", "https://coder.tests.svc.cluster.local"
	for _, row := range []struct {
		why       string
		spec      v1alpha1.CoderControlPlaneSpec
		env       []corev1.EnvVar
		url, name string
	}{
		{"an object without defaults", v1alpha1.CoderControlPlaneSpec{}, nil, plain, ""},
		{"another port", withPort(8080), nil, "http://coder.tests.svc.cluster.local:8080", ""},
		{"without certificates no name is checked", v1alpha1.CoderControlPlaneSpec{}, access("https://coder.example.com", nil), plain, ""},
		{"the certificate is for the Service", withTLS(withPort(8080)), nil, tls, ""},
		{"the certificate is for the access URL", withTLS(withPort(80)), access("https://coder.example.com:8443/path", nil), tls, "coder.example.com"},
		{"a value that nobody here knows", withTLS(withPort(80)), access("", secret), tls, ""},
		{"a value that only the pod knows", withTLS(withPort(80)), access("https://$(HOST)", nil), tls, ""},
		{"no URL", withTLS(withPort(80)), access("https://a b", nil), tls, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.spec.ExtraEnv = row.env
			plane := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "tests", Name: "coder"}, Spec: row.spec}
			if got := URL(plane); got != row.url {
				t.Errorf("URL is %q, want %q", got, row.url)
			}
			if got := ServerName(plane); got != row.name {
				t.Errorf("server name is %q, want %q", got, row.name)
			}
		})
	}
}
