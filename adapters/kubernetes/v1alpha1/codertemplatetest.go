package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// CleanupFinalizer is the hold of a test: the object stays while its workspace can
	// exist (lifecycle section 1).
	CleanupFinalizer = "coder.com/template-test-cleanup"
	// DeletionPolicyAnnotation says what becomes of the workspace: "delete", the
	// default, or "retain" where the control plane allows it (lifecycle section 6.1).
	DeletionPolicyAnnotation = "coder.com/deletion-policy"
)

// CoderTemplateTest is one run of one version of a Coder template: a throwaway workspace is made from it, every
// agent is waited for, the workspace is deleted, and the result is recorded. Its spec never changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ctt;templatetest,categories=coder
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.template`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.templateVersionName`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CoderTemplateTest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is tested. It cannot be changed: a new version needs a new test.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a test never changes: make a new test"
	// +kubebuilder:validation:XValidation:rule="!has(self.inputsTimeoutSeconds) || self.inputsTimeoutSeconds <= self.timeoutSeconds",fieldPath=".inputsTimeoutSeconds",message="must be at most timeoutSeconds"
	Spec CoderTemplateTestSpec `json:"spec"`
	// How far the test came. Only the operator writes it. Until it does, the generation is none, so that no tool takes a
	// new test for one that has ended.
	//
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CoderTemplateTestStatus `json:"status,omitzero"`
}

// CoderTemplateTestList is a list of tests.
//
// +kubebuilder:object:root=true
type CoderTemplateTestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CoderTemplateTest `json:"items"`
}

