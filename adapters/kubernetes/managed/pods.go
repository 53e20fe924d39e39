package managed

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// coderUser is the user and the group of Coder's image.
const coderUser int64 = 1000

// podSecurity fills what the spec leaves open, field by field: a spec that only asks for
// another group does not give up the rest.
func podSecurity(spec *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s := spec.DeepCopy()
	if s == nil {
		s = &corev1.PodSecurityContext{}
	}
	s.RunAsNonRoot = or(s.RunAsNonRoot, true)
	s.RunAsUser = or(s.RunAsUser, coderUser)
	s.RunAsGroup = or(s.RunAsGroup, coderUser)
	s.FSGroup = or(s.FSGroup, coderUser)
	if s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return s
}

// containerSecurity does the same for the container.
func containerSecurity(spec *corev1.SecurityContext) *corev1.SecurityContext {
	s := spec.DeepCopy()
	if s == nil {
		s = &corev1.SecurityContext{}
	}
	s.AllowPrivilegeEscalation = or(s.AllowPrivilegeEscalation, false)
	if s.Capabilities == nil {
		s.Capabilities = &corev1.Capabilities{}
	}
	if s.Capabilities.Drop == nil {
		s.Capabilities.Drop = []corev1.Capability{"ALL"}
	}
	return s
}

func or[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return value
}

// probe asks Coder whether it is healthy, unless the spec says how to find out.
func probe(spec *corev1.Probe) *corev1.Probe {
	p := spec.DeepCopy()
	if p == nil {
		p = &corev1.Probe{}
	}
	if p.ProbeHandler == (corev1.ProbeHandler{}) {
		p.HTTPGet = &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString(httpName)}
	}
	return p
}

// startupProbe holds the liveness probe back for up to ten minutes: a new version migrates
// the database before it answers, and must not be killed for that.
func startupProbe(liveness *corev1.Probe) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: probe(liveness).ProbeHandler, PeriodSeconds: 5, FailureThreshold: 120}
}
