package managed

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// The ports of the container, by the names that probes and the Service use.
const (
	httpName, httpsName       = "http", "https"
	httpContainer       int32 = 8080
	httpsContainer      int32 = 8443
)

const (
	// tlsVolume begins the names of the volumes with certificates; the definition keeps it
	// from the spec's volumes.
	tlsVolume = "assay-tls-"
	tlsFolder = "/etc/coder/tls/"
	// accessURLAnnotation makes the pods new when their default access URL changes.
	accessURLAnnotation = "coder.com/access-url"
	// graceSeconds give Coder's provisioners time to stop what they run.
	graceSeconds = 60
)

func deployment(plane *v1alpha1.CoderControlPlane, spec v1alpha1.CoderControlPlaneSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: kind(appsv1.SchemeGroupVersion, "Deployment"), ObjectMeta: meta(plane, plane.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector(plane)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(plane), Annotations: podAnnotations(plane)},
				Spec: corev1.PodSpec{
					ServiceAccountName: plane.Name, TerminationGracePeriodSeconds: new(int64(graceSeconds)),
					ImagePullSecrets: spec.ImagePullSecrets, SecurityContext: podSecurity(spec.PodSecurityContext),
					NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Affinity: spec.Affinity,
					Containers: []corev1.Container{container(plane, spec)},
					Volumes:    append(tlsVolumes(spec), spec.Volumes...),
				},
			},
		},
	}
}

// podAnnotations change with the default access URL only where that one counts.
func podAnnotations(plane *v1alpha1.CoderControlPlane) map[string]string {
	if has(plane.Spec.ExtraEnv, accessURL) {
		return nil
	}
	return map[string]string{accessURLAnnotation: URL(plane)}
}

func container(plane *v1alpha1.CoderControlPlane, spec v1alpha1.CoderControlPlaneSpec) corev1.Container {
	port := func(name string, number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	c := corev1.Container{
		Name: "coder", Image: spec.Image,
		Command: []string{"/opt/coder"}, Args: append([]string{"server"}, spec.ExtraArgs...),
		Env: variables(spec), EnvFrom: sources(plane, spec),
		Ports:           []corev1.ContainerPort{port(httpName, httpContainer)},
		SecurityContext: containerSecurity(spec.SecurityContext),
		StartupProbe:    startupProbe(spec.LivenessProbe),
		ReadinessProbe:  probe(spec.ReadinessProbe), LivenessProbe: probe(spec.LivenessProbe),
		VolumeMounts: append(tlsMounts(spec), spec.VolumeMounts...),
	}
	if servesTLS(spec) {
		c.Ports = append(c.Ports, port(httpsName, httpsContainer))
	}
	if spec.Resources != nil {
		c.Resources = *spec.Resources
	}
	return c
}

// variables are the spec's, and those that make Coder listen where the ports say, unless
// the spec has them too.
func variables(spec v1alpha1.CoderControlPlaneSpec) []corev1.EnvVar {
	all := []corev1.EnvVar{{Name: "CODER_HTTP_ADDRESS", Value: fmt.Sprintf("0.0.0.0:%d", httpContainer)}}
	if servesTLS(spec) {
		all = append(all,
			corev1.EnvVar{Name: "CODER_TLS_ENABLE", Value: "true"},
			corev1.EnvVar{Name: "CODER_TLS_ADDRESS", Value: fmt.Sprintf("0.0.0.0:%d", httpsContainer)},
			corev1.EnvVar{Name: "CODER_TLS_CERT_FILE", Value: tlsFiles(spec, corev1.TLSCertKey)},
			corev1.EnvVar{Name: "CODER_TLS_KEY_FILE", Value: tlsFiles(spec, corev1.TLSPrivateKeyKey)},
		)
	}
	all = slices.DeleteFunc(all, func(v corev1.EnvVar) bool { return has(spec.ExtraEnv, v.Name) })
	return append(all, spec.ExtraEnv...)
}

func has(variables []corev1.EnvVar, name string) bool {
	return slices.ContainsFunc(variables, func(v corev1.EnvVar) bool { return v.Name == name })
}

func sources(plane *v1alpha1.CoderControlPlane, spec v1alpha1.CoderControlPlaneSpec) []corev1.EnvFromSource {
	own := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: environmentName(plane)},
	}}
	return append([]corev1.EnvFromSource{own}, spec.EnvFrom...)
}

// tlsFiles are the files with one key of each Secret, as Coder's lists are written.
func tlsFiles(spec v1alpha1.CoderControlPlaneSpec, key string) string {
	files := make([]string, len(spec.TLS.SecretNames))
	for i := range files {
		files[i] = fmt.Sprintf("%s%d/%s", tlsFolder, i, key)
	}
	return strings.Join(files, ",")
}

func tlsVolumes(spec v1alpha1.CoderControlPlaneSpec) []corev1.Volume {
	var volumes []corev1.Volume
	for i, name := range spec.TLS.SecretNames {
		volumes = append(volumes, corev1.Volume{
			Name:         fmt.Sprintf("%s%d", tlsVolume, i),
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}},
		})
	}
	return volumes
}

func tlsMounts(spec v1alpha1.CoderControlPlaneSpec) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for i := range spec.TLS.SecretNames {
		mounts = append(mounts, corev1.VolumeMount{
			Name: fmt.Sprintf("%s%d", tlsVolume, i), MountPath: fmt.Sprintf("%s%d", tlsFolder, i), ReadOnly: true,
		})
	}
	return mounts
}
