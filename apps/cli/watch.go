package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/core"
)

const watchLong = `Watch a test that runs on an assay server to its end, and tell its verdict and exit code as
"assay run" does. Without an ID watch all tests that the token may see: one line for each
step, until a signal. Ending this command ends no test.

` + serverHelp

const watchExample = `  assay watch --server https://assay.example.com 6f0c2d9e-6c1c-4a52-9b1e-6d3f2f0f7a11

  # What happens from now on, for a program.
  assay watch --server https://assay.example.com --output ndjson`

type watchOptions struct {
	server serverFlags
	output runOutput
}

func newWatchCommand(env Env, code *int) *cobra.Command {
	o := watchOptions{output: runOutput(outputText)}
	cmd := &cobra.Command{
		Use: "watch --server URL [ID] [flags]", DisableFlagsInUseLine: true,
		Short: "Watch tests that run on a server", Long: watchLong, Example: watchExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%q takes the ID of one test, or none for all, got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			*code, err = o.run(cmd.Context(), env, args)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.server.registerAlone(flags)
	flags.VarP(&o.output, "output", "o", "form of what is told on the standard output")
	return cmd
}

func (o *watchOptions) run(ctx context.Context, env Env, args []string) (int, error) {
	if o.server.url == "" {
		return 0, usage("--server: give the URL of the assay server; \"assay run\" shows tests of its own as they run")
	}
	server, err := o.server.connect(env)
	if err != nil {
		return 0, err
	}
	if len(args) == 0 {
		return o.all(ctx, env, server)
	}
	if o.output == outputLines {
		return 0, usage("--output: ndjson: is for all tests: leave out the ID, or use json")
	}
	record, err := interruptible(ctx, env, func(ctx context.Context) (core.Record, error) { return findOnServer(ctx, server, args[0]) })
	if err != nil {
		return 0, err
	}
	return o.one(ctx, env, server, record)
}

// one follows a test to its end.
func (o *watchOptions) one(ctx context.Context, env Env, server *serverConnection, record core.Record) (int, error) {
	startedAt := env.Clock.Now()
	watched := attempt{plan: plan{name: record.Name, spec: record.Spec}, number: 1}
	config := runConfig{secrets: []string{server.token.Reveal()}, plain: o.output == outputLines}
	var signal os.Signal
	h := withServer(ctx, env, server, config, func(h *onServer) {
		h.tracker.start(record)
		_, signal, watched.ending.err = untilSignal(ctx, env, func(ctx context.Context) (struct{}, error) { return struct{}{}, h.wait(ctx, record.ID) })
		watched.ending.record = h.last(ctx, record.ID)
		watched.stages, watched.coderVersion = h.course(record.ID, env.Clock.Now())
		watched.logs = h.evidence.Excerpts(record.ID)
	})
	if signal != nil {
		fmt.Fprintf(env.Stderr, "assay: test %s goes on on the server\n", record.ID)
		return interruptedCode(signal), nil
	}
	watched.explain(env.Stderr, h, nil)
	run := documentOf([][]attempt{{watched}}, nil)
	run.StartedAt, run.EndedAt = startedAt.UTC(), env.Clock.Now().UTC()
	return written(run.ExitCode, writeRun(env.Stdout, o.output, &run))
}

// all writes the transitions of all tests until a signal comes.
func (o *watchOptions) all(ctx context.Context, env Env, server *serverConnection) (int, error) {
	if o.output == runOutput(outputJSON) {
		return 0, usage("--output: json: is for one test: give its ID, or use ndjson")
	}
	if _, err := interruptible(ctx, env, server.ControlPlanes); err != nil {
		return 0, serverError(err)
	}
	fmt.Fprintln(env.Stderr, "watching all tests; a signal ends this and no test")
	write := func(transition core.TestTransition) error {
		if o.output == outputLines {
			return json.NewEncoder(env.Stdout).Encode(transition)
		}
		_, err := fmt.Fprintln(env.Stdout, transitionLine(transition))
		return err
	}
	_, signal, err := untilSignal(ctx, env, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, server.Watch(ctx, uuid.Nil, -1, write)
	})
	if signal != nil {
		return interruptedCode(signal), nil
	}
	var refused *serverclient.Error
	if errors.As(err, &refused) || errors.Is(err, serverclient.ErrAway) {
		return 0, serverError(err)
	}
	return written(exitPassed, err)
}

func transitionLine(t core.TestTransition) string {
	reason, message := t.Reason, t.Message
	if t.WorkspaceReason != "" && (t.Phase.Final() || t.DeletionRequested) && t.Phase != core.PhaseSucceeded {
		message += " (workspace: " + string(t.WorkspaceReason) + ")"
	}
	what := t.Stage
	if t.Gone {
		what = "gone"
	}
	return core.PrintableLine(fmt.Sprintf("%s %s %s %s %s %s: %s", t.At.UTC().Format(time.RFC3339), t.ControlPlaneRef, t.Test, what, t.Phase, reason, message))
}
