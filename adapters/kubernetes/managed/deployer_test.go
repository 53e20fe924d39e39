package managed

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/testbed"
)

// The server takes all that is made, each object is the control plane's, and what it
// stores is what was applied.
func TestApply(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"minimal", "everything", "tls"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name).Spec
			plane := s.plane(name, *spec.DeepCopy())
			// The spec as it is stored without defaults.
			plane.Spec = spec
			state := s.apply(plane)
			if want := *complete(plane).Replicas; state.Replicas != want || state.ReadyReplicas != 0 || state.Current {
				t.Errorf("state is %+v, want %d replicas that are not there", state, want)
			}
			live := s.live(plane)
			if len(live) != len(Kinds()) {
				t.Errorf("%d objects exist, want %d", len(live), len(Kinds()))
			}
			for name, object := range live {
				if !metav1.IsControlledBy(object, plane) {
					t.Errorf("%s has owners %v", name, object.OwnerReferences)
				}
				if len(object.ManagedFields) == 0 || object.ManagedFields[0].Manager != FieldManager ||
					object.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
					t.Errorf("%s is not written by server-side apply of %s", name, FieldManager)
				}
			}
		})
	}
}

// Applying again writes nothing, whatever changes in the parts that are not deployed.
func TestApplyAgainWritesNothing(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", load(t, "everything").Spec)
	s.apply(plane)
	before := s.settled(plane)
	s.apply(plane)
	if diff := cmp.Diff(before, s.versions(plane)); diff != "" {
		t.Errorf("the same spec was written again:\n%s", diff)
	}
	plane.Spec.TemplateTests = v1alpha1.TemplateTestPolicy{OwnerUserID: "other", AllowPrivilegedOwner: true}
	plane.Spec.OperatorAccess = v1alpha1.OperatorAccess{}
	if err := s.admin.Update(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	s.apply(plane)
	if diff := cmp.Diff(before, s.versions(plane)); diff != "" {
		t.Errorf("a change of the policy was written:\n%s", diff)
	}
}

// Each field reaches the objects, and leaves them with the spec.
func TestSpecPropagates(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{Replicas: new(int32(0))})
	s.apply(plane)
	original, deployed, served := plane.Spec.DeepCopy(), s.deployment("coder").Spec, s.service().Spec
	pod := func(d *appsv1.Deployment) *corev1.PodSpec { return &d.Spec.Template.Spec }
	coder := func(d *appsv1.Deployment) *corev1.Container { return &pod(d).Containers[0] }
	type seen func(d *appsv1.Deployment, v *corev1.Service) any
	for _, row := range []struct {
		why    string
		change func(*v1alpha1.CoderControlPlaneSpec)
		seen   seen
		want   any
	}{
		{
			"image", func(s *v1alpha1.CoderControlPlaneSpec) { s.Image = "example.com/coder:v1" },
			func(d *appsv1.Deployment, _ *corev1.Service) any { return coder(d).Image }, "example.com/coder:v1",
		},
		{
			"replicas", func(s *v1alpha1.CoderControlPlaneSpec) { s.Replicas = new(int32(2)) },
			func(d *appsv1.Deployment, _ *corev1.Service) any { return *d.Spec.Replicas }, int32(2),
		},
		{
			"service.type", func(s *v1alpha1.CoderControlPlaneSpec) { s.Service.Type = corev1.ServiceTypeNodePort },
			func(_ *appsv1.Deployment, v *corev1.Service) any { return v.Spec.Type }, corev1.ServiceTypeNodePort,
		},
		{
			"service.port", func(s *v1alpha1.CoderControlPlaneSpec) { s.Service.Port = 8080 },
			func(_ *appsv1.Deployment, v *corev1.Service) any {
				return []any{len(v.Spec.Ports), v.Spec.Ports[0].Port}
			},
			[]any{1, int32(8080)},
		},
		{
			"service.annotations", func(s *v1alpha1.CoderControlPlaneSpec) { s.Service.Annotations = map[string]string{"a": "b"} },
			func(_ *appsv1.Deployment, v *corev1.Service) any { return v.Annotations },
			map[string]string{"a": "b"},
		},
		{
			"extraArgs", func(s *v1alpha1.CoderControlPlaneSpec) { s.ExtraArgs = []string{"--verbose"} },
			func(d *appsv1.Deployment, _ *corev1.Service) any { return coder(d).Args },
			[]string{"server", "--verbose"},
		},
		{
			"extraEnv", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.ExtraEnv = []corev1.EnvVar{{Name: "A", Value: "$(CODER_HTTP_ADDRESS)"}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any { return coder(d).Env },
			[]corev1.EnvVar{{Name: "CODER_HTTP_ADDRESS", Value: "0.0.0.0:8080"}, {Name: "A", Value: "$(CODER_HTTP_ADDRESS)"}},
		},
		{
			"envFrom", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "more"}}}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return coder(d).EnvFrom[len(coder(d).EnvFrom)-1].SecretRef.Name
			}, "more",
		},
		{
			"imagePullSecrets", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any { return pod(d).ImagePullSecrets },
			[]corev1.LocalObjectReference{{Name: "registry"}},
		},
		{
			"resources", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any { return coder(d).Resources.Requests.Cpu().String() }, "1500m",
		},
		{
			"securityContext", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return []bool{*coder(d).SecurityContext.ReadOnlyRootFilesystem, *coder(d).SecurityContext.AllowPrivilegeEscalation}
			},
			[]bool{true, false},
		},
		{
			"podSecurityContext", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.PodSecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(4000))}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return []int64{*pod(d).SecurityContext.RunAsUser, *pod(d).SecurityContext.RunAsGroup}
			},
			[]int64{4000, 1000},
		},
		{
			"readinessProbe", func(s *v1alpha1.CoderControlPlaneSpec) { s.ReadinessProbe = &corev1.Probe{PeriodSeconds: 3} },
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return []any{coder(d).ReadinessProbe.PeriodSeconds, coder(d).ReadinessProbe.HTTPGet.Path}
			},
			[]any{int32(3), "/healthz"},
		},
		{
			"livenessProbe", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return []any{coder(d).LivenessProbe.Exec.Command, coder(d).LivenessProbe.HTTPGet == nil}
			},
			[]any{[]string{"true"}, true},
		},
		{
			"nodeSelector", func(s *v1alpha1.CoderControlPlaneSpec) { s.NodeSelector = map[string]string{"a": "b"} },
			func(d *appsv1.Deployment, _ *corev1.Service) any { return pod(d).NodeSelector },
			map[string]string{"a": "b"},
		},
		{
			"tolerations", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any { return pod(d).Tolerations },
			[]corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
		{
			"affinity", func(s *v1alpha1.CoderControlPlaneSpec) { s.Affinity = load(t, "everything").Spec.Affinity },
			func(d *appsv1.Deployment, _ *corev1.Service) any { return pod(d).Affinity }, load(t, "everything").Spec.Affinity,
		},
		{
			"tls.secretNames", func(s *v1alpha1.CoderControlPlaneSpec) { s.TLS.SecretNames = []string{"tls"} },
			func(d *appsv1.Deployment, v *corev1.Service) any {
				return []any{pod(d).Volumes[0].Secret.SecretName, coder(d).VolumeMounts[0].ReadOnly, len(coder(d).Ports), v.Spec.Ports[1].Port}
			},
			[]any{"tls", true, 2, int32(443)},
		},
		{
			"volumes", func(s *v1alpha1.CoderControlPlaneSpec) {
				s.Volumes = []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				s.VolumeMounts = []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
			},
			func(d *appsv1.Deployment, _ *corev1.Service) any {
				return []any{pod(d).Volumes[0].EmptyDir != nil, coder(d).VolumeMounts[0].MountPath}
			},
			[]any{true, "/cache"},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.change(&plane.Spec)
			if err := s.admin.Update(t.Context(), plane); err != nil {
				t.Fatal(err)
			}
			s.apply(plane)
			if diff := cmp.Diff(row.want, row.seen(s.deployment("coder"), s.service())); diff != "" {
				t.Errorf("the field did not arrive (-want +got):\n%s", diff)
			}
			plane.Spec = *original.DeepCopy()
			if err := s.admin.Update(t.Context(), plane); err != nil {
				t.Fatal(err)
			}
			s.apply(plane)
			if diff := cmp.Diff(deployed, s.deployment("coder").Spec); diff != "" {
				t.Errorf("it stayed in the Deployment:\n%s", diff)
			}
			if diff := cmp.Diff(served, s.service().Spec); diff != "" {
				t.Errorf("it stayed in the Service:\n%s", diff)
			}
			if got := s.service().Annotations; len(got) > 0 {
				t.Errorf("annotations stayed: %v", got)
			}
		})
	}
}

