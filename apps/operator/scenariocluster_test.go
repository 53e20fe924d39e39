package operator

import (
	"context"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/scenario"
)

// The namespace of a story, and the Secret of its control plane.
const (
	storyNamespace = "team"
	storySecret    = "coder-token"
)

// memory is the objects of a cluster in memory. It answers as an API server does about
// revisions, the status and finalizers.
type memory struct {
	t *testing.T
	client.WithWatch
	scheme *runtime.Scheme
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	// The operator's scheme knows every kind of Kubernetes, which takes a fake long to look at.
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.CoderTemplateTest{}, &v1alpha1.CoderControlPlane{}).Build()
	return &memory{t: t, WithWatch: objects, scheme: scheme}
}

// manager makes a manager that differs from the operator's in that its caches are fed,
// and its writes go, in memory.
func (m *memory) manager() (manager.Manager, error) {
	skip := true
	return manager.New(&rest.Config{}, manager.Options{
		Scheme: m.scheme, Controller: config.Controller{SkipNameValidation: &skip},
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return kinds(), nil },
		NewCache: func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			options.NewInformer = func(_ toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
				return toolscache.NewSharedIndexInformer(m.source(of), of, resync, indexers)
			}
			return cache.New(config, options)
		},
		NewClient: func(_ *rest.Config, options client.Options) (client.Client, error) {
			return &split{WithWatch: m.WithWatch, reads: options.Cache.Reader}, nil
		},
	})
}

// kinds are what the cluster knows.
func kinds() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"CoderTemplateTest", "CoderControlPlane"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	return mapper
}

// split reads from a cache and writes at the source.
type split struct {
	client.WithWatch
	reads client.Reader
}

func (s *split) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return s.reads.Get(ctx, key, object, options...)
}

func (s *split) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.reads.List(ctx, list, options...)
}

// source lists and watches the objects of a kind.
func (m *memory) source(of runtime.Object) toolscache.ListerWatcher {
	list := func() client.ObjectList {
		switch of.(type) {
		case *v1alpha1.CoderTemplateTest:
			return &v1alpha1.CoderTemplateTestList{}
		case *v1alpha1.CoderControlPlane:
			return &v1alpha1.CoderControlPlaneList{}
		default:
			secrets := &metav1.PartialObjectMetadataList{}
			secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
			return secrets
		}
	}
	return toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			all := list()
			return all, m.List(ctx, all)
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			if _, metadata := of.(*metav1.PartialObjectMetadata); !metadata {
				return m.Watch(ctx, list())
			}
			changes, err := m.Watch(ctx, &corev1.SecretList{})
			if err != nil {
				return nil, err
			}
			return watch.Filter(changes, onlyMetadata), nil
		},
	}, listsFirst{})
}

// listsFirst tells a reflector that it has to list before it watches.
type listsFirst struct{}

// IsWatchListSemanticsUnSupported is how a reflector asks.
func (listsFirst) IsWatchListSemanticsUnSupported() bool { return true }

func onlyMetadata(change watch.Event) (watch.Event, bool) {
	if secret, ok := change.Object.(*corev1.Secret); ok {
		object := &metav1.PartialObjectMetadata{ObjectMeta: secret.ObjectMeta}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		change.Object = object
	}
	return change, true
}

// must fails the story for what cannot fail in memory.
func (m *memory) must(err error) {
	if err != nil {
		m.t.Error(err)
	}
}

// records is the test as an object, and what people do to it.
type records struct {
	*kubernetes.Store
	objects *memory
	// test is the object's name.
	test types.NamespacedName
}

var _ scenario.Records = (*records)(nil)

// Create applies the test. Nobody but an API server gives it a UID and dates otherwise.
func (r *records) Create(ctx context.Context, record core.Record) (core.Record, error) {
	test := &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.test.Namespace, Name: r.test.Name, UID: types.UID(record.ID.String()), Generation: record.Generation,
			CreationTimestamp: metav1.NewTime(record.CreatedAt),
		},
		Spec: v1alpha1.CoderTemplateTestSpec{
			ControlPlaneRef: v1alpha1.ControlPlaneReference{Name: record.Spec.ControlPlaneRef},
			Template:        record.Spec.Template, Version: v1alpha1.TemplateVersionSelector(record.Spec.Version), Preset: record.Spec.Preset,
			TimeoutSeconds: int32(record.Spec.TimeoutSeconds), //nolint:gosec // bounded by core.MaxTimeoutSeconds
		},
	}
	if record.DeletionPolicy != "" {
		test.Annotations = map[string]string{v1alpha1.DeletionPolicyAnnotation: record.DeletionPolicy}
	}
	for _, parameter := range record.Spec.Parameters {
		test.Spec.Parameters = append(test.Spec.Parameters, v1alpha1.TemplateParameter(parameter))
	}
	if seconds := int32(record.Spec.InputsTimeoutSeconds); seconds != 0 { //nolint:gosec // bounded by the timeout
		test.Spec.InputsTimeoutSeconds = &seconds
	}
	if ttl := record.Spec.TTLSecondsAfterFinished; ttl != nil {
		seconds := int32(*ttl) //nolint:gosec // written by hand
		test.Spec.TTLSecondsAfterFinished = &seconds
	}
	if err := r.objects.Create(ctx, test); err != nil {
		return core.Record{}, err
	}
	return kubernetes.RecordOf(test)
}

