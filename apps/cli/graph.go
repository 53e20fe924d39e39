package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"go.uber.org/fx"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/terminal"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// Module wires what runs tests. It needs an Env and a runConfig, and provides a
// *session. Constructing does no I/O; starting opens the state file and starts the
// driver.
var Module = fx.Module("cli",
	fx.Provide(
		newStateFile, newControlPlane, newProgress, newEvidence, newLogger, newTracker, newEngine, newDriver, newSession,
	),
)

// runConfig is what the command line says about a run, resolved.
type runConfig struct {
	connection core.Connection
	policy     core.Policy
	statePath  string
	// secrets are masked in evidence.
	secrets []string
	debug   bool
}

// stateFile is the registry once the graph has started: opening a file is no
// constructor's work.
type stateFile struct{ ports.TestRegistry }

func newStateFile(lifecycle fx.Lifecycle, env Env, config runConfig) *stateFile {
	state := &stateFile{}
	lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			store, err := sqlstore.Open(ctx, config.statePath, env.Clock)
			if err != nil {
				return err
			}
			state.TestRegistry = store
			return nil
		},
		OnStop: func(context.Context) error {
			if closer, ok := state.TestRegistry.(io.Closer); ok {
				return closer.Close()
			}
			return nil
		},
	})
	return state
}

// controlPlaneRef is the name of the one control plane that the command line has.
const controlPlaneRef = "cli"

// controlPlane is the deployment that the command line names.
type controlPlane struct{ plane core.ControlPlane }

func newControlPlane(config runConfig) ports.ControlPlanes {
	return controlPlane{core.ControlPlane{
		Ref: controlPlaneRef, State: core.ControlPlaneUsable, Policy: config.policy, Connection: config.connection,
	}}
}

// ControlPlane implements ports.ControlPlanes. Another reference than ours says
// nothing about whether that control plane is gone.
func (c controlPlane) ControlPlane(_ context.Context, ref string, _ ports.Freshness) (core.ControlPlane, error) {
	if ref != controlPlaneRef {
		return core.ControlPlane{Ref: ref, Message: "use the front end that made the test: the command line knows no such control plane"}, nil
	}
	return c.plane, nil
}

func newProgress(lifecycle fx.Lifecycle, env Env, config runConfig) *terminal.Progress {
	dumb := env.lookup("TERM") == "dumb"
	progress := terminal.NewProgress(env.Stderr, env.Clock, terminal.Style{
		Live:  env.TerminalWidth > 0 && !dumb && !config.debug,
		Color: env.TerminalWidth > 0 && !dumb && env.lookup("NO_COLOR") == "",
		Width: env.TerminalWidth,
	})
	lifecycle.Append(fx.StopHook(progress.Close))
	return progress
}

// evidenceLines is how much of each log is shown.
const evidenceLines = 40

func newEvidence(config runConfig) *terminal.Evidence {
	return terminal.NewEvidence(terminal.NewMask(config.secrets...), evidenceLines)
}

// newLogger logs between the lines of the progress.
func newLogger(progress *terminal.Progress, config runConfig) *slog.Logger {
	level := slog.LevelWarn
	if config.debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: level}))
}

func newEngine(
	env Env, state *stateFile, planes ports.ControlPlanes, progress *terminal.Progress,
	tracker *tracker, evidence *terminal.Evidence, logger *slog.Logger,
) (*lifecycle.Engine, error) {
	return lifecycle.New(lifecycle.Config{
		Store: state, ControlPlanes: planes, Dial: env.Dial, Clock: env.Clock, Random: env.Random,
		Sink: sinks{tracker, progress}, Evidence: evidence, Logger: logger, Options: env.Options,
	})
}

// abandon has the driver's running steps end at once; stopping the graph lets them
// finish otherwise.
type abandon func()

func newDriver(
	lifecycle fx.Lifecycle, env Env, state *stateFile, engine *lifecycle.Engine, logger *slog.Logger,
) (*driver.Driver, abandon, error) {
	d, err := driver.New(driver.Config{Engine: engine, Records: state, Clock: env.Clock, Logger: logger})
	if err != nil {
		return nil, nil, err
	}
	// The context of OnStart ends when the graph has started; the driver's must not.
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { ran <- d.Run(ctx) }()
			return nil
		},
		OnStop: func(context.Context) error {
			d.Stop()
			err := <-ran
			cancel()
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		},
	})
	return d, abandon(cancel), nil
}

// sinks hands transitions to several sinks.
type sinks []ports.StatusSink

// Transition implements ports.StatusSink.
func (s sinks) Transition(transition core.StoredTransition) {
	for _, sink := range s {
		sink.Transition(transition)
	}
}

// tracker is a StatusSink that remembers how far the tests came: a record that was
// asked to be deleted disappears once it is cleaned up.
type tracker struct {
	mu   sync.Mutex
	last map[string]core.Record
	// final is closed when a test has its verdict.
	final chan struct{}
}

func newTracker() *tracker {
	return &tracker{last: map[string]core.Record{}, final: make(chan struct{})}
}

// Transition implements ports.StatusSink.
func (t *tracker) Transition(transition core.StoredTransition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[transition.After.ID.String()] = transition.After
	if transition.After.Status.Phase.Final() {
		select {
		case <-t.final:
		default:
			close(t.final)
		}
	}
}

// record is the last state that was stored by this process.
func (t *tracker) record(created core.Record) core.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.last[created.ID.String()]; ok {
		return last
	}
	return created
}
