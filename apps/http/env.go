package server

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"os"

	promclient "github.com/prometheus/client_golang/prometheus"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// Env is everything that a server touches.
type Env struct {
	// Args are the arguments without the program's name.
	Args           []string
	Stdout, Stderr io.Writer
	// LookupEnv reads the environment as os.LookupEnv does.
	LookupEnv func(name string) (string, bool)
	Clock     ports.Clock
	Random    io.Reader
	Dial      ports.Dialer
	// Listen opens the address that the server listens at.
	Listen func(ctx context.Context, address string) (net.Listener, error)
	// Process names this server in the leases of its tests, for people.
	Process string
	// Collectors are further metrics.
	Collectors []promclient.Collector
	// Options are the engine's timings; zero fields take the defaults.
	Options lifecycle.Options
}

// SystemEnv is the Env of this process.
func SystemEnv(args []string) Env {
	requests := prometheus.NewRequests()
	env := Env{
		Args: args, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Clock: systemclock.New(), Random: rand.Reader,
		Dial: coder.Dialer(coder.WithObserver(requests.Observe)), Collectors: []promclient.Collector{requests},
		Listen: func(ctx context.Context, address string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		},
		Process: "server",
	}
	if host, err := os.Hostname(); err == nil {
		env.Process += " on " + host
	}
	return env
}

func (e Env) lookup(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}
