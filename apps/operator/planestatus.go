package operator

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

// The conditions of a control plane and their reasons. The condition's message says what to
// do.
const (
	conditionAvailable      = "Available"
	conditionOperatorAccess = "OperatorAccess"
	conditionReconciling    = "Reconciling"
	conditionStalled        = "Stalled"

	reasonReady             = "Ready"
	reasonSettled           = "Settled"
	reasonCoderUnavailable  = "CoderUnavailable"
	reasonConnectionInvalid = "ConnectionInvalid"
	reasonRefused           = "DeploymentRefused"
	reasonDeployFailed      = "DeployFailed"
	reasonPodsNotReady      = "PodsNotReady"
	reasonScaledToZero      = "ScaledToZero"
	reasonAccessNotReady    = "OperatorAccessNotReady"
	reasonLeaving           = "WaitingForTests"
)

// When to look at a control plane again that nothing calls attention to.
const (
	lookWhileUnready = 15 * time.Second
	lookWhileReady   = 5 * time.Minute
)

// planeSeen is what a look at a control plane found.
type planeSeen struct {
	url string
	// pods are those of a managed deployment; nil for one that somebody else runs.
	pods *managed.State
	// refused says what people have to change before a managed deployment can be;
	// deployFailed why it could not be made or changed this time.
	refused, deployFailed string
	// invalid says why the connection cannot be used.
	invalid string
	// silent says why Coder could not be asked; empty when it answered.
	silent string
	access accessSeen
}

// statusOf is the status of a control plane: a pure function of what it was and what was
// seen. Only its times come from now.
func statusOf(plane *v1alpha1.CoderControlPlane, seen planeSeen, now time.Time) v1alpha1.CoderControlPlaneStatus {
	status := *plane.Status.DeepCopy()
	status.ObservedGeneration = plane.Generation
	status.URL = seen.url
	status.ReadyReplicas = 0
	if seen.pods != nil {
		status.ReadyReplicas = seen.pods.ReadyReplicas
	}
	status.OperatorTokenSecretRef = seen.access.secret
	if ref := plane.Spec.OperatorAccess.TokenSecretRef; ref != nil {
		status.OperatorTokenSecretRef = ref
	}
	write := func(kind string, is metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: is, Reason: reason, Message: message,
			ObservedGeneration: plane.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	available, reason, message := availability(&seen)
	write(conditionAvailable, available, reason, message)
	status.Phase = v1alpha1.ControlPlanePending
	if available == metav1.ConditionTrue {
		status.Phase = v1alpha1.ControlPlaneReady
	}

	gets, accessReason := accessCondition(&seen)
	// While Coder cannot be asked, what was known last stands: a token does not end with
	// a deployment's pause.
	status.OperatorAccessReady = gets == metav1.ConditionTrue || gets == metav1.ConditionUnknown && plane.Status.OperatorAccessReady
	write(conditionOperatorAccess, gets, accessReason, seen.access.message)

	blocked := seen.refused != "" || seen.access.state == accessBlocked
	switch {
	case blocked && seen.refused != "":
		write(conditionStalled, metav1.ConditionTrue, reasonRefused, seen.refused)
	case blocked:
		write(conditionStalled, metav1.ConditionTrue, reasonAccessNotReady, seen.access.message)
	default:
		write(conditionStalled, metav1.ConditionFalse, reasonSettled, "")
	}
	switch {
	case blocked:
		write(conditionReconciling, metav1.ConditionFalse, reasonSettled, "")
	case available != metav1.ConditionTrue:
		write(conditionReconciling, metav1.ConditionTrue, reason, message)
	case gets != metav1.ConditionTrue:
		write(conditionReconciling, metav1.ConditionTrue, accessReason, seen.access.message)
	case seen.pods != nil && !seen.pods.Current:
		write(conditionReconciling, metav1.ConditionTrue, reasonPodsNotReady, "a rollout is under way")
	default:
		write(conditionReconciling, metav1.ConditionFalse, reasonSettled, "")
	}
	return status
}

// availability says whether Coder can be used: by its pods' own probe where the operator
// runs it, by its answer where somebody else does.
func availability(seen *planeSeen) (is metav1.ConditionStatus, reason, message string) {
	switch {
	case seen.refused != "":
		return metav1.ConditionFalse, reasonRefused, seen.refused
	case seen.deployFailed != "":
		return metav1.ConditionFalse, reasonDeployFailed, seen.deployFailed
	case seen.invalid != "":
		return metav1.ConditionFalse, reasonConnectionInvalid, seen.invalid
	case seen.pods == nil && seen.silent != "":
		return metav1.ConditionFalse, reasonCoderUnavailable, seen.silent
	case seen.pods == nil:
		return metav1.ConditionTrue, reasonReady, "Coder answers"
	case seen.pods.Replicas == 0:
		return metav1.ConditionFalse, reasonScaledToZero, "set replicas to 1 or more: no pod is asked for"
	case seen.pods.ReadyReplicas == 0:
		message := fmt.Sprintf("0 of %d pods are ready", seen.pods.Replicas)
		if seen.pods.Problem != "" {
			message += ": " + seen.pods.Problem
		}
		return metav1.ConditionFalse, reasonPodsNotReady, message
	default:
		return metav1.ConditionTrue, reasonReady, fmt.Sprintf("%d of %d pods are ready", seen.pods.ReadyReplicas, seen.pods.Replicas)
	}
}

func accessCondition(seen *planeSeen) (is metav1.ConditionStatus, reason string) {
	switch seen.access.state {
	case accessReady:
		return metav1.ConditionTrue, reasonReady
	case accessUnknown:
		return metav1.ConditionUnknown, reasonCoderUnavailable
	default:
		return metav1.ConditionFalse, reasonAccessNotReady
	}
}

// nextLook is after how long to look again; 0 when only a change can help.
func nextLook(seen *planeSeen, status *v1alpha1.CoderControlPlaneStatus, now time.Time) time.Duration {
	after := lookWhileReady
	if meta.IsStatusConditionTrue(status.Conditions, conditionReconciling) {
		after = lookWhileUnready
	}
	if at := seen.access.lookAgain; !at.IsZero() {
		after = min(after, max(at.Sub(now), time.Second))
	}
	return after
}