// CoderTemplateTestSpec says what is tested.
type CoderTemplateTestSpec struct {
	// The control plane, in the same namespace, that the test runs against.
	//
	// +required
	ControlPlaneRef ControlPlaneReference `json:"controlPlaneRef"`
	// The template as "<organization>.<template>", for example "coder.docker". Coder looks both names up without regard
	// to case.
	//
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=65
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*\.[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$`
	// +kubebuilder:validation:XValidation:rule="self.split('.').all(name, size(name) <= 32)",message="organization and template name have at most 32 characters each"
	// +kubebuilder:validation:XValidation:rule="self.split('.').all(name, !(name in ['new', 'create']))",message="Coder reserves the names new and create"
	Template string `json:"template"`
	// The version of the template: exactly one of name, id and active.
	//
	// +required
	Version TemplateVersionSelector `json:"version"`
	// Values for the parameters of the version. They are stored in plain text: never put secrets here.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Parameters []TemplateParameter `json:"parameters,omitempty"`
	// Name of a preset of the version. Parameters win over it.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Preset string `json:"preset,omitempty"`
	// Bound of the run up to the recorded result, in seconds. Deleting the workspace goes on after it.
	//
	// +optional
	// +kubebuilder:default=900
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=7200
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// Bound of the waits that come before the workspace is created, in seconds: for the control plane, the owner, the
	// template, the version and its import. Without it only timeoutSeconds bounds them.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	InputsTimeoutSeconds *int32 `json:"inputsTimeoutSeconds,omitempty"`
	// How long the finished test is kept after its workspace is gone, in seconds. Without it the test is kept until
	// somebody deletes it.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ControlPlaneReference names a CoderControlPlane of the same namespace.
type ControlPlaneReference struct {
	// Name of the CoderControlPlane.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// TemplateVersionSelector selects one version of a template.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.id), has(self.active)].filter(given, given).size() == 1",message="must set exactly one of name, id and active"
type TemplateVersionSelector struct {
	// Name of the version.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]+([_.-][a-zA-Z0-9]+)*$`
	Name string `json:"name,omitempty"`
	// ID of the version.
	//
	// +optional
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	// +kubebuilder:validation:XValidation:rule="self != '00000000-0000-0000-0000-000000000000'",message="must not be the zero UUID"
	ID string `json:"id,omitempty"`
	// Tests the version that is active when Coder is first asked. It can only be true.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="self",message="can only be true: leave it out, and set name or id"
	Active bool `json:"active,omitempty"`
}

// TemplateParameter is one value for a parameter of a version.
type TemplateParameter struct {
	// Name of the parameter.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name"`
	// Its value, in plain text.
	//
	// +required
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// CoderTemplateTestStatus is the record of a test (lifecycle sections 1 and 3).
type CoderTemplateTestStatus struct {
	// The generation of the spec that the status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Pending until a workspace can exist, Running until the result, then Succeeded or Failed for good.
	//
	// +optional
	// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed
	Phase string `json:"phase,omitempty"`
	// Why the phase is what it is, or what is waited for.
	//
	// +optional
	Reason string `json:"reason,omitempty"`
	// The reason for people; what to do comes first.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// Whom a result speaks about: Passed, TemplateFailed (the version is at fault) or Inconclusive (it could not be judged).
	//
	// +optional
	OutcomeClass string `json:"outcomeClass,omitempty"`
	// What the test waited for last before its result.
	//
	// +optional
	LastWaitReason string `json:"lastWaitReason,omitempty"`
	// Coder's code for a failed build.
	//
	// +optional
	ErrorCode string `json:"errorCode,omitempty"`

	// When the test began and when its result was recorded.
	//
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the verdict was recorded.
	//
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// The identities that the test fixed: whatever is renamed, only these count.
	//
	// +optional
	OrganizationID string `json:"organizationID,omitempty"`
	// The template that was tested.
	//
	// +optional
	TemplateID string `json:"templateID,omitempty"`
	// The version that was tested: pinned the first time that Coder names it.
	//
	// +optional
	TemplateVersionID string `json:"templateVersionID,omitempty"`
	// Its name.
	//
	// +optional
	TemplateVersionName string `json:"templateVersionName,omitempty"`
	// The Coder user that owns the workspace.
	//
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// The name of the test workspace, made of the UID of this object.
	//
	// +optional
	WorkspaceName string `json:"workspaceName,omitempty"`
	// Coder's own ID of the deployment.
	//
	// +optional
	DeploymentID string `json:"deploymentID,omitempty"`
	// The Coder user whose token asked for the workspace.
	//
	// +optional
	OperatorUserID string `json:"operatorUserID,omitempty"`

	// The create marker: set before the request that creates the workspace is sent. Coder's time, in whole seconds.
	//
	// +optional
	CreateAttemptTime *metav1.Time `json:"createAttemptTime,omitempty"`
	// Tells this create request from every other one.
	//
	// +optional
	CreateAttemptID string `json:"createAttemptID,omitempty"`
	// Coder's refusal of that request, noted until reads confirm it.
	//
	// +optional
	CreateAnswer *CreateAnswer `json:"createAnswer,omitempty"`

	// The workspace, once its existence is proven.
	//
	// +optional
	WorkspaceID string `json:"workspaceID,omitempty"`
	// Its first start build.
	//
	// +optional
	StartBuildID string `json:"startBuildID,omitempty"`
	// The start build was seen to run.
	//
	// +optional
	StartBuildRan bool `json:"startBuildRan,omitempty"`
	// When every agent was connected and ready.
	//
	// +optional
	AgentsReadyTime *metav1.Time `json:"agentsReadyTime,omitempty"`
	// The delete build that is waited for.
	//
	// +optional
	DeleteBuildID string `json:"deleteBuildID,omitempty"`
	// How many delete builds of the test failed.
	//
	// +optional
	DeleteAttempts int32 `json:"deleteAttempts,omitempty"`

	// Ready (the test passed), Reconciling (it runs), Stalled (it failed) and WorkspaceDeleted (no workspace of it can exist).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CreateAnswer is a refusal of the create request by Coder.
type CreateAnswer struct {
	// HTTP status code, 400 to 499.
	//
	// +required
	Status int32 `json:"status"`
	// Coder's short message.
	//
	// +optional
	Message string `json:"message,omitempty"`
}
