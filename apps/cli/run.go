package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/fx"

	"github.com/assay-dev/assay/core"
)

const runLong = `Make a throwaway workspace from a version of a template, wait until every agent is
connected and ready, delete the workspace, and tell the verdict.

` + connectionHelp + `

The workspace belongs to the token's own user, or to --owner. That should be a tester:
a plain member that is used for nothing else, because each build hands its owner's
session token to the template's Terraform.

The first SIGINT or SIGTERM has the workspace deleted and waits for that; a second one
leaves at once. The progress goes to the standard error, the verdict to the standard
output.

` + exitHelp

const runExample = `  # Test the active version of the template "docker" of the organization "coder".
  assay run --template coder.docker --version active

  # Test the version that a CI job has just pushed, with a parameter, as JSON.
  assay run --template coder.docker --version "$VERSION" --param region=eu --output json

  # Test as a tester with a token of its own, and keep the workspace of a failure.
  assay run --url https://coder.example.com --token-file tester.token \
    --template coder.docker --version active --keep-on-failure`

// runOptions are the flags of assay run.
type runOptions struct {
	connection     connectionFlags
	owner          ownerFlags
	spec           specFlags
	state          string
	output         outputFormat
	keepOnFailure  bool
	cleanupTimeout time.Duration
	debug          bool
}

func newRunCommand(env Env, code *int) *cobra.Command {
	o := runOptions{output: outputText}
	cmd := &cobra.Command{
		Use:                   "run --template ORGANIZATION.NAME --version NAME|ID|active [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Test one version of a template",
		Long:                  runLong,
		Example:               runExample,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = o.run(cmd.Context(), env)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.spec.register(flags)
	o.connection.register(flags)
	o.owner.register(flags)
	flags.BoolVar(&o.keepOnFailure, "keep-on-failure", false, "keep the workspace of a test that failed")
	registerCleanupTimeout(flags, &o.cleanupTimeout)
	flags.VarP(&o.output, "output", "o", "form of the verdict")
	registerState(flags, &o.state)
	flags.BoolVar(&o.debug, "debug", false, "log what happens inside, without the live view")
	return cmd
}

func registerCleanupTimeout(flags *pflag.FlagSet, timeout *time.Duration) {
	flags.DurationVar(timeout, "cleanup-timeout", 10*time.Minute, "how long to wait for the workspace's end, then exit 4")
}

func checkCleanupTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return usage("--cleanup-timeout: %v: must be more than 0", timeout)
	}
	return nil
}

// run is the command after its flags were read.
func (o *runOptions) run(ctx context.Context, env Env) (int, error) {
	spec, err := o.spec.spec()
	if err != nil {
		return 0, err
	}
	if err := checkCleanupTimeout(o.cleanupTimeout); err != nil {
		return 0, err
	}
	state, err := statePath(env, o.state)
	if err != nil {
		return 0, err
	}
	connection, err := o.connection.resolve(env)
	if err != nil {
		return 0, err
	}
	runner, err := env.Dial(connection)
	if err != nil {
		return 0, usage("%w", err)
	}
	owner, err := interruptible(ctx, env, func(ctx context.Context) (uuid.UUID, error) {
		finder := ownerFinder{runner: runner, clock: env.Clock, patience: cmp.Or(spec.InputsTimeout(), spec.Timeout())}
		return finder.find(ctx, o.owner)
	})
	if err != nil {
		return 0, err
	}
	record, err := o.record(env, spec)
	if err != nil {
		return 0, err
	}
	plane, err := newPlane(connection, o.owner.policy(owner, o.keepOnFailure))
	if err != nil {
		return 0, err
	}
	return runTest(ctx, env, newTest{
		record: record, plane: plane, statePath: state, cleanupTimeout: o.cleanupTimeout, output: o.output, debug: o.debug,
	})
}

