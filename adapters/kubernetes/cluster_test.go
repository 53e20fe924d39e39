package kubernetes_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/testbed"
)

// crds is where the generated definitions are.
const crds = "../../apps/operator/manifests/crd"

// cluster is a real API server with assay's kinds, seen as the operator sees it.
type cluster struct {
	config *rest.Config
	// live reads and writes at the API server; cached reads from a cache.
	live, cached client.Client
}

// shared are the clusters of this process, one for each test bed.
var shared sync.Map

// requireCluster returns the cluster that the tests of this process share.
func requireCluster(t *testing.T) *cluster {
	t.Helper()
	bed := testbed.RequireKubernetes(t)
	once, _ := shared.LoadOrStore(bed, sync.OnceValues(func() (*cluster, error) { return connect(bed.Config()) }))
	c, err := once.(func() (*cluster, error))()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func connect(config *rest.Config) (*cluster, error) {
	ctx := context.Background()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, apiextensions.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := install(ctx, live); err != nil {
		return nil, err
	}
	reads, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := kubernetes.AddIndexes(ctx, reads); err != nil {
		return nil, err
	}
	go func() { _ = reads.Start(ctx) }()
	reads.WaitForCacheSync(ctx)
	cached, err := client.New(config, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: reads}})
	if err != nil {
		return nil, err
	}
	return &cluster{config: config, live: live, cached: cached}, nil
}

// install creates the definitions and waits until their kinds are served.
func install(ctx context.Context, live client.Client) error {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definition := &apiextensions.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return err
		}
		if err := live.Create(ctx, definition); err != nil {
			return err
		}
		err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			if err := live.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
				return false, err
			}
			for _, c := range definition.Status.Conditions {
				if c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namespace makes a namespace for one test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "assay-"}}
	if err := c.live.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// eventually waits for the cache to see something.
func eventually(t *testing.T, what string, seen func(ctx context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, seen); err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}