// RequestDeletion is kubectl delete.
func (r *records) RequestDeletion(ctx context.Context, _ uuid.UUID) error {
	return client.IgnoreNotFound(r.objects.Delete(ctx, &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.test.Namespace, Name: r.test.Name},
	}))
}

// SetDeletionPolicy is kubectl annotate.
func (r *records) SetDeletionPolicy(ctx context.Context, _ uuid.UUID, policy string) error {
	test := &v1alpha1.CoderTemplateTest{}
	if err := r.objects.Get(ctx, r.test, test); err != nil {
		return err
	}
	before := test.DeepCopy()
	metav1.SetMetaDataAnnotation(&test.ObjectMeta, v1alpha1.DeletionPolicyAnnotation, policy)
	return r.objects.Patch(ctx, test, client.MergeFrom(before))
}

// planesOf is the control plane as an object with a Secret.
type planesOf struct {
	*kubernetes.ControlPlanes
	objects *memory
}

var _ scenario.Planes = (*planesOf)(nil)

// Put applies the control plane.
func (p *planesOf) Put(plane core.ControlPlane) {
	ctx := context.Background()
	object := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: storyNamespace, Name: plane.Ref}}
	if plane.State == core.ControlPlaneLeaving {
		p.finalize(ctx, object, []string{v1alpha1.GraceFinalizer})
		p.objects.must(p.objects.Delete(ctx, object))
		synctest.Wait()
		return
	}
	object.Spec.TemplateTests = v1alpha1.TemplateTestPolicy(plane.Policy)
	if plane.State != core.ControlPlaneUnready {
		object.Spec.External = &v1alpha1.ExternalControlPlane{URL: plane.Connection.URL}
	}
	if plane.State == core.ControlPlaneUsable {
		object.Spec.OperatorAccess.TokenSecretRef = &v1alpha1.SecretKeyReference{Name: storySecret}
		p.put(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: storyNamespace, Name: storySecret},
			Data:       map[string][]byte{"token": []byte(plane.Connection.Token.Reveal())},
		})
	}
	p.put(ctx, object)
}

// put makes an object, or changes the one that is there, and waits until everybody knows.
// Generations count as an API server counts them.
func (p *planesOf) put(ctx context.Context, object client.Object) {
	defer synctest.Wait()
	there := object.DeepCopyObject().(client.Object)
	err := p.objects.Get(ctx, client.ObjectKeyFromObject(object), there)
	if apierrors.IsNotFound(err) {
		p.objects.must(p.objects.Create(ctx, object))
		return
	}
	p.objects.must(err)
	if reflect.DeepEqual(content(there), content(object)) {
		return // an API server does not tell anybody of a change that is none
	}
	object.SetResourceVersion(there.GetResourceVersion())
	object.SetGeneration(there.GetGeneration() + 1)
	p.objects.must(p.objects.Update(ctx, object))
}

// content is what people write into an object.
func content(object client.Object) any {
	switch object := object.(type) {
	case *v1alpha1.CoderControlPlane:
		return object.Spec
	case *corev1.Secret:
		return object.Data
	default:
		return object
	}
}

// finalize sets the finalizers of the control plane, if it is there: without any, one that
// is being deleted is gone.
func (p *planesOf) finalize(ctx context.Context, object *v1alpha1.CoderControlPlane, finalizers []string) {
	err := p.objects.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return
	}
	p.objects.must(err)
	object.Finalizers = finalizers
	p.objects.must(p.objects.Update(ctx, object))
}

// Remove is kubectl delete, and the end of its waiting.
func (p *planesOf) Remove(ref string) {
	ctx := context.Background()
	object := &v1alpha1.CoderControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: storyNamespace, Name: ref}}
	p.finalize(ctx, object, nil)
	p.objects.must(client.IgnoreNotFound(p.objects.Delete(ctx, object)))
}