func TestDriftIsRepaired(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{
		Replicas: new(int32(0)), Service: v1alpha1.ControlPlaneService{Annotations: map[string]string{"a": "b"}},
	})
	s.apply(plane)
	s.settled(plane)
	deployed, served := s.deployment("coder"), s.service()
	role := &rbacv1.Role{}
	s.read("coder-workspaces", role)
	rules := role.DeepCopy().Rules

	changed := deployed.DeepCopy()
	changed.Spec.Replicas = new(int32(5))
	changed.Spec.Template.Spec.Containers[0].Image = "example.com/other"
	changed.Spec.Template.Spec.SecurityContext.RunAsNonRoot = new(false)
	changed.Labels["app.kubernetes.io/managed-by"] = "other"
	service := served.DeepCopy()
	service.Spec.Selector = map[string]string{"app": "other"}
	service.Annotations["a"] = "c"
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	for _, object := range []client.Object{changed, service, role} {
		if err := s.admin.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "coder"}}
	if err := s.admin.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}

	s.apply(plane)
	if diff := cmp.Diff(deployed.Spec, s.deployment("coder").Spec); diff != "" {
		t.Errorf("Deployment:\n%s", diff)
	}
	if diff := cmp.Diff(deployed.Labels, s.deployment("coder").Labels); diff != "" {
		t.Errorf("labels:\n%s", diff)
	}
	// The old key of the selector is somebody else's field now, which is not ours to remove.
	for key, value := range served.Spec.Selector {
		if got := s.service().Spec.Selector[key]; got != value {
			t.Errorf("selector %s is %q, want %q", key, got, value)
		}
	}
	if got := s.service().Annotations["a"]; got != "b" {
		t.Errorf("annotation is %q, want b", got)
	}
	s.read("coder-workspaces", role)
	if diff := cmp.Diff(rules, role.Rules); diff != "" {
		t.Errorf("Role:\n%s", diff)
	}
	s.read("coder", account)
}

