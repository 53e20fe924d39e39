package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestState(t *testing.T) {
	quota := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota",
	}
	late := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out",
	}
	fine := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}
	for _, row := range []struct {
		why      string
		replicas int32
		status   appsv1.DeploymentStatus
		want     State
	}{
		{"nobody looked at it yet", 2, appsv1.DeploymentStatus{}, State{Replicas: 2}},
		{
			"what is known is about the former spec", 2,
			appsv1.DeploymentStatus{
				ObservedGeneration: 6, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2, ReadyReplicas: 2,
				Conditions: []appsv1.DeploymentCondition{quota},
			},
			State{Replicas: 2, ReadyReplicas: 2},
		},
		{
			"all are there", 2,
			appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2, ReadyReplicas: 2},
			State{Replicas: 2, ReadyReplicas: 2, Current: true},
		},
		{
			"an old one is still there", 2,
			appsv1.DeploymentStatus{
				ObservedGeneration: 7, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 2, ReadyReplicas: 3,
				Conditions: []appsv1.DeploymentCondition{fine},
			},
			State{Replicas: 2, ReadyReplicas: 3},
		},
		{
			"one is old", 2,
			appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2, ReadyReplicas: 2},
			State{Replicas: 2, ReadyReplicas: 2},
		},
		{
			"one is not available", 2,
			appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1, ReadyReplicas: 1},
			State{Replicas: 2, ReadyReplicas: 1},
		},
		{"none are wanted and none are there", 0, appsv1.DeploymentStatus{ObservedGeneration: 7}, State{Current: true}},
		{
			"the cause comes before the consequence", 1,
			appsv1.DeploymentStatus{ObservedGeneration: 7, Conditions: []appsv1.DeploymentCondition{late, quota}},
			State{Replicas: 1, Problem: "FailedCreate: exceeded quota"},
		},
		{
			"it takes too long", 1,
			appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 1, UpdatedReplicas: 1, Conditions: []appsv1.DeploymentCondition{late}},
			State{Replicas: 1, Problem: "ProgressDeadlineExceeded: timed out"},
		},
		{
			"a problem that is over", 1,
			appsv1.DeploymentStatus{
				ObservedGeneration: 7, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1,
				Conditions: []appsv1.DeploymentCondition{late},
			},
			State{Replicas: 1, ReadyReplicas: 1, Current: true},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Generation: 7},
				Spec:       appsv1.DeploymentSpec{Replicas: &row.replicas}, Status: row.status,
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := stateOf(&unstructured.Unstructured{Object: fields})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
