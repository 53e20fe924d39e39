package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"go.uber.org/dig"
	"go.uber.org/fx"
)

// Exit codes of the server.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const long = `assay-server tests versions of Coder templates as a service: a portal, a bot or a person
starts tests over HTTP, watches them live, and finds the history later. It serves a REST
API below /api/v1, described at /openapi.json, and a page at /.

Without --tokens it serves this machine alone.`

// Run executes assay-server until ctx is done and returns its exit code.
func Run(ctx context.Context, env Env) int {
	code := exitUsage
	root := newRoot(env, &code)
	// For nil cobra would read the arguments of the process.
	root.SetArgs(append([]string{}, env.Args...))
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(env.Stderr, "assay-server: %v\n", err)
		if code == exitUsage {
			fmt.Fprintln(env.Stderr, "Add --help to see how it is used.")
		}
		return code
	}
	return exitOK
}

// serve runs the graph until ctx is done or it ends by itself.
func serve(ctx context.Context, graph *fx.App) error {
	if err := graph.Err(); err != nil {
		return fmt.Errorf("set up: %w", dig.RootCause(err))
	}
	starting, cancel := context.WithTimeout(ctx, graph.StartTimeout())
	defer cancel()
	if err := graph.Start(starting); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	var failed error
	select {
	case <-ctx.Done():
	case ended := <-graph.Wait():
		// The graph hears of signals too.
		if ended.ExitCode != exitOK {
			failed = errors.New("it cannot go on; the log says why")
		}
	}
	stopping, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), graph.StopTimeout())
	defer cancelStop()
	return errors.Join(failed, graph.Stop(stopping))
}

// Commands is the command tree for whoever documents it. Its commands do nothing.
func Commands() *cobra.Command {
	root := newRoot(Env{LookupEnv: func(string) (string, bool) { return "", false }}, new(int))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	return root
}

// newRoot makes the command tree. Errors are usage errors unless a command says otherwise
// in code.
func newRoot(env Env, code *int) *cobra.Command {
	var options Options
	root := &cobra.Command{
		Use: "assay-server", Short: "Serve template tests over HTTP", Long: long,
		Example: `  # For this machine alone, on the deployments of planes.yaml.
  assay-server --control-planes planes.yaml

  # For others: with tokens, and TLS of its own.
  assay-server --control-planes planes.yaml --listen 0.0.0.0:8443 \
    --tokens tokens.yaml --tls-cert tls.crt --tls-key tls.key`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.resolve(env); err != nil {
				return err
			}
			*code = exitFailed
			return serve(cmd.Context(), newGraph(env, options))
		},
	}
	options.register(root.Flags())
	root.AddCommand(newVersionCommand(), newTokenCommand(env, code))
	return root
}

// Version is what the linker was told; without it the module's version counts.
var Version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version of assay-server this is", Example: "  assay-server version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version := Version
			if info, ok := debug.ReadBuildInfo(); ok && version == "" {
				version = info.Main.Version
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "assay-server %s\n", version)
			return err
		},
	}
}
