package managed

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// State is how the pods of a managed control plane are.
type State struct {
	// Replicas is how many there shall be, ReadyReplicas how many are ready, of whichever
	// version.
	Replicas, ReadyReplicas int32
	// Current says that all pods are those of the applied spec and available.
	Current bool
	// Problem tells people why pods do not come: a quota that is used up, a rollout that
	// takes too long. It is empty while nothing is known to be wrong.
	Problem string
}

func stateOf(applied *unstructured.Unstructured) (State, error) {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, &d); err != nil {
		return State{}, fmt.Errorf("read the answer for %s: %w", name(applied), err)
	}
	s := State{ReadyReplicas: d.Status.ReadyReplicas}
	if d.Spec.Replicas != nil {
		s.Replicas = *d.Spec.Replicas
	}
	if d.Status.ObservedGeneration < d.Generation {
		// The rest of the status speaks of what was applied before.
		return s, nil
	}
	s.Current = d.Status.UpdatedReplicas == s.Replicas && d.Status.Replicas == s.Replicas &&
		d.Status.AvailableReplicas == s.Replicas
	if !s.Current {
		s.Problem = problemOf(d.Status.Conditions)
	}
	return s, nil
}

// problemOf prefers what keeps pods from being made: a rollout that takes too long is often
// its consequence.
func problemOf(conditions []appsv1.DeploymentCondition) string {
	var problem string
	for _, c := range conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return c.Reason + ": " + c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse:
			problem = c.Reason + ": " + c.Message
		}
	}
	return problem
}
