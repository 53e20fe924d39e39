package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// GraceFinalizer keeps a control plane that is being deleted while tests clean up with
	// its token, for a bounded time.
	GraceFinalizer = "coder.com/control-plane-cleanup"
	// DefaultTokenKey is the key of a Secret that a SecretKeyReference without one means.
	DefaultTokenKey = "token"
)

// CoderControlPlane is a Coder deployment that tests run against: one that the operator runs in this namespace, or
// one that somebody else runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ccp,categories=coder
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Access",type=boolean,JSONPath=`.status.operatorAccessReady`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="has(self.spec.external) || oldSelf.hasValue() && !has(oldSelf.value().spec.external) || self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name names the Service of a managed control plane too: it must begin with a letter, consist of at most 63 lower case letters, digits and hyphens, and not end in a hyphen; make one with such a name, or set spec.external"
type CoderControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which deployment it is, and what tests may do there.
	//
	// +optional
	// +kubebuilder:default={}
	Spec CoderControlPlaneSpec `json:"spec,omitzero"`
	// How the deployment is. Only the operator writes it. Until it does, the generation is none, so that no tool takes a
	// new control plane for one that is ready.
	//
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CoderControlPlaneStatus `json:"status,omitzero"`
}

// CoderControlPlaneList is a list of control planes.
//
// +kubebuilder:object:root=true
type CoderControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderControlPlane `json:"items"`
}

