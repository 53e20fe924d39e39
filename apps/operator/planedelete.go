package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

// lookWhileLeaving is how often a deletion looks whether the tests are done.
const lookWhileLeaving = 2 * time.Second

// finish lets a control plane that is being deleted go, once no test of it has anything to
// clean up, or the time for that is over.
func (r *planeReconciler) finish(ctx context.Context, plane *v1alpha1.CoderControlPlane) (reconcile.Result, error) {
	over := kubernetes.GraceOver(plane)
	if over.IsZero() {
		return reconcile.Result{}, nil
	}
	if left := over.Sub(r.clock.Now()); left > 0 {
		if r.stepping(kubernetes.Reference(plane.Namespace, plane.Name)) {
			// A step that began before the deletion can still announce a create.
			return reconcile.Result{RequeueAfter: min(left, lookWhileLeaving)}, nil
		}
		busy, err := r.busy(ctx, plane)
		if err != nil {
			return reconcile.Result{}, err
		}
		if busy > 0 {
			status := leaving(plane, busy, r.clock.Now())
			return reconcile.Result{RequeueAfter: min(left, lookWhileLeaving)}, r.save(ctx, plane, status)
		}
	}
	before := plane.DeepCopy()
	controllerutil.RemoveFinalizer(plane, v1alpha1.GraceFinalizer)
	err := r.client.Patch(ctx, plane, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("remove the finalizer %s: %w", v1alpha1.GraceFinalizer, err)
	}
	return reconcile.Result{}, nil
}

// busy counts the tests of the control plane that have a workspace to clean up. Those that
// keep theirs do not count.
func (r *planeReconciler) busy(ctx context.Context, plane *v1alpha1.CoderControlPlane) (int, error) {
	var list v1alpha1.CoderTemplateTestList
	if err := r.live.List(ctx, &list, client.InNamespace(plane.Namespace)); err != nil {
		return 0, fmt.Errorf("list the tests of the control plane: %w", err)
	}
	busy := 0
	for i := range list.Items {
		if list.Items[i].Spec.ControlPlaneRef.Name == plane.Name && cleans(&list.Items[i]) {
			busy++
		}
	}
	return busy, nil
}

// cleans reports whether a test has a workspace that the deletion should wait for.
func cleans(test *v1alpha1.CoderTemplateTest) bool {
	status := &test.Status
	if !controllerutil.ContainsFinalizer(test, v1alpha1.CleanupFinalizer) || status.WorkspaceID == "" && status.CreateAttemptTime == nil {
		return false
	}
	deleted := meta.FindStatusCondition(status.Conditions, string(core.ConditionWorkspaceDeleted))
	if deleted == nil {
		return true
	}
	rests := deleted.Reason == string(core.ReasonRetained) || deleted.Reason == string(core.ReasonOwnershipUnknown) && status.WorkspaceID == ""
	return deleted.Status != metav1.ConditionTrue && deleted.Reason != string(core.ReasonControlPlaneGone) && !rests
}

// leaving is the status of a control plane whose deletion waits.
func leaving(plane *v1alpha1.CoderControlPlane, busy int, now time.Time) v1alpha1.CoderControlPlaneStatus {
	status := *plane.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: conditionReconciling, Status: metav1.ConditionTrue, Reason: reasonLeaving,
		Message:            fmt.Sprintf("waits for tests to delete their workspaces, %d are left, until %s at most", busy, kubernetes.GraceOver(plane).UTC().Format(time.RFC3339)),
		ObservedGeneration: plane.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	return status
}
