package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/core/streams"
)

// engine is what the reconciler needs of *lifecycle.Engine.
type engine interface {
	Step(ctx context.Context, test uuid.UUID, seen *core.Workspace) (lifecycle.Next, error)
	streams.Source
}

// testReconciler does one step of a test whenever the work queue says so.
type testReconciler struct {
	engine  engine
	reader  client.Reader
	streams *testStreams
	turns   *turns
	// grace is how long a step in hand may take once the operator ends.
	grace time.Duration
}

var _ reconcile.Reconciler = (*testReconciler)(nil)

// atOnce is the shortest time that the work queue takes for "again": 0 means never.
const atOnce = time.Nanosecond

// Reconcile does one step. A failed step is repeated by the queue, with its backoff.
func (r *testReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	test := &v1alpha1.CoderTemplateTest{}
	err := r.reader.Get(ctx, request.NamespacedName, test)
	if apierrors.IsNotFound(err) {
		r.streams.End(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read test: %w", err)
	}
	id, err := uuid.Parse(string(test.UID))
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("read the UID of the test: %w", err))
	}
	plane := kubernetes.Reference(test.Namespace, test.Spec.ControlPlaneRef.Name)
	done, ok := r.turns.take(plane)
	if !ok {
		return reconcile.Result{RequeueAfter: turnPause}, nil
	}
	defer done()
	ctx, cancel := r.inHand(ctx)
	defer cancel()
	next, err := r.engine.Step(ctx, id, r.streams.Take(request.NamespacedName))
	if err != nil {
		return reconcile.Result{}, err
	}
	if next.Done {
		r.streams.End(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	r.streams.Follow(request.NamespacedName, streams.Target{ControlPlane: plane, Owner: next.Owner, Workspace: next.Watch})
	if r.streams.Working(request.NamespacedName) {
		next.After = max(next.After, next.Heard)
	}
	return reconcile.Result{RequeueAfter: max(next.After, atOnce)}, nil
}

// inHand is the context of a step, which outlives the operator's by the grace: an answer of
// Coder's that is on its way is still stored.
func (r *testReconciler) inHand(ctx context.Context) (step context.Context, end context.CancelFunc) {
	step, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if r.grace <= 0 {
			cancel()
			return
		}
		timer := time.NewTimer(r.grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-step.Done():
		}
	})
	return step, func() {
		stop()
		cancel()
	}
}
