package managed

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/testbed"
)

const (
	manifestFolder = "../../../apps/operator/manifests"
	planesFile     = manifestFolder + "/crd/coder.com_codercontrolplanes.yaml"
	roleFile       = manifestFolder + "/rbac/managed_role.yaml"
	// operatorUser has the generated role in the namespaces of the tests, and no other.
	operatorUser = "managed-operator"
)

// stage is a namespace of a real cluster.
type stage struct {
	t *testing.T
	// admin may do everything, operator what the generated role says.
	admin, operator client.WithWatch
	namespace       string
}

var (
	installed  sync.Map
	testScheme = sync.OnceValue(func() *runtime.Scheme {
		log.SetLogger(logr.Discard())
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme, apiextensions.AddToScheme} {
			utilruntime.Must(add(scheme))
		}
		return scheme
	})
)

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOf(t, testbed.RequireKubernetes(t))
}

// newStageOf installs the definition and the role once for each cluster.
func newStageOf(t *testing.T, cluster *testbed.Kubernetes) *stage {
	t.Helper()
	s := &stage{t: t, admin: connect(t, cluster.Config())}
	once, _ := installed.LoadOrStore(cluster, sync.OnceValue(func() error { return install(s.admin) }))
	if err := once.(func() error)(); err != nil {
		t.Fatal(err)
	}
	limited := cluster.User(operatorUser)
	limited.QPS = -1
	s.operator = connect(t, limited)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "managed-"}}
	s.create(namespace)
	s.namespace = namespace.Name
	s.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: s.namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: operatorUser}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "assay-operator-managed"},
	})
	return s
}

func connect(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: testScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// install creates the definition and the role, and waits until the kind is served.
func install(admin client.Client) error {
	ctx := context.Background()
	definition, role := &apiextensions.CustomResourceDefinition{}, &rbacv1.ClusterRole{}
	for file, object := range map[string]client.Object{planesFile: definition, roleFile: role} {
		if err := readManifest(file, object); err != nil {
			return err
		}
		// A cluster that another process runs may have them.
		if err := admin.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return admin.List(ctx, &v1alpha1.CoderControlPlaneList{}) == nil, nil
	})
}

func readManifest(file string, object client.Object) error {
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, object)
}

func (s *stage) create(object client.Object) {
	s.t.Helper()
	if err := s.admin.Create(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
}

// plane makes a control plane on the server.
func (s *stage) plane(name string, spec v1alpha1.CoderControlPlaneSpec) *v1alpha1.CoderControlPlane {
	s.t.Helper()
	plane := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: spec}
	s.create(plane)
	return plane
}

// apply deploys as the operator.
func (s *stage) apply(plane *v1alpha1.CoderControlPlane) State {
	s.t.Helper()
	state, err := New(s.operator).Apply(s.t.Context(), plane)
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

// read gets an object of the stage's namespace.
func (s *stage) read(name string, object client.Object) {
	s.t.Helper()
	if err := s.admin.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, object); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) deployment(name string) *appsv1.Deployment {
	s.t.Helper()
	object := &appsv1.Deployment{}
	s.read(name, object)
	return object
}

func (s *stage) service() *corev1.Service {
	s.t.Helper()
	object := &corev1.Service{}
	s.read("coder", object)
	return object
}

// live reads all objects of a control plane that exist, by what errors call them.
func (s *stage) live(plane *v1alpha1.CoderControlPlane) map[string]*metav1.PartialObjectMetadata {
	s.t.Helper()
	found := map[string]*metav1.PartialObjectMetadata{}
	for _, object := range objects(plane) {
		one, err := New(s.admin).find(s.t.Context(), object)
		if err != nil {
			s.t.Fatal(err)
		}
		if one != nil {
			found[name(object)] = one
		}
	}
	return found
}

// versions are the resource versions of what exists.
func (s *stage) versions(plane *v1alpha1.CoderControlPlane) map[string]string {
	s.t.Helper()
	versions := map[string]string{}
	for name, object := range s.live(plane) {
		versions[name] = object.ResourceVersion
	}
	return versions
}

// settled waits until the controllers have nothing more to write.
func (s *stage) settled(plane *v1alpha1.CoderControlPlane) map[string]string {
	s.t.Helper()
	var last map[string]string
	s.eventually("the controllers to finish", func(context.Context) (bool, error) {
		now := s.versions(plane)
		d := s.deployment(plane.Name)
		done := d.Status.ObservedGeneration == d.Generation && len(d.Status.Conditions) > 0 && maps.Equal(now, last)
		last = now
		return done, nil
	})
	return last
}

func (s *stage) eventually(what string, seen wait.ConditionWithContextFunc) {
	s.t.Helper()
	if err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, 90*time.Second, true, seen); err != nil {
		s.t.Fatalf("wait for %s: %v", what, err)
	}
}
