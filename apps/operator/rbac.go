package operator

// What the operator may do: the least that works, checked by the end-to-end tests, whose
// operator runs as a user with exactly this role. Deleting a test is its expiry.
//
//go:generate controller-gen rbac:roleName=assay-operator paths=. output:rbac:dir=manifests/rbac
//
// +kubebuilder:rbac:groups=coder.com,resources=codertemplatetests,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=coder.com,resources=codertemplatetests/status,verbs=update
// +kubebuilder:rbac:groups=coder.com,resources=codercontrolplanes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=coder.com,resources=codercontrolplanes/status,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
