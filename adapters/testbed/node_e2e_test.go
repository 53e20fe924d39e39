package testbed

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pods of a Deployment become ready, follow it to a new version, and go.
func TestNode(t *testing.T) {
	k := RequireKubernetesWithNode(t)
	admin := clientset(t, k.Config())
	namespace := makeNamespace(t, admin)
	deployments := admin.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "some"}
	deployment, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "some"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "some", Image: "example.com/some:v1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := func(replicas int32) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			deployment, err = deployments.Get(ctx, "some", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			s := deployment.Status
			return s.ObservedGeneration == deployment.Generation && s.UpdatedReplicas == replicas &&
				s.ReadyReplicas == replicas && s.Replicas == replicas, nil
		}
	}
	await(t, "three ready pods", ready(3))
	for _, step := range []struct {
		why      string
		image    string
		replicas int32
	}{
		{"a new version", "example.com/some:v2", 3},
		{"fewer pods", "example.com/some:v2", 1},
		{"none", "example.com/some:v2", 0},
	} {
		await(t, step.why, func(ctx context.Context) (bool, error) {
			deployment.Spec.Replicas = &step.replicas
			deployment.Spec.Template.Spec.Containers[0].Image = step.image
			_, err := deployments.Update(ctx, deployment, metav1.UpdateOptions{})
			if !apierrors.IsConflict(err) {
				return err == nil, err
			}
			deployment, err = deployments.Get(ctx, "some", metav1.GetOptions{})
			return false, err
		})
		await(t, step.why, ready(step.replicas))
	}
	await(t, "the pods to go", func(ctx context.Context) (bool, error) {
		pods, err := admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
}

// await asks until something is so.
func await(t *testing.T, what string, so func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(importPause)
	defer tick.Stop()
	for {
		done, err := so(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if done {
			return
		}
		<-tick.C
	}
}