// CoderControlPlaneSpec says which deployment it is. With external nothing is deployed, and the fields of a managed
// deployment mean nothing.
type CoderControlPlaneSpec struct {
	// A deployment that somebody else runs. Without it the operator runs one in this namespace.
	//
	// +optional
	External *ExternalControlPlane `json:"external,omitempty"`
	// How the operator gets into Coder.
	//
	// +optional
	OperatorAccess OperatorAccess `json:"operatorAccess,omitzero"`
	// What tests may do. Changing it never restarts Coder.
	//
	// +optional
	TemplateTests TemplateTestPolicy `json:"templateTests,omitzero"`

	// Image of a managed deployment.
	//
	// +optional
	// +kubebuilder:default="ghcr.io/coder/coder:latest"
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`
	// Number of its pods.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// Its Service.
	//
	// +optional
	// +kubebuilder:default={}
	Service ControlPlaneService `json:"service,omitzero"`
	// Further arguments of "coder server". What they set wins over the environment.
	//
	// +optional
	// +listType=atomic
	ExtraArgs []string `json:"extraArgs,omitempty"`
	// Further environment, for example CODER_PG_CONNECTION_URL from a Secret, or the CODER_ACCESS_URL by which people
	// reach Coder; without one it is the Service's. It wins over what the operator sets.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	ExtraEnv []corev1.EnvVar `json:"extraEnv,omitempty"`
	// Further environment from whole ConfigMaps and Secrets. It may bring CODER_ACCESS_URL too; what the operator sets
	// beside that, and extraEnv, wins over it.
	//
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Secrets with which the image is pulled.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// Requests and limits of the container.
	//
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Security context of the container. Where it says nothing, privileges cannot be gained and all capabilities are
	// dropped.
	//
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Security context of the pods. Where it says nothing, they run as user and group 1000, never as root, with the
	// seccomp profile of the container runtime.
	//
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// Whether a pod can serve. Where it says nothing of how, it is GET /healthz.
	//
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// Whether a pod has to be restarted. Where it says nothing of how, it is GET /healthz. It does not begin before Coder
	// has answered once, or for ten minutes, in which Coder may migrate its database.
	//
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// Labels that a node must have for the pods.
	//
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Taints of nodes that the pods put up with.
	//
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Where the pods would rather be, or must be.
	//
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Certificates, with which Coder serves HTTPS.
	//
	// +optional
	TLS ControlPlaneTLS `json:"tls,omitzero"`
	// Further volumes of the pods.
	//
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, !v.name.startsWith('assay-tls-'))",message="names that begin with assay-tls- are those of tls.secretNames: rename the volume"
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Where they are mounted in the container.
	//
	// +optional
	// +listType=atomic
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}

// ExternalControlPlane is a deployment that somebody else runs.
type ExternalControlPlane struct {
	// Address of the deployment, for example "https://coder.example.com". A path is kept. Plain http is taken for this
	// host and for Services of the cluster alone: elsewhere the operator's token would cross the network unencrypted.
	//
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="must be an http or https URL with a host"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('http://') || self.matches('^http://(localhost|127[.][0-9.]+|[[]::1[]]|[^/@:]*[.]svc([.]cluster[.]local)?)(:[0-9]+)?(/.*)?$')",message="must be https unless it is a Service of the cluster: the operator's token would cross the network unencrypted"
	URL string `json:"url"`
	// Certificate authorities that are trusted for it: a key of a Secret in this namespace, in PEM. Without it those of
	// the operator's image are.
	//
	// +optional
	CASecretRef *SecretKeyReference `json:"caSecretRef,omitempty"`
	// The name that its certificate is for, where that is not the URL's host.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// OperatorAccess says how the operator gets into Coder.
type OperatorAccess struct {
	// The session token of the operator user: a key of a Secret in this namespace. Without it the operator makes the first
	// user of a managed deployment that has none yet, and keeps the token in a Secret that the control plane owns.
	//
	// +optional
	TokenSecretRef *SecretKeyReference `json:"tokenSecretRef,omitempty"`
}

// SecretKeyReference names a key of a Secret in the same namespace.
type SecretKeyReference struct {
	// Its name.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Which of its keys.
	//
	// +optional
	// +kubebuilder:default=token
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// TemplateTestPolicy is what the people who run the deployment allow tests (lifecycle section 1).
type TemplateTestPolicy struct {
	// ID of the Coder user that owns the workspaces of tests: a plain member that is used for nothing else, because each
	// start build hands its session token to the template's Terraform.
	//
	// +optional
	OwnerUserID string `json:"ownerUserID,omitempty"`
	// Lets tests keep their workspace with the annotation coder.com/deletion-policy=retain.
	//
	// +optional
	AllowRetain bool `json:"allowRetain,omitempty"`
	// Allows an owner with more roles than a plain member's.
	//
	// +optional
	AllowPrivilegedOwner bool `json:"allowPrivilegedOwner,omitempty"`
	// Allows an owner that is a person, who logs in by OIDC or GitHub.
	//
	// +optional
	AllowPersonalOwner bool `json:"allowPersonalOwner,omitempty"`
}

// ControlPlaneService is the Service of a managed deployment.
type ControlPlaneService struct {
	// How it is exposed.
	//
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// Port of plain HTTP. With tls.secretNames the Service has port 443 too.
	//
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Its annotations, for example those that a cloud's load balancer reads.
	//
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ControlPlaneTLS makes a managed deployment serve HTTPS.
type ControlPlaneTLS struct {
	// Secrets of the type kubernetes.io/tls with its certificates. The first one is for the access URL. The operator then
	// reaches Coder by HTTPS alone, and checks the certificate against the host of the CODER_ACCESS_URL in extraEnv, or
	// against the Service's name if there is none.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	SecretNames []string `json:"secretNames,omitempty"`
}

// ControlPlanePhase says whether a control plane can be used.
type ControlPlanePhase string

// The phases of a control plane.
const (
	ControlPlanePending ControlPlanePhase = "Pending"
	ControlPlaneReady   ControlPlanePhase = "Ready"
)

// CoderControlPlaneStatus says how a deployment is.
type CoderControlPlaneStatus struct {
	// The generation of the spec that the status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Pods of a managed deployment that are ready.
	//
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// Where tests reach Coder.
	//
	// +optional
	URL string `json:"url,omitempty"`
	// Ready once Coder can be reached.
	//
	// +optional
	// +kubebuilder:validation:Enum=Pending;Ready
	Phase ControlPlanePhase `json:"phase,omitempty"`
	// The operator's token works.
	//
	// +optional
	OperatorAccessReady bool `json:"operatorAccessReady,omitempty"`
	// The Secret that holds the operator's token.
	//
	// +optional
	OperatorTokenSecretRef *SecretKeyReference `json:"operatorTokenSecretRef,omitempty"`
	// Available, OperatorAccess, Reconciling and Stalled.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
