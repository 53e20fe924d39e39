package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// The indexes by which those are found whom a change concerns.
const (
	byControlPlane = "spec.controlPlaneRef.name"
	bySecret       = "secrets"
)

// addIndexes makes the indexes of this file. It is called before the cache is started.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.CoderTemplateTest{}, byControlPlane, func(object client.Object) []string {
		test, ok := object.(*v1alpha1.CoderTemplateTest)
		if !ok {
			return nil
		}
		return []string{test.Spec.ControlPlaneRef.Name}
	})
	if err != nil {
		return fmt.Errorf("index tests by control plane: %w", err)
	}
	err = indexer.IndexField(ctx, &v1alpha1.CoderControlPlane{}, bySecret, func(object client.Object) []string {
		plane, ok := object.(*v1alpha1.CoderControlPlane)
		if !ok {
			return nil
		}
		return secretsOf(plane)
	})
	if err != nil {
		return fmt.Errorf("index control planes by secret: %w", err)
	}
	return nil
}

// secretsOf names the Secrets that a control plane's connection is made of.
func secretsOf(plane *v1alpha1.CoderControlPlane) []string {
	refs := []*v1alpha1.SecretKeyReference{plane.Spec.OperatorAccess.TokenSecretRef, plane.Status.OperatorTokenSecretRef}
	var names []string
	if plane.Spec.External != nil {
		refs = append(refs, plane.Spec.External.CASecretRef)
	}
	for _, ref := range refs {
		if ref != nil && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	if secrets := plane.Spec.TLS.SecretNames; plane.Spec.External == nil && len(secrets) > 0 && !slices.Contains(names, secrets[0]) {
		names = append(names, secrets[0])
	}
	return names
}

// testsOf lists the tests that run against a control plane and are not finished. What
// cannot be listed is woken by its own timer.
func testsOf(reader client.Reader) func(ctx context.Context, plane client.Object) []reconcile.Request {
	return func(ctx context.Context, plane client.Object) []reconcile.Request {
		var list v1alpha1.CoderTemplateTestList
		if err := reader.List(ctx, &list, client.InNamespace(plane.GetNamespace()), client.MatchingFields{byControlPlane: plane.GetName()}); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if waits(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}

// waits reports whether a control plane can matter to a test: one that has its verdict
// and no hold has done with Coder.
func waits(test *v1alpha1.CoderTemplateTest) bool {
	for _, finalizer := range test.Finalizers {
		if finalizer == v1alpha1.CleanupFinalizer {
			return true
		}
	}
	return test.Status.CompletionTime == nil
}

// testsOfSecret lists the tests whose control plane uses a Secret.
func testsOfSecret(reader client.Reader) func(ctx context.Context, secret client.Object) []reconcile.Request {
	tests := testsOf(reader)
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		var list v1alpha1.CoderControlPlaneList
		if err := reader.List(ctx, &list, client.InNamespace(secret.GetNamespace()), client.MatchingFields{bySecret: secret.GetName()}); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			requests = append(requests, tests(ctx, &list.Items[i])...)
		}
		return requests
	}
}

// connectionChanged lets the changes of a control plane pass that can matter to a test:
// of its spec, its URL and its access, and its end. A count of ready pods does not.
func connectionChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.CoderControlPlane)
		if !ok {
			return true
		}
		after, ok := e.ObjectNew.(*v1alpha1.CoderControlPlane)
		if !ok {
			return true
		}
		return before.Generation != after.Generation || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Status.URL != after.Status.URL || before.Status.OperatorAccessReady != after.Status.OperatorAccessReady ||
			tokenSecret(before) != tokenSecret(after)
	}}
}

func tokenSecret(plane *v1alpha1.CoderControlPlane) types.NamespacedName {
	ref := plane.Status.OperatorTokenSecretRef
	if ref == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: ref.Key, Name: ref.Name}
}

// changedByOthers lets the changes of a test pass that people make: of its deletion, its
// hold and what they write on it. What the operator itself writes is its status, and a
// test that it has just stepped need not step for that.
func changedByOthers() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
			!maps.Equal(before.GetAnnotations(), after.GetAnnotations())
	}}
}