func (o *runOptions) record(env Env, spec core.Spec) (core.Record, error) {
	id, err := uuid.NewRandomFromReader(env.Random)
	if err != nil {
		return core.Record{}, failure(fmt.Errorf("make an ID: %w", err))
	}
	policy := core.DeletionPolicyDelete
	if o.keepOnFailure {
		// A pass deletes its workspace before it is final, so this keeps only the
		// workspaces of failures.
		policy = core.DeletionPolicyRetain
	}
	return core.Record{
		ID: id, Generation: 1, CreatedAt: env.Clock.Now().UTC().Truncate(time.Millisecond),
		Spec: spec, DeletionPolicy: string(policy),
	}, nil
}

// secretsOf lists what evidence must not show.
func secretsOf(connection core.Connection, spec core.Spec) []string {
	secrets := []string{connection.Token.Reveal()}
	for _, parameter := range spec.Parameters {
		secrets = append(secrets, parameter.Value)
	}
	return secrets
}

// newTest is a test that is not stored yet, with what running it takes.
type newTest struct {
	record         core.Record
	plane          core.ControlPlane
	statePath      string
	cleanupTimeout time.Duration
	output         outputFormat
	debug          bool
}

// runTest runs one test on a graph of its own and tells its verdict.
func runTest(ctx context.Context, env Env, test newTest) (int, error) {
	test.record.Spec.ControlPlaneRef = test.plane.Ref
	config := runConfig{
		planes: controlPlanes{test.plane.Ref: test.plane}, statePath: test.statePath,
		secrets: secretsOf(test.plane.Connection, test.record.Spec), debug: test.debug,
	}
	var end ending
	s, err := onGraph(ctx, env, config, func(s *session) error {
		record, err := s.start(ctx, test.record, test.plane)
		if err != nil {
			return failure(fmt.Errorf("nothing was started: %w", err))
		}
		end = s.drive(ctx, []core.Record{record}, test.cleanupTimeout)[0]
		return nil
	})
	if err != nil {
		return 0, err
	}
	code := end.code()
	s.explain(env.Stderr, end)
	return written(code, writeEnding(env.Stdout, test.output, end))
}

// onGraph starts a graph, calls f with its session and stops the graph.
func onGraph(ctx context.Context, env Env, config runConfig, f func(*session) error) (*session, error) {
	var s *session
	app := fx.New(graph(env, config), fx.Populate(&s))
	if err := app.Start(ctx); err != nil {
		return nil, failure(fmt.Errorf("nothing was started: %w", err))
	}
	err := f(s)
	// What goes wrong from here on changes no verdict.
	if err := app.Stop(context.WithoutCancel(ctx)); err != nil {
		fmt.Fprintf(env.Stderr, "assay: %v\n", err)
	}
	return s, err
}

func writeEnding(out io.Writer, output outputFormat, end ending) error {
	code := end.code()
	if output == outputJSON {
		r := newReport(&end.record)
		r.ExitCode = &code
		return writeJSON(out, r)
	}
	return writeVerdict(out, &end.record, end.signal, code)
}

// written is the exit code of a run whose verdict was written with err. A reader that
// left, as head does, has what it wanted. Otherwise nobody can take the silence for a
// pass.
func written(code int, err error) (int, error) {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return code, nil
	}
	return 0, &exitError{worstExit(code, exitInconclusive), fmt.Errorf("the verdict could not be written: %w", err)}
}

// graph is what a run is wired of.
func graph(env Env, config runConfig) fx.Option {
	return fx.Options(fx.Supply(env, config), Module, fx.NopLogger)
}

// interruptible calls f and has a signal end it. Nothing must have been stored yet.
func interruptible[T any](ctx context.Context, env Env, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case signal := <-env.Signals:
		cancel()
		<-done
		var zero T
		return zero, &exitError{interruptedCode(signal), errors.New("interrupted before anything was started")}
	}
}

func interruptedCode(signal os.Signal) int {
	if signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}
