package operator

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/ports"
)

// deployer is what the reconciler needs of *managed.Deployer.
type deployer interface {
	Apply(ctx context.Context, plane *v1alpha1.CoderControlPlane) (managed.State, error)
	Remove(ctx context.Context, plane *v1alpha1.CoderControlPlane) error
}

// planeReconciler deploys or connects a control plane, gets the operator in, and says how
// it is.
type planeReconciler struct {
	client   client.Client
	live     client.Reader
	planes   *kubernetes.ControlPlanes
	deployer deployer
	access   *accessKeeper
	dial     ports.Dialer
	clock    ports.Clock
	recorder events.EventRecorder
	// stepping tells whether a step of a test of the control plane is under way.
	stepping func(plane string) bool
}

var _ reconcile.Reconciler = (*planeReconciler)(nil)

// Reconcile looks at a control plane once. A failure of the cluster's is repeated by the
// queue, with its backoff; a Coder that does not answer is looked at again after a while.
func (r *planeReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	plane := &v1alpha1.CoderControlPlane{}
	err := r.client.Get(ctx, request.NamespacedName, plane)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read control plane: %w", err)
	case plane.DeletionTimestamp != nil:
		return r.finish(ctx, plane)
	}
	if err := r.hold(ctx, plane); err != nil {
		return reconcile.Result{}, err
	}
	seen, failure := r.look(ctx, plane)
	status := statusOf(plane, seen, r.clock.Now())
	if err := r.save(ctx, plane, status); err != nil {
		return reconcile.Result{}, err
	}
	if failure != nil {
		return reconcile.Result{}, failure
	}
	return reconcile.Result{RequeueAfter: nextLook(&seen, &status, r.clock.Now())}, nil
}

// hold takes the finalizer by which the deletion waits for tests.
func (r *planeReconciler) hold(ctx context.Context, plane *v1alpha1.CoderControlPlane) error {
	before := plane.DeepCopy()
	if !controllerutil.AddFinalizer(plane, v1alpha1.GraceFinalizer) {
		return nil
	}
	if err := r.client.Patch(ctx, plane, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer %s: %w", v1alpha1.GraceFinalizer, err)
	}
	return nil
}

// look deploys what is to be deployed and asks Coder. The error is one of the cluster's,
// which is worth another try; what was seen until then is told all the same.
func (r *planeReconciler) look(ctx context.Context, plane *v1alpha1.CoderControlPlane) (planeSeen, error) {
	seen := planeSeen{access: accessSeen{secret: plane.Status.OperatorTokenSecretRef, message: "Coder cannot be asked yet"}}
	if err := r.deploy(ctx, plane, &seen); err != nil || seen.refused != "" {
		return seen, err
	}
	reached := plane.DeepCopy()
	reached.Status.URL = seen.url
	connection, problem, err := r.planes.Connection(ctx, reached)
	if err != nil {
		seen.invalid = "the connection's Secrets cannot be read: " + err.Error()
		return seen, err
	}
	if seen.invalid = problem; problem != "" {
		return seen, nil
	}
	runner, err := r.dial(connection)
	if err != nil {
		seen.invalid = "correct the connection: " + err.Error()
		return seen, nil
	}
	if _, err := runner.Deployment(ctx); err != nil {
		seen.silent = err.Error()
		seen.access.message = err.Error()
		return seen, nil
	}
	access, err := r.access.look(ctx, plane, connection)
	if err != nil {
		seen.access.message = err.Error()
		return seen, err
	}
	seen.access = access
	return seen, nil
}

// deploy makes a managed deployment be as the spec says. One that became external loses
// what was deployed for it.
func (r *planeReconciler) deploy(ctx context.Context, plane *v1alpha1.CoderControlPlane, seen *planeSeen) error {
	if external := plane.Spec.External; external != nil {
		seen.url = external.URL
		if plane.Status.URL != managed.URL(plane) {
			return nil
		}
		if err := r.deployer.Remove(ctx, plane); err != nil {
			seen.deployFailed = "what was deployed cannot be removed: " + err.Error()
			seen.url = plane.Status.URL
			return err
		}
		return nil
	}
	seen.url = managed.URL(plane)
	pods, err := r.deployer.Apply(ctx, plane)
	seen.pods = &pods
	switch {
	case errors.Is(err, managed.ErrRefused), apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		seen.refused = err.Error()
		return nil
	case err != nil:
		seen.deployFailed = err.Error()
		return err
	default:
		return nil
	}
}

// save writes the status if it differs, on the revision that was looked at.
func (r *planeReconciler) save(ctx context.Context, plane *v1alpha1.CoderControlPlane, status v1alpha1.CoderControlPlaneStatus) error {
	if equality.Semantic.DeepEqual(plane.Status, status) {
		return nil
	}
	changed := plane.DeepCopy()
	changed.Status = status
	if err := r.client.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("write the status of the control plane: %w", err)
	}
	for _, kind := range []string{conditionAvailable, conditionOperatorAccess} {
		was, is := meta.FindStatusCondition(plane.Status.Conditions, kind), meta.FindStatusCondition(status.Conditions, kind)
		if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		severity := corev1.EventTypeNormal
		if is.Status != "True" {
			severity = corev1.EventTypeWarning
		}
		r.recorder.Eventf(plane, nil, severity, is.Reason, kind, "%s", is.Message)
	}
	return nil
}
