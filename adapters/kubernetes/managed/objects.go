package managed

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// Kinds are the kinds of object that a managed control plane has, to be watched by their
// metadata.
func Kinds() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{},
	}
}

// objects are what the cluster must have for a control plane, in the order in which pods
// need them.
func objects(plane *v1alpha1.CoderControlPlane) []client.Object {
	spec := complete(plane)
	return []client.Object{
		serviceAccount(plane), role(plane), roleBinding(plane),
		environment(plane), service(plane, spec), deployment(plane, spec),
	}
}

// meta is what all objects of a control plane have in common. The owner reference does not
// block the owner's deletion: that would take the right to set the owner's finalizers.
func meta(plane *v1alpha1.CoderControlPlane, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: plane.Namespace, Name: name, Labels: labels(plane),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderControlPlane",
			Name: plane.Name, UID: plane.UID, Controller: new(true),
		}},
	}
}

func labels(plane *v1alpha1.CoderControlPlane) map[string]string {
	all := selector(plane)
	all["app.kubernetes.io/component"] = "control-plane"
	all["app.kubernetes.io/managed-by"] = FieldManager
	return all
}

// selector must never change: the Deployments that exist cannot change theirs.
func selector(plane *v1alpha1.CoderControlPlane) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "coder", "app.kubernetes.io/instance": plane.Name}
}

func kind(version schema.GroupVersion, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version.String(), Kind: name}
}

func workspacesName(plane *v1alpha1.CoderControlPlane) string { return plane.Name + "-workspaces" }

func environmentName(plane *v1alpha1.CoderControlPlane) string { return plane.Name + "-environment" }

func serviceAccount(plane *v1alpha1.CoderControlPlane) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: kind(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: meta(plane, plane.Name),
	}
}

// role is what Terraform needs for workspaces that are Pods or Deployments with volumes.
// The operator must hold all of it, see rbac.go: nobody can grant more than they have.
func role(plane *v1alpha1.CoderControlPlane) *rbacv1.Role {
	verbs := []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	return &rbacv1.Role{
		TypeMeta: kind(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: meta(plane, workspacesName(plane)),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims", "pods"}, Verbs: verbs},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs},
		},
	}
}

func roleBinding(plane *v1alpha1.CoderControlPlane) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: kind(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: meta(plane, workspacesName(plane)),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: workspacesName(plane)},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: plane.Namespace, Name: plane.Name}},
	}
}

// environment holds what the spec's envFrom may set otherwise: of several sources the last
// one wins, and this is the first. Without an access URL Coder would publish itself through
// a tunnel.
func environment(plane *v1alpha1.CoderControlPlane) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: kind(corev1.SchemeGroupVersion, "ConfigMap"), ObjectMeta: meta(plane, environmentName(plane)),
		Data: map[string]string{accessURL: URL(plane)},
	}
}

func service(plane *v1alpha1.CoderControlPlane, spec v1alpha1.CoderControlPlaneSpec) *corev1.Service {
	object := &corev1.Service{
		TypeMeta: kind(corev1.SchemeGroupVersion, "Service"), ObjectMeta: meta(plane, plane.Name),
		Spec: corev1.ServiceSpec{Type: spec.Service.Type, Selector: selector(plane), Ports: servicePorts(spec)},
	}
	object.Annotations = spec.Service.Annotations
	return object
}

// servicePorts leave plain HTTP out where its port is the one of HTTPS.
func servicePorts(spec v1alpha1.CoderControlPlaneSpec) []corev1.ServicePort {
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{
			Name: name, Port: number, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP,
		}
	}
	var ports []corev1.ServicePort
	if !servesTLS(spec) || spec.Service.Port != httpsPort {
		ports = append(ports, port(httpName, spec.Service.Port))
	}
	if servesTLS(spec) {
		ports = append(ports, port(httpsName, httpsPort))
	}
	return ports
}
