package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/fx"

	"github.com/assay-dev/assay/adapters/artifacts"
	"github.com/assay-dev/assay/adapters/report"
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
		newStateFile, newControlPlanes, newProgress, startTails, newEvidence, newLogger, newTracker, newEngine, newDriver, newKeeper,
		newSession,
	),
)

// runConfig is what the command line says about a run, resolved.
type runConfig struct {
	// planes are the deployments that can be used, tokens included.
	planes    controlPlanes
	statePath string
	// secrets are masked in evidence.
	secrets []string
	// artifacts takes logs and states; nil where nobody asked for them.
	artifacts *artifacts.Sink
	// several tests run side by side: each line names its own.
	several bool
	// plain: the progress redraws no line.
	plain bool
	// hideLogs: nothing of a build's log is shown.
	hideLogs bool
	debug    bool
}

// hasTerminal reports whether a person may watch, at a terminal that can do something.
func hasTerminal(env Env) bool { return env.TerminalSize != nil && env.lookup("TERM") != "dumb" }

// live reports whether lines are redrawn.
func (c runConfig) live(env Env) bool { return hasTerminal(env) && !c.debug && !c.plain }

// style is how the progress is shown.
func (c runConfig) style(env Env) terminal.Style {
	return terminal.Style{
		Live: c.live(env), Color: hasTerminal(env) && env.lookup("NO_COLOR") == "", Size: env.TerminalSize, Several: c.several,
	}
}

// stateFile is the store once the graph has started: opening a file is no
// constructor's work.
type stateFile struct{ *sqlstore.Store }

func newStateFile(lifecycle fx.Lifecycle, env Env, config runConfig) *stateFile {
	state := &stateFile{}
	lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			store, err := sqlstore.Open(ctx, config.statePath, env.Clock)
			if err != nil {
				return err
			}
			state.Store = store
			return nil
		},
		OnStop: func(context.Context) error {
			if state.Store == nil {
				return nil
			}
			return state.Close()
		},
	})
	return state
}

func newControlPlanes(config runConfig) ports.ControlPlanes { return config.planes }

func newProgress(lifecycle fx.Lifecycle, env Env, config runConfig) *terminal.Progress {
	progress := terminal.NewProgress(env.Stderr, env.Clock, config.style(env))
	lifecycle.Append(fx.StopHook(progress.Close))
	return progress
}

func startTails(lifecycle fx.Lifecycle, env Env, config runConfig, progress *terminal.Progress) *tails {
	tails := newTails(env, config, progress)
	lifecycle.Append(fx.StopHook(tails.close))
	return tails
}

// evidenceLines is how much of each log is shown.
const evidenceLines = 40

func newEvidence(config runConfig) *terminal.Evidence {
	return terminal.NewEvidence(core.NewMask(config.secrets...), evidenceLines)
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
	tracker *tracker, tails *tails, evidence *terminal.Evidence, config runConfig, logger *slog.Logger,
) (*lifecycle.Engine, error) {
	transitions, explanations := sinks{tracker, progress}, evidenceSinks{evidence}
	if config.live(env) && !config.hideLogs {
		transitions = append(transitions, tails)
	}
	if config.artifacts != nil {
		transitions, explanations = append(transitions, config.artifacts), append(explanations, config.artifacts)
	}
	return lifecycle.New(lifecycle.Config{
		Store: state, ControlPlanes: planes, Dial: env.Dial, Clock: env.Clock, Random: env.Random,
		Sink: transitions, Evidence: explanations, Logger: logger, Options: env.Options,
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

func newKeeper(lifecycle fx.Lifecycle, env Env, state *stateFile, logger *slog.Logger) (*driver.Keeper, error) {
	holder, err := newHolder(env)
	if err != nil {
		return nil, err
	}
	keeper, err := driver.NewKeeper(state, env.Clock, holder, logger)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	released := make(chan struct{})
	lifecycle.Append(fx.Hook{
		OnStart: func(context.Context) error {
			go func() { keeper.Run(ctx); close(released) }()
			return nil
		},
		OnStop: func(context.Context) error {
			cancel()
			<-released
			return nil
		},
	})
	return keeper, nil
}

// newHolder names this process, and no other one, in its leases.
func newHolder(env Env) (string, error) {
	id, err := uuid.NewRandomFromReader(env.Random)
	if err != nil {
		return "", fmt.Errorf("name this process: %w", err)
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", env.Process, id.String()[:8])), nil
}

// sinks hands transitions to several sinks.
type sinks []ports.StatusSink

// Transition implements ports.StatusSink.
func (s sinks) Transition(transition core.StoredTransition) {
	for _, sink := range s {
		sink.Transition(transition)
	}
}

// evidenceSinks hands evidence to several sinks. The slow one is the last.
type evidenceSinks []ports.EvidenceSink

// Evidence implements ports.EvidenceSink.
func (s evidenceSinks) Evidence(ctx context.Context, evidence core.Evidence) error {
	var errs []error
	for _, sink := range s {
		errs = append(errs, sink.Evidence(ctx, evidence))
	}
	return errors.Join(errs...)
}

// tracker is a StatusSink that remembers how far the tests came: a record that was
// asked to be deleted disappears once it is cleaned up.
type tracker struct {
	mu   sync.Mutex
	last map[uuid.UUID]core.Record
	// timelines are those of the tests that run here.
	timelines map[uuid.UUID]*report.Timeline
	// final are closed when a test has its verdict.
	final map[uuid.UUID]chan struct{}
}

func newTracker() *tracker {
	return &tracker{
		last: map[uuid.UUID]core.Record{}, timelines: map[uuid.UUID]*report.Timeline{}, final: map[uuid.UUID]chan struct{}{},
	}
}

// Transition implements ports.StatusSink.
func (t *tracker) Transition(transition core.StoredTransition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(transition.After)
	if timeline := t.timelines[transition.After.ID]; timeline != nil {
		timeline.Add(transition)
	}
}

// course is how a started test went until now, and on which version of Coder.
func (t *tracker) course(id uuid.UUID, now time.Time) (stages []report.Stage, coderVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	timeline := t.timelines[id]
	return timeline.Stages(now), timeline.CoderVersion()
}

// start makes known a test that is going to run here.
func (t *tracker) start(record core.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.final[record.ID] = make(chan struct{})
	t.timelines[record.ID] = &report.Timeline{}
	t.note(record)
}

func (t *tracker) note(record core.Record) {
	t.last[record.ID] = record
	final, known := t.final[record.ID]
	if !known || !record.Status.Phase.Final() {
		return
	}
	select {
	case <-final:
	default:
		close(final)
	}
}

// verdict is closed once the test has its verdict.
func (t *tracker) verdict(id uuid.UUID) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.final[id]
}

// record is the last state of a started test that was stored by this process.
func (t *tracker) record(id uuid.UUID) core.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[id]
}
