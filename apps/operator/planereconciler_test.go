package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

// pods is a deployer whose pods are as a test says.
type pods struct {
	state   managed.State
	fails   error
	removed int
}

func (p *pods) Apply(context.Context, *v1alpha1.CoderControlPlane) (managed.State, error) {
	return p.state, p.fails
}

func (p *pods) Remove(context.Context, *v1alpha1.CoderControlPlane) error {
	p.removed++
	return p.fails
}

// answering is a Coder that answers who it is, or fails.
type answering struct {
	ports.CodeRunner
	fails error
}

func (a answering) Deployment(context.Context) (core.Deployment, error) {
	return core.Deployment{ID: "one"}, a.fails
}

// planeStage is a reconciler with its surroundings.
type planeStage struct {
	t      *testing.T
	door   *door
	pods   *pods
	coder  answering
	client client.Client
	clock  *clock.Clock
	steps  bool
	r      *planeReconciler
}

func newPlaneStage(t *testing.T, broken interceptor.Funcs, objects ...client.Object) *planeStage {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	s := &planeStage{t: t, clock: clock.New(noon), pods: &pods{}}
	s.door = newDoor(s.clock)
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(broken).
		WithStatusSubresource(&v1alpha1.CoderControlPlane{}, &v1alpha1.CoderTemplateTest{}).WithObjects(objects...).Build()
	planes := kubernetes.NewControlPlanes(s.client, s.client, s.clock)
	s.r = &planeReconciler{
		client: s.client, live: s.client, planes: planes, deployer: s.pods, clock: s.clock, recorder: events.NewFakeRecorder(100),
		access: &accessKeeper{
			dial: s.door.dial, planes: planes, secrets: kubernetes.NewOperatorSecrets(s.client, s.client), clock: s.clock,
			random: strings.NewReader(strings.Repeat("not at all random ", 100)),
		},
		dial:     func(core.Connection) (ports.CodeRunner, error) { return s.coder, nil },
		stepping: func(string) bool { return s.steps },
	}
	return s
}

func managedPlane() *v1alpha1.CoderControlPlane {
	return &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "coder", UID: "plane", Generation: 1}}
}

func (s *planeStage) reconcile() (reconcile.Result, error) {
	return s.r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: "coder"}})
}

// read is the control plane as it is stored; nil once it is gone.
func (s *planeStage) read() *v1alpha1.CoderControlPlane {
	s.t.Helper()
	plane := &v1alpha1.CoderControlPlane{}
	err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: "team", Name: "coder"}, plane)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return plane
}

// step reconciles and compares the phase, and the message of the named condition.
func (s *planeStage) step(why string, phase v1alpha1.ControlPlanePhase, kind, message string) {
	s.t.Helper()
	if _, err := s.reconcile(); err != nil {
		s.t.Fatalf("%s: %v", why, err)
	}
	plane := s.read()
	c := meta.FindStatusCondition(plane.Status.Conditions, kind)
	if plane.Status.Phase != phase || c == nil || !strings.Contains(c.Message, message) {
		s.t.Errorf("%s: phase %s, condition %+v; want %s, %q", why, plane.Status.Phase, c, phase, message)
	}
}

