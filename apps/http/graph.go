package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/planefile"
	"github.com/assay-dev/assay/adapters/prometheus"
	"github.com/assay-dev/assay/adapters/webhook"
	"github.com/assay-dev/assay/apps/http/page"
	"github.com/assay-dev/assay/apps/http/runner"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// Module wires a server. It needs an Env and Options that are resolved, and provides a
// *http.Server. Constructing does no I/O but reading the files that are named; starting
// opens the store, and listens.
var Module = fx.Module("server",
	fx.Provide(
		newLogger, newReceivers, newDatabase, newPlanes, newHolder, prometheus.NewTransitions, newEngine, newKeeper, newRunner, newDriver,
		newFeed, newService, newPages, newSecurity, newHandler, newHTTPServer,
	),
)

// startTime bounds the start: a migration of a large database takes a while.
const startTime = 2 * time.Minute

// newGraph is the graph of a server.
func newGraph(env Env, options Options) *fx.App {
	return fx.New(
		fx.Supply(env, options), Module, fx.Invoke(startTests, startWebhooks, func(*http.Server) {}),
		fx.StartTimeout(startTime), fx.StopTimeout(options.ShutdownGrace),
		fx.WithLogger(func(log *slog.Logger) fxevent.Logger {
			events := &fxevent.SlogLogger{Logger: log}
			events.UseLogLevel(slog.LevelDebug)
			return events
		}),
	)
}

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

// holder names this server, and no other one, in its leases.
type holder string

func newHolder(env Env) (holder, error) {
	id, err := uuid.NewRandomFromReader(env.Random)
	if err != nil {
		return "", fmt.Errorf("name this server: %w", err)
	}
	return holder(strings.TrimSpace(fmt.Sprintf("%s (%s)", env.Process, id.String()[:8]))), nil
}

// goes runs a loop while the graph runs: from OnStart on, until its context is done in
// OnStop.
func goes(life fx.Lifecycle, loop func(ctx context.Context)) {
	// The context of OnStart ends when the graph has started.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	life.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { defer close(ended); loop(ctx) }()
			return nil
		},
		OnStop: func(stopping context.Context) error {
			cancel()
			select {
			case <-ended:
				return nil
			case <-stopping.Done():
				return stopping.Err()
			}
		},
	})
}

func newPlanes(life fx.Lifecycle, env Env, options Options, log *slog.Logger) (*planefile.File, error) {
	planes, err := planefile.Open(options.ControlPlanes, planefile.Config{
		Clock: env.Clock, LookupEnv: env.LookupEnv, CheckConnection: checkConnection, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("--control-planes: %w", err)
	}
	goes(life, planes.Run)
	return planes, nil
}

// checkConnection refuses a connection that cannot be dialed, or whose token would travel
// in the clear.
func checkConnection(connection core.Connection) error {
	if err := coder.CheckURL(connection.URL); err != nil {
		return err
	}
	if coder.SendsTokenInClear(connection.URL) {
		return fmt.Errorf("%s: the token would travel in the clear: use https", connection.URL)
	}
	return coder.CheckToken(connection.Token)
}

// sinks tells each transition to all of them.
type sinks []ports.StatusSink

// Transition implements ports.StatusSink.
func (s sinks) Transition(transition core.StoredTransition) {
	for _, sink := range s {
		sink.Transition(transition)
	}
}

func newEngine(
	env Env, options Options, database *database, planes *planefile.File, transitions *prometheus.Transitions, log *slog.Logger,
) (*lifecycle.Engine, error) {
	config := lifecycle.Config{
		Store: database.fenced, ControlPlanes: planes, Dial: env.Dial, Clock: env.Clock, Random: env.Random,
		Sink: sinks{transitions}, Logger: log, Options: env.Options,
	}
	if options.KeepEvidence > 0 {
		config.Evidence = &runner.Evidence{Keeper: database, Planes: planes, Clock: env.Clock, KeepFor: options.KeepEvidence}
	}
	return lifecycle.New(config)
}

func newKeeper(life fx.Lifecycle, env Env, database *database, name holder, log *slog.Logger) (*driver.Keeper, error) {
	keeper, err := driver.NewKeeper(database, env.Clock, string(name), log)
	if err != nil {
		return nil, err
	}
	goes(life, keeper.Run)
	return keeper, nil
}

func newDriver(
	life fx.Lifecycle, env Env, options Options, database *database, engine *lifecycle.Engine, running *runner.Runner, log *slog.Logger,
) (*driver.Driver, error) {
	d, err := driver.New(driver.Config{
		Engine: engine, Records: database, Clock: env.Clock, Logger: log, Workers: options.Workers,
		Left: func(test uuid.UUID) { running.Left(context.Background(), test) },
	})
	if err != nil {
		return nil, err
	}
	running.SetDriver(d)
	// Stop lets the steps in hand end; when the grace is over they are canceled.
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	life.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { ran <- d.Run(ctx) }()
			return nil
		},
		OnStop: func(stopping context.Context) error {
			defer context.AfterFunc(stopping, cancel)()
			d.Stop()
			err := <-ran
			cancel()
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	})
	return d, nil
}

func newRunner(env Env, database *database, keeper *driver.Keeper, log *slog.Logger) *runner.Runner {
	return runner.New(runner.Config{Tests: database, Leases: database, Keeper: keeper, Clock: env.Clock, Logger: log})
}

// startTests looks for tests that nobody runs, once the driver takes them.
func startTests(life fx.Lifecycle, running *runner.Runner, _ *driver.Driver) { goes(life, running.Run) }

// receivers hear of tests by webhooks.
type receivers []webhook.Receiver

func newReceivers(env Env, options Options) (receivers, error) {
	if options.Webhooks == "" {
		return nil, nil
	}
	read, err := webhook.Read(options.Webhooks, env.LookupEnv)
	if err != nil {
		return nil, fmt.Errorf("--webhooks: %w", err)
	}
	return read, nil
}

// startWebhooks delivers what is stored for receivers, also for those of another server.
func startWebhooks(life fx.Lifecycle, env Env, database *database, receivers receivers, log *slog.Logger) {
	if len(receivers) > 0 {
		goes(life, webhook.NewSender(database, receivers, env.Clock, env.Random, log).Run)
	}
}

func newFeed(life fx.Lifecycle, env Env, database *database, log *slog.Logger) *service.Feed {
	feed := service.NewFeed(database, env.Clock, log)
	goes(life, feed.Run)
	return feed
}

func newService(env Env, database *database, planes *planefile.File, running *runner.Runner, feed *service.Feed) (*service.Service, error) {
	return service.New(service.Config{
		Store: database, Planes: planes, Runner: running, Feed: feed, Dial: env.Dial, Clock: env.Clock, Random: env.Random,
	})
}

func newPages(env Env, work *service.Service, log *slog.Logger) (*page.Pages, error) {
	return page.New(page.Config{Service: work, Clock: env.Clock, Random: env.Random, Logger: log})
}
