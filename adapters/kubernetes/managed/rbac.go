package managed

// What the operator may do for managed control planes, beside the role of apps/operator. The
// first lines are for the objects themselves and the Secret with the first user; the last two are what it hands on to Coder,
// since it holds neither escalate nor bind. An end-to-end test deploys as a user with
// exactly this role.
//
//go:generate controller-gen rbac:roleName=assay-operator-managed,fileName=managed_role.yaml paths=. output:rbac:dir=../../../apps/operator/manifests/rbac
//
// +kubebuilder:rbac:groups="",resources=configmaps;serviceaccounts;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;pods,verbs=create;delete;get;list;patch;update;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;delete;get;list;patch;update;watch