// TestManagedControlPlane is the life of one that the operator runs.
func TestManagedControlPlane(t *testing.T) {
	s := newPlaneStage(t, interceptor.Funcs{}, managedPlane())
	s.pods.state = managed.State{Replicas: 1}
	s.coder.fails = unavailableFailure
	s.step("its pods start", v1alpha1.ControlPlanePending, conditionAvailable, "0 of 1 pods are ready")
	if got := s.read(); got.Status.URL != "http://coder.team.svc.cluster.local:80" || len(got.Finalizers) != 1 {
		t.Errorf("URL %q, finalizers %v", got.Status.URL, got.Finalizers)
	}
	s.pods.state = managed.State{Replicas: 1, ReadyReplicas: 1, Current: true}
	s.coder.fails = nil
	s.step("they are ready, and it has no user", v1alpha1.ControlPlaneReady, conditionOperatorAccess, `the operator is user "root"`)
	if got := s.read().Status; !got.OperatorAccessReady || got.OperatorTokenSecretRef == nil || got.ReadyReplicas != 1 {
		t.Errorf("the status is %+v", got)
	}
	s.coder.fails = unavailableFailure
	s.step("Coder pauses", v1alpha1.ControlPlaneReady, conditionOperatorAccess, "connection refused")
	if got := s.read().Status; !got.OperatorAccessReady || got.OperatorTokenSecretRef == nil {
		t.Error("a pause of Coder's took the token away")
	}
	plane := s.read()
	plane.Spec.External = &v1alpha1.ExternalControlPlane{URL: "https://coder.example.com"}
	if err := s.client.Update(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	s.coder.fails = nil
	s.step("it becomes somebody else's", v1alpha1.ControlPlaneReady, conditionStalled, "set operatorAccess.tokenSecretRef")
	if s.pods.removed != 1 {
		t.Error("what was deployed for it stays")
	}
	s.step("and stays so", v1alpha1.ControlPlaneReady, conditionStalled, "")
	if s.pods.removed != 1 {
		t.Error("it is removed again and again")
	}
}

func TestManagedControlPlaneThatTheOperatorDoesNotRun(t *testing.T) {
	s := newPlaneStage(t, interceptor.Funcs{}, managedPlane())
	s.r.deployer = noDeployer{}
	s.step("the flag is off", v1alpha1.ControlPlanePending, conditionStalled, "--managed-control-planes")
	s.r.deployer = s.pods
	s.pods.fails = fmt.Errorf("apply: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "coder", errors.New("quota")))
	s.step("a quota or a right is missing", v1alpha1.ControlPlanePending, conditionStalled, "quota")
}

// TestControlPlaneWithAFailingCluster has every read and write of the reconciler fail.
func TestControlPlaneWithAFailingCluster(t *testing.T) {
	broken := errors.New("the API server is away")
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "codercontrolplanes"}, "coder", errors.New("changed"))
	leavingPlane := managedPlane()
	leavingPlane.Finalizers = []string{v1alpha1.GraceFinalizer}
	leavingPlane.DeletionTimestamp = &metav1.Time{Time: noon}
	for _, row := range []struct {
		why, want string
		is        error
		plane     *v1alpha1.CoderControlPlane
		funcs     interceptor.Funcs
		deploy    error
	}{
		{"reading", "read control plane", broken, managedPlane(), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return broken
			},
		}, nil},
		{"the finalizer", "add the finalizer", broken, managedPlane(), interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return broken
			},
		}, nil},
		{"the status", "write the status of the control plane", broken, managedPlane(), interceptor.Funcs{
			SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				return broken
			},
		}, nil},
		{"a conflict", "write the status of the control plane", conflict, managedPlane(), interceptor.Funcs{
			SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
				return conflict
			},
		}, nil},
		{"deploying", "apply Deployment", broken, managedPlane(), interceptor.Funcs{}, fmt.Errorf("apply Deployment: %w", broken)},
		{"listing the tests of one that is being deleted", "list the tests", broken, leavingPlane.DeepCopy(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
		}, nil},
		{"letting it go", "remove the finalizer", broken, leavingPlane.DeepCopy(), interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return broken
			},
		}, nil},
	} {
		s := newPlaneStage(t, row.funcs, row.plane)
		s.pods.fails = row.deploy
		_, err := s.reconcile()
		if !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s ends with %v, want %q", row.why, err, row.want)
		}
		if row.deploy != nil {
			if c := meta.FindStatusCondition(s.read().Status.Conditions, conditionAvailable); c.Reason != reasonDeployFailed {
				t.Errorf("%s: the condition is %+v", row.why, c)
			}
		}
	}
}

// TestDeletionWaitsForTests has a control plane stay until its tests are done, and no longer
// than its time.
func TestDeletionWaitsForTests(t *testing.T) {
	test := func() *v1alpha1.CoderTemplateTest {
		test := &v1alpha1.CoderTemplateTest{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "test", Finalizers: []string{v1alpha1.CleanupFinalizer}}}
		test.Spec.ControlPlaneRef.Name, test.Status.WorkspaceID = "coder", "some"
		return test
	}
	begin := func(objects ...client.Object) *planeStage {
		plane := managedPlane()
		plane.Finalizers = []string{v1alpha1.GraceFinalizer}
		s := newPlaneStage(t, interceptor.Funcs{}, append(objects, plane)...)
		if err := s.client.Delete(t.Context(), plane); err != nil {
			t.Fatal(err)
		}
		// The fake stamps the deletion by the real clock: the story goes by that.
		s.clock.Advance(s.read().DeletionTimestamp.Sub(s.clock.Now()))
		return s
	}
	again := func(s *planeStage) time.Duration {
		t.Helper()
		result, err := s.reconcile()
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	t.Run("nobody uses it", func(t *testing.T) {
		s := begin()
		s.steps = true
		if again(s) == 0 || s.read() == nil {
			t.Error("it goes while a step that began before is under way")
		}
		s.steps = false
		if again(s); s.read() != nil {
			t.Error("it stays")
		}
	})
	t.Run("until its tests are done", func(t *testing.T) {
		used := test()
		s := begin(used)
		if got := again(s); got != lookWhileLeaving {
			t.Errorf("looked at again after %s", got)
		}
		if c := meta.FindStatusCondition(s.read().Status.Conditions, conditionReconciling); c == nil || !strings.Contains(c.Message, "1 are left") {
			t.Errorf("it says %+v", c)
		}
		used.Finalizers = nil
		if err := s.client.Update(t.Context(), used); err != nil {
			t.Fatal(err)
		}
		if again(s); s.read() != nil {
			t.Error("it stays")
		}
	})
	t.Run("two minutes at most", func(t *testing.T) {
		s := begin(test())
		s.clock.Advance(kubernetes.Grace - time.Second)
		if got := again(s); got != time.Second || s.read() == nil {
			t.Errorf("looked at again after %s", got)
		}
		s.clock.Advance(time.Second)
		if again(s); s.read() != nil {
			t.Error("it stays")
		}
	})
	t.Run("tests of another one do not matter", func(t *testing.T) {
		other := test()
		other.Spec.ControlPlaneRef.Name = "other"
		if s := begin(other); again(s) != 0 || s.read() != nil {
			t.Error("it stays")
		}
	})
}
