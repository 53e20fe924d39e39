package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/fx"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/adapters/systemclock"
)

// probeTimeout bounds how long a probe is answered after.
const probeTimeout = 2 * time.Second

// Exit codes of the operator.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// SystemEnv is the Env of a process.
func SystemEnv(args []string) Env {
	requests := prometheus.NewRequests()
	return Env{
		Args: args, Stdout: os.Stdout, Stderr: os.Stderr, Config: loadConfig,
		Clock: systemclock.New(), Random: rand.Reader, Dial: coder.Dialer(coder.WithObserver(requests.Observe)),
		DialAccess: coder.AccessDialer(coder.WithObserver(requests.Observe)),
		Collectors: []promclient.Collector{requests},
	}
}

// loadConfig reads the given kubeconfig, else what a pod is given, else KUBECONFIG. How
// much is too much the API server says, by its priority and fairness: the client's own
// limit of 5 requests a second would hold up fifty tests for minutes.
func loadConfig(kubeconfig string) (*rest.Config, error) {
	config, err := readConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

func readConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		if config, err := rest.InClusterConfig(); err == nil {
			return config, nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

const long = `assay-operator runs the CoderTemplateTest objects of a cluster: for each it makes a
throwaway workspace from a version of a Coder template, waits until every agent is
ready, deletes the workspace and records the result.`

// Run executes the operator until ctx is done and returns its exit code.
func Run(ctx context.Context, env Env) int {
	var options Options
	failed := false
	root := &cobra.Command{
		Use: "assay-operator", Short: "Run template tests in a cluster", Long: long,
		Example:       "  assay-operator --namespaces coder-tests --leader-election-namespace coder-tests",
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}
			failed = true
			return run(cmd.Context(), env, options)
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	options.register(root.Flags())
	root.SetArgs(append([]string{}, env.Args...))
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case failed:
		fmt.Fprintf(env.Stderr, "assay-operator: %v\n", err)
		return exitFailed
	default:
		fmt.Fprintf(env.Stderr, "assay-operator: %v\nRun 'assay-operator --help' to see its flags.\n", err)
		return exitUsage
	}
}

func run(ctx context.Context, env Env, options Options) error {
	config, err := env.Config(options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("find the API server: %w: run it in a pod, or give --kubeconfig", err)
	}
	var m manager.Manager
	app := fx.New(graph(env, options, config), fx.Populate(&m))
	if err := app.Err(); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := addProbes(m); err != nil {
		return err
	}
	if err := app.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	err = m.Start(ctx)
	return errors.Join(err, app.Stop(context.WithoutCancel(ctx)))
}

// graph is what the operator is wired of.
func graph(env Env, options Options, config *rest.Config) fx.Option {
	return fx.Options(fx.Supply(env, options, config), Module, fx.NopLogger)
}

// addProbes serves liveness, which is that the process answers, and readiness, which is
// that its caches know the cluster.
func addProbes(m manager.Manager) error {
	synced := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), probeTimeout)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the liveness probe: %w", err)
	}
	if err := m.AddReadyzCheck("caches", synced); err != nil {
		return fmt.Errorf("add the readiness probe: %w", err)
	}
	return nil
}
