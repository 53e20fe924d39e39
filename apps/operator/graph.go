package operator

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	promclient "github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/core/streams"
	"github.com/assay-dev/assay/ports"
)

// leaderElectionID names the lease that the operators of a cluster compete for.
const leaderElectionID = "coder-k8s-controller.coder.com"

// cutOff is how much longer than the steps' grace the manager waits for them to end.
const cutOff = 5 * time.Second

// Env is everything that a run of the operator touches besides its flags.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdout takes help, Stderr logs and errors.
	Stdout, Stderr io.Writer
	// Config reaches the API server; it is asked for with the --kubeconfig that was given.
	Config func(kubeconfig string) (*rest.Config, error)
	Clock  ports.Clock
	Random io.Reader
	Dial   ports.Dialer
	// DialAccess is for looking after the operator's own way into a deployment.
	DialAccess ports.AccessDialer
	// Collectors are metrics to serve beside the operator's own: those of Dial.
	Collectors []promclient.Collector
	// Options are the engine's timings; zero fields take the defaults.
	Options lifecycle.Options
}

// Module wires the operator. It needs an Env, Options and a *rest.Config, and provides a
// manager.Manager with every controller added. Constructing does no I/O; the manager does
// when it is started.
var Module = fx.Module("operator",
	fx.Provide(
		newLogger, newScheme, newManager, newStore, newControlPlanes, newEngine, turnsOf, newAccessKeeper, followWorkspaces,
		prometheus.NewTransitions,
	),
	fx.Invoke(addTests, addControlPlanes, serveMetrics),
)

func newLogger(env Env, options Options) (*slog.Logger, error) {
	level, err := options.level()
	if err != nil {
		return nil, err
	}
	handlerOptions := &slog.HandlerOptions{Level: level}
	if options.LogFormat == formatText {
		return slog.New(slog.NewTextHandler(env.Stderr, handlerOptions)), nil
	}
	return slog.New(slog.NewJSONHandler(env.Stderr, handlerOptions)), nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("know the kinds: %w", err)
		}
	}
	return scheme, nil
}

func newManager(options Options, config *rest.Config, scheme *runtime.Scheme, log *slog.Logger) (manager.Manager, error) {
	grace := options.ShutdownGrace + cutOff
	// What the libraries log without being handed a logger goes the same way.
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	managerOptions := manager.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(log.Handler()),
		LeaderElection: options.LeaderElection, LeaderElectionID: leaderElectionID,
		LeaderElectionNamespace: options.LeaderElectionNamespace, LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: options.ProbeAddress, GracefulShutdownTimeout: &grace,
		Metrics: metricsserver.Options{
			BindAddress: options.MetricsAddress, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		// Secrets are read one by one: a cache would keep them all in memory.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	}
	if options.ManagedControlPlanes {
		managerOptions.Cache.ByObject = map[client.Object]cache.ByObject{}
		for _, kind := range managed.Kinds() {
			managerOptions.Cache.ByObject[kind] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedBy: managed.FieldManager})}
		}
	}
	if len(options.Namespaces) > 0 {
		managerOptions.Cache.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range options.Namespaces {
			managerOptions.Cache.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	m, err := manager.New(config, managerOptions)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return m, nil
}

func newStore(m manager.Manager, options Options) ports.WorkspaceStore {
	return kubernetes.NewStore(m.GetClient(), m.GetAPIReader(), options.Namespaces...)
}

func newControlPlanes(env Env, m manager.Manager) *kubernetes.ControlPlanes {
	return kubernetes.NewControlPlanes(m.GetClient(), m.GetAPIReader(), env.Clock)
}

func newAccessKeeper(env Env, m manager.Manager, planes *kubernetes.ControlPlanes) *accessKeeper {
	return &accessKeeper{
		dial: env.DialAccess, planes: planes, secrets: kubernetes.NewOperatorSecrets(m.GetClient(), m.GetAPIReader()),
		clock: env.Clock, random: env.Random,
	}
}

func turnsOf(options Options) *turns { return newTurns(options.Workers) }

func newEngine(
	env Env, options Options, m manager.Manager, store ports.WorkspaceStore, planes *kubernetes.ControlPlanes,
	transitions *prometheus.Transitions, log *slog.Logger,
) (*lifecycle.Engine, error) {
	return lifecycle.New(lifecycle.Config{
		Store: store, ControlPlanes: planes, Dial: env.Dial, Clock: env.Clock, Random: env.Random,
		Sink: sinks{eventSink{m.GetEventRecorder("assay-operator")}, transitions}, Evidence: newEvidence(m, options, planes),
		Logger: log, Options: env.Options,
	})
}

// testStreams follow the workspaces of running tests, so that a test steps when Coder
// tells of a change and not at its next poll.
type testStreams = streams.Streams[types.NamespacedName]

// woken carries the tests that their streams wake into the work queue.
type woken chan event.GenericEvent

func followWorkspaces(lifecycle fx.Lifecycle, env Env, engine *lifecycle.Engine, log *slog.Logger) (*testStreams, woken) {
	channel := make(woken, 1024)
	s := streams.New(streams.Config[types.NamespacedName]{Source: engine, Clock: env.Clock, Logger: log, Wake: func(ctx context.Context, test types.NamespacedName) {
		woken := event.GenericEvent{Object: &v1alpha1.CoderTemplateTest{
			ObjectMeta: metav1.ObjectMeta{Namespace: test.Namespace, Name: test.Name},
		}}
		select {
		case channel <- woken:
		case <-ctx.Done():
			// The manager has ended, and nobody takes from the channel any more.
		}
	}})
	lifecycle.Append(fx.StopHook(s.Close))
	return s, channel
}

func addTests(m manager.Manager, options Options, engine *lifecycle.Engine, s *testStreams, channel woken, turns *turns) error {
	return addTestController(m, options, engine, s, channel, turns)
}

// addTestController adds the controller of CoderTemplateTest and the indexes that it needs.
func addTestController(m manager.Manager, options Options, engine engine, s *testStreams, channel woken, turns *turns) error {
	ctx := context.Background()
	if err := kubernetes.AddIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	if err := addIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return err
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := ctrl.NewControllerManagedBy(m).
		For(&v1alpha1.CoderTemplateTest{}, builder.WithPredicates(changedByOthers())).
		Watches(&v1alpha1.CoderControlPlane{}, handler.EnqueueRequestsFromMapFunc(testsOf(m.GetClient())),
			builder.WithPredicates(connectionChanged())).
		WatchesMetadata(secret, handler.EnqueueRequestsFromMapFunc(testsOfSecret(m.GetClient()))).
		WatchesRawSource(source.Channel(channel, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Workers}).
		Complete(&testReconciler{engine: engine, reader: m.GetClient(), streams: s, turns: turns, grace: options.ShutdownGrace})
	if err != nil {
		return fmt.Errorf("add the controller of tests: %w", err)
	}
	return nil
}
