package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

const (
	// managedBy labels what the operator makes.
	managedBy = "app.kubernetes.io/managed-by"
	// planeWorkers is how many control planes are looked at at once.
	planeWorkers = 4
)

// addControlPlanes adds the controller of CoderControlPlane.
func addControlPlanes(
	m manager.Manager, env Env, options Options, planes *kubernetes.ControlPlanes, access *accessKeeper, turns *turns,
) error {
	r := &planeReconciler{
		client: m.GetClient(), live: m.GetAPIReader(), planes: planes, access: access, dial: env.Dial, clock: env.Clock,
		recorder: m.GetEventRecorder("assay-operator"), stepping: turns.any, deployer: noDeployer{},
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	controlled := ctrl.NewControllerManagedBy(m).
		For(&v1alpha1.CoderControlPlane{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, deletionBegan()))).
		WatchesMetadata(secret, handler.EnqueueRequestsFromMapFunc(planesOfSecret(m.GetClient()))).
		WithOptions(controller.Options{MaxConcurrentReconciles: planeWorkers})
	if options.ManagedControlPlanes {
		direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper(), HTTPClient: m.GetHTTPClient()})
		if err != nil {
			return fmt.Errorf("make the client of managed control planes: %w", err)
		}
		r.deployer = managed.New(direct)
		for _, object := range managed.Kinds() {
			controlled = controlled.Owns(object, builder.OnlyMetadata)
		}
	}
	if err := controlled.Complete(r); err != nil {
		return fmt.Errorf("add the controller of control planes: %w", err)
	}
	return nil
}

// deletionBegan lets the beginning of a deletion pass, which is no change of the spec.
func deletionBegan() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// planesOfSecret lists the control planes that a Secret matters to. What cannot be listed
// is looked at again by itself.
func planesOfSecret(reader client.Reader) func(ctx context.Context, secret client.Object) []reconcile.Request {
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		var list v1alpha1.CoderControlPlaneList
		if err := reader.List(ctx, &list, client.InNamespace(secret.GetNamespace()), client.MatchingFields{bySecret: secret.GetName()}); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	}
}

// noDeployer is the deployer of an operator that runs no control planes itself.
type noDeployer struct{}

func (noDeployer) Apply(context.Context, *v1alpha1.CoderControlPlane) (managed.State, error) {
	return managed.State{}, fmt.Errorf(
		"%w: set spec.external to a deployment that somebody else runs, or start the operator with --managed-control-planes: it does not run Coder itself",
		managed.ErrRefused)
}

// Remove has nothing to do: what an operator with other flags deployed is not its own.
func (noDeployer) Remove(context.Context, *v1alpha1.CoderControlPlane) error { return nil }
