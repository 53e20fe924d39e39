package operator

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Options are the operator's flags.
type Options struct {
	// Namespaces are those that are watched; none means all.
	Namespaces []string
	// Workers is how many tests step at once.
	Workers int
	// ManagedControlPlanes has the operator run the Coder deployments of control planes
	// that name no external one.
	ManagedControlPlanes bool
	// MetricsAddress and ProbeAddress are where metrics and health are served; "0" is
	// nowhere.
	MetricsAddress, ProbeAddress string
	// LeaderElection keeps all operators but one idle. LeaderElectionNamespace holds
	// the lease; empty means the operator's own namespace.
	LeaderElection          bool
	LeaderElectionNamespace string
	// Evidence keeps the logs of failed tests in Secrets.
	Evidence bool
	// ShutdownGrace is how long the steps in hand may take when the operator ends.
	ShutdownGrace       time.Duration
	LogFormat, LogLevel string
	// Kubeconfig is a file for use outside a cluster.
	Kubeconfig string
}

const (
	formatJSON = "json"
	formatText = "text"
)

func (o *Options) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.Namespaces, "namespaces", nil, "`NAMES` of the namespaces to watch, all by default")
	flags.IntVar(&o.Workers, "workers", 8, "how many tests step at once")
	flags.BoolVar(&o.ManagedControlPlanes, "managed-control-planes", true, "run Coder for control planes without spec.external; takes further rights")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "`ADDRESS` of the metrics, served over HTTPS to those who may read them; 0 for none")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "`ADDRESS` of /healthz and /readyz; 0 for none")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "work only as the leader of all operators; several without it are safe, and waste requests")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "`NAMESPACE` of the leader's lease, the operator's own by default")
	flags.BoolVar(&o.Evidence, "evidence", false, "keep the logs of failed tests in a Secret beside each; it takes the role assay-operator-evidence")
	flags.DurationVar(&o.ShutdownGrace, "shutdown-grace", 40*time.Second, "how long the steps in hand may take when the operator ends; its pods must be given some seconds more")
	flags.StringVar(&o.LogFormat, "log-format", formatJSON, "json or text")
	flags.StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "`FILE` that says how to reach the API server, for use outside a cluster")
}

// validate reports every flag that breaks a rule.
func (o *Options) validate() error {
	var errs []error
	if o.Workers < 1 || o.Workers > 1000 {
		errs = append(errs, fmt.Errorf("--workers: %d: must be 1 to 1000", o.Workers))
	}
	if o.ShutdownGrace < 0 {
		errs = append(errs, fmt.Errorf("--shutdown-grace: %s: must be 0 or more", o.ShutdownGrace))
	}
	if !slices.Contains([]string{formatJSON, formatText}, o.LogFormat) {
		errs = append(errs, fmt.Errorf("--log-format: %q: must be json or text", o.LogFormat))
	}
	if _, err := o.level(); err != nil {
		errs = append(errs, err)
	}
	for _, namespace := range o.Namespaces {
		if strings.TrimSpace(namespace) == "" {
			errs = append(errs, errors.New("--namespaces: a name is empty: leave the flag out to watch all namespaces"))
			break
		}
	}
	return errors.Join(errs...)
}

func (o *Options) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level: %q: must be debug, info, warn or error", o.LogLevel)
	}
	return level, nil
}