// What others add to the objects stays, also when the operator writes.
func TestForeignFieldsStay(t *testing.T) {
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{Replicas: new(int32(0))})
	s.apply(plane)
	s.settled(plane)
	d, v, account := s.deployment("coder"), s.service(), &corev1.ServiceAccount{}
	s.read("coder", account)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-11-30T00:00:00Z"
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "example.com/sidecar"})
	d.Spec.Template.Spec.PriorityClassName = "system-cluster-critical"
	d.Labels["team"] = "platform"
	v.Annotations = map[string]string{"cloud/address": "10.0.0.9"}
	v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	account.Annotations = map[string]string{"cloud/role": "coder"}
	for _, object := range []client.Object{d, v, account} {
		if err := s.admin.Update(t.Context(), object, client.FieldOwner("somebody")); err != nil {
			t.Fatal(err)
		}
	}
	plane.Spec.Image, plane.Spec.Service.Port = "example.com/coder:v2", 8080
	s.apply(plane)

	after := s.deployment("coder")
	if after.Spec.Template.Spec.Containers[0].Image != "example.com/coder:v2" {
		t.Fatal("the operator's own change did not arrive")
	}
	d.Spec.Template.Spec.Containers[0].Image = "example.com/coder:v2"
	d.Spec.Template.Annotations[accessURLAnnotation] = URL(plane)
	if diff := cmp.Diff(d.Spec, after.Spec); diff != "" {
		t.Errorf("Deployment (-as somebody left it +got):\n%s", diff)
	}
	if diff := cmp.Diff(d.Labels, after.Labels); diff != "" {
		t.Errorf("labels:\n%s", diff)
	}
	served := s.service()
	if !maps.Equal(served.Annotations, v.Annotations) || served.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		t.Errorf("Service: annotations %v, affinity %s", served.Annotations, served.Spec.SessionAffinity)
	}
	s.read("coder", account)
	if account.Annotations["cloud/role"] != "coder" {
		t.Errorf("ServiceAccount: annotations %v", account.Annotations)
	}
}

// A quota that is used up is told to people. Its controller does not run here.
func TestProblemOfARealDeployment(t *testing.T) {
	s := newStage(t)
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none},
	}
	s.create(quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := s.admin.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	s.eventually("the quota to be named", func(ctx context.Context) (bool, error) {
		state, err := New(s.operator).Apply(ctx, plane)
		return strings.Contains(state.Problem, "exceeded quota"), err
	})
}

// Where only restricted pods are admitted, those of a control plane without a word about
// security are; and a rollout is over once its pods are available.
func TestPodsBecomeReady(t *testing.T) {
	s := newStageOf(t, testbed.RequireKubernetesWithNode(t))
	namespace := &corev1.Namespace{}
	s.read(s.namespace, namespace)
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if err := s.admin.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{Replicas: new(int32(2))})
	for _, image := range []string{"example.com/coder:v1", "example.com/coder:v2"} {
		plane.Spec.Image = image
		if state := s.apply(plane); state.Current || state.Problem != "" {
			t.Errorf("with %s just applied the state is %+v", image, state)
		}
		s.eventually("the rollout of "+image, func(context.Context) (bool, error) {
			return s.apply(plane) == State{Replicas: 2, ReadyReplicas: 2, Current: true}, nil
		})
		if got := s.deployment("coder").Spec.Template.Spec.Containers[0].Image; got != image {
			t.Errorf("the image is %s, want %s", got, image)
		}
	}
}

// The objects go with their owner. The collector takes up to half a minute to learn of a
// new kind of owner, which the other tests take too.
func TestObjectsGoWithTheControlPlane(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	plane := s.plane("coder", v1alpha1.CoderControlPlaneSpec{})
	s.apply(plane)
	if err := s.admin.Delete(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	s.eventually("the objects to go", func(context.Context) (bool, error) { return len(s.live(plane)) == 0, nil })
}
