package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/fx"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

const runLong = `Make a throwaway workspace from a version of a template, wait until every agent is
connected and ready, delete the workspace, and tell the verdict. Several versions,
several templates or a suite file run side by side.

` + connectionHelp + `

The workspace belongs to the token's own user, or to --owner. That should be a tester:
a plain member that is used for nothing else, because each build hands its owner's
session token to the template's Terraform ("assay tester create" makes one).

With --server the tests run on an assay server, on one of its control planes, and this
process follows them: a server goes on with a test whatever becomes of this process.
` + serverHelp + `

A suite file lists tests; "expect" is for those that must fail:

  name: nightly
  defaults: {timeout: 10m}
  tests:
    - template: coder.docker
      versions: [active, v2.1.0]
      parameterSets:
        eu: {region: eu}
        us: {region: us}
    - {name: bad image is refused, template: coder.docker, version: v2.1.0-broken, expect: BuildFailed}

The first SIGINT or SIGTERM has the workspaces deleted and waits for that; a second one
leaves at once. The progress goes to the standard error, the verdicts to the standard
output.

` + runPushHelp + `

` + pushTokenHelp + `

` + exitHelp + `

Of several tests the worst counts, in this order: 4, 130 or 143, 1, 3, 5, 2, 0. A test that
ends as its suite expects counts as passed. A test that was repeated counts with its last
attempt.`

const runExample = `  # Test the active version of the template "docker" of the organization "coder".
  assay run --template coder.docker --version active

  # Test the version that a CI job has just pushed, with a parameter, as JSON.
  assay run --template coder.docker --version "$VERSION" --param region=eu --output json

  # Test two templates at once, and try again once where the environment was at fault.
  assay run --template coder.docker --template coder.kubernetes --version active \
    --retry-inconclusive 1

  # Run the tests of a suite, eight at a time.
  assay run --suite suite.yaml --parallel 8

  # Make a version of the folder "docker", test it, and make it active if it passes.
  assay run --push docker --template coder.docker --promote

  # Test as a tester with a token of its own, and keep the workspace of a failure.
  assay run --url https://coder.example.com --token-file tester.token \
    --template coder.docker --version active --keep-on-failure

  # Have a server run the test.
  assay run --server https://assay.example.com --template coder.docker --version active`

// runOptions are the flags of assay run.
type runOptions struct {
	connection connectionFlags
	server     serverFlags
	// controlPlane is the server's.
	controlPlane string
	owner        ownerFlags
	spec         specFlags
	// templates and versions are those of the flags; each pair is a test.
	templates, versions []string
	suite               string
	batch               batchOptions
	push                runPush
	reports             reportFlags
	state               string
	output              runOutput
	cleanupTimeout      time.Duration
	debug               bool
}

func newRunCommand(env Env, code *int) *cobra.Command {
	o := runOptions{output: runOutput(outputText)}
	cmd := &cobra.Command{
		Use:                   "run {--template ORGANIZATION.NAME {--version NAME|ID|active | --push DIR} | --suite FILE} [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Test versions of templates",
		Long:                  runLong,
		Example:               runExample,
		Args:                  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = o.run(cmd.Context(), env, cmd.Flags())
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.templates, "template", nil, "template as `ORGANIZATION.NAME`; may be repeated: each version of each template is tested")
	flags.StringArrayVar(&o.versions, "version", nil, "version of the template: its `NAME`, its ID, or \"active\"; may be repeated")
	o.spec.registerRest(flags)
	flags.StringVar(&o.suite, "suite", "", "`FILE` that describes the tests instead, in YAML; --version is for those that name none")
	o.batch.register(flags)
	o.push.register(flags)
	o.connection.register(flags)
	o.server.register(flags, &o.connection)
	flags.StringVar(&o.controlPlane, "control-plane", "", "`NAME` of the server's control plane to test on, if the token may test on several")
	o.owner.register(flags)
	registerCleanupTimeout(flags, &o.cleanupTimeout)
	flags.VarP(&o.output, "output", "o", "form of the verdicts on the standard output; ndjson writes each as soon as it is there")
	o.reports.register(flags)
	registerState(flags, &o.state)
	flags.BoolVar(&o.debug, "debug", false, "log what happens inside, without the live view")
	return cmd
}

func (o *batchOptions) register(flags *pflag.FlagSet) {
	flags.IntVar(&o.parallel, "parallel", 4, "how many tests run at once, 1 to 100")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop the other tests once one did not go as expected")
	flags.IntVar(&o.retries, "retry-inconclusive", 0, "repeat an inconclusive test up to `N` times, as a new test, 0 to 10")
	flags.BoolVar(&o.keep, "keep-on-failure", false, "keep the workspace of a test that failed")
}

func (o *batchOptions) check() error {
	switch {
	case o.parallel < 1 || o.parallel > 100:
		return usage("--parallel: %d: must be 1 to 100", o.parallel)
	case o.retries < 0 || o.retries > 10:
		return usage("--retry-inconclusive: %d: must be 0 to 10", o.retries)
	}
	return nil
}

func registerCleanupTimeout(flags *pflag.FlagSet, timeout *time.Duration) {
	*timeout = 10 * time.Minute
	flags.Var((*duration)(timeout), "cleanup-timeout", "how long to wait for the workspace's end, then exit 4")
}

func checkCleanupTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return usage("--cleanup-timeout: %v: must be more than 0", timeout)
	}
	return nil
}

// run is the command after its flags were read.
func (o *runOptions) run(ctx context.Context, env Env, flags *pflag.FlagSet) (int, error) {
	test := testRun{batch: batch{batchOptions: o.batch}, cleanupTimeout: o.cleanupTimeout, output: o.output, debug: o.debug, artifacts: o.reports.artifacts}
	var err error
	if test.name, test.batch.plans, err = o.plans(); err != nil {
		return 0, err
	}
	if err := errors.Join(o.batch.check(), checkCleanupTimeout(o.cleanupTimeout)); err != nil {
		return 0, err
	}
	if o.server.url != "" {
		return o.runOnServer(ctx, env, flags, &test)
	}
	if o.controlPlane != "" {
		return 0, usage("--control-plane: is for --server: without it --url says where the test runs")
	}
	if test.statePath, err = statePath(env, o.state); err != nil {
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
	if test.publication, err = o.push.prepare(ctx, env, &o.connection, test.batch.plans[0].spec.Template); err != nil {
		return 0, err
	}
	if test.reports, err = o.reports.open(ctx); err != nil {
		return 0, err
	}
	defer test.reports.discard()
	owner, err := interruptible(ctx, env, func(ctx context.Context) (uuid.UUID, error) {
		finder := ownerFinder{runner: runner, clock: env.Clock, patience: patience(test.batch.plans)}
		return finder.find(ctx, o.owner)
	})
	if err != nil {
		return 0, err
	}
	if test.plane, err = newPlane(connection, o.owner.policy(owner, o.batch.keep)); err != nil {
		return 0, err
	}
	return test.run(ctx, env)
}

// localFlags are those of assay run that say how this process runs a test.
var localFlags = []string{
	"url", "token-file", "owner", "allow-privileged-owner", "allow-personal-owner", "state", "debug",
	"push", "promote", "name", "message", "variable", "variables-file", "provisioner-tag", "push-token-file",
}

// runOnServer has a server run the tests.
func (o *runOptions) runOnServer(ctx context.Context, env Env, flags *pflag.FlagSet, test *testRun) (int, error) {
	if err := o.server.refuseLocal(flags, localFlags...); err != nil {
		return 0, err
	}
	server, err := o.server.connect(env)
	if err != nil {
		return 0, err
	}
	if test.reports, err = o.reports.open(ctx); err != nil {
		return 0, err
	}
	defer test.reports.discard()
	test.server, test.plane.Connection.Token = server, server.token
	test.plane.Ref, err = interruptible(ctx, env, func(ctx context.Context) (string, error) { return planeToTestOn(ctx, server, o.controlPlane) })
	if err != nil {
		return 0, err
	}
	return test.run(ctx, env)
}

// plans are the tests that are to be run, with the suite's name.
func (o *runOptions) plans() (name string, plans []plan, err error) {
	if err := o.push.check(o.templates, o.versions, o.suite); err != nil {
		return "", nil, err
	}
	versions := o.versions
	if o.push.dir != "" {
		versions = []string{pushedVersion}
	}
	if o.suite == "" {
		plans, err = plansOfFlags(o.templates, versions, o.spec)
		return "", plans, err
	}
	if len(o.templates) > 0 || len(o.spec.params) > 0 || o.spec.preset != "" {
		return "", nil, usage("--suite: the file names templates, parameters and presets: leave out --template, --param and --preset")
	}
	return plansOfSuite(o.suite, o.versions, o.spec)
}

// patience is how long the most patient test waits for an unavailable Coder.
func patience(plans []plan) time.Duration {
	var longest time.Duration
	for _, p := range plans {
		longest = max(longest, cmp.Or(p.spec.InputsTimeout(), p.spec.Timeout()))
	}
	return longest
}

// secretsOf lists what evidence must not show.
func secretsOf(connection core.Connection, specs ...core.Spec) []string {
	secrets := []string{connection.Token.Reveal()}
	for i := range specs {
		for _, parameter := range specs[i].Parameters {
			secrets = append(secrets, parameter.Value)
		}
	}
	return secrets
}

// testRun is a batch of tests with what running and reporting it takes.
type testRun struct {
	batch batch
	name  string
	// plane is where the tests run; of one of a server only its name is known, and the token
	// is the server's.
	plane core.ControlPlane
	// server runs the tests; nil for this process.
	server         *serverConnection
	statePath      string
	cleanupTimeout time.Duration
	output         runOutput
	reports        reportFiles
	artifacts      string
	debug          bool
	// publication is what is done to the template beside the test, nil for nothing.
	publication *publication
	// obeyAgain ends the part of the output in which GitHub's runner obeys nothing.
	obeyAgain func()
}

// run pushes what is to be tested, runs the tests on a graph of their own, promotes, and
// tells the verdicts.
func (r *testRun) run(ctx context.Context, env Env) (int, error) {
	var err error
	if r.obeyAgain, err = obeyNothing(env); err != nil {
		return 0, err
	}
	defer r.obeyAgain()
	startedAt := env.Clock.Now()
	if r.publication != nil {
		if code, err := r.publication.begin(ctx, env, &r.batch.plans[0].spec); err != nil {
			run := r.publication.notTested(ctx, env, r.batch.plans[0], code, err)
			if code, writing := r.write(env, &run, startedAt, nil); writing != nil {
				return code, writing
			}
			return 0, &exitError{run.ExitCode, err}
		}
	}
	specs := make([]core.Spec, 0, len(r.batch.plans))
	for i := range r.batch.plans {
		r.batch.plans[i].spec.ControlPlaneRef = r.plane.Ref
		specs = append(specs, r.batch.plans[i].spec)
	}
	config := runConfig{
		planes: controlPlanes{r.plane.Ref: r.plane}, statePath: r.statePath, debug: r.debug,
		secrets: append(secretsOf(r.plane.Connection, specs...), r.publication.secrets()...), several: len(specs) > 1, plain: r.output == outputLines,
	}
	config.artifacts = newArtifacts(r.artifacts, config.secrets)
	var lineError error
	if r.output == outputLines {
		r.batch.note = func(test report.Test) { lineError = cmp.Or(lineError, report.WriteLine(env.Stdout, test)) }
	}
	h, err := r.runTests(ctx, env, config)
	if err != nil {
		return 0, err
	}
	for _, attempts := range r.batch.attempts {
		for i := range attempts {
			attempts[i].explain(env.Stderr, h, r.batch.signal)
		}
	}
	keepArtifacts(ctx, env, config.artifacts, r.batch.attempts, r.batch.signal)
	run := documentOf(r.batch.attempts, r.batch.signal)
	if r.publication != nil {
		r.publication.end(ctx, env, &run, r.batch.signal != nil)
	}
	return r.write(env, &run, startedAt, lineError)
}

// runTests runs the tests where they are to run.
func (r *testRun) runTests(ctx context.Context, env Env, config runConfig) (host, error) {
	if r.server != nil {
		return withServer(ctx, env, r.server, config, func(h *onServer) { r.batch.run(ctx, h, h.observers, r.cleanupTimeout) }), nil
	}
	return onGraph(ctx, env, config, func(s *session) error {
		if err := s.state.PutControlPlane(ctx, r.plane); err != nil {
			return failure(fmt.Errorf("nothing was started: %w", err))
		}
		r.batch.run(ctx, s, s.observers, r.cleanupTimeout)
		return nil
	})
}

// write tells how a run ended on the standard output and in the reports.
func (r *testRun) write(env Env, run *report.Run, startedAt time.Time, lineError error) (int, error) {
	run.Name, run.StartedAt, run.EndedAt = r.name, startedAt.UTC(), env.Clock.Now().UTC()
	if r.output == outputLines && run.Promotion != nil {
		// The lines are the tests'.
		fmt.Fprintln(env.Stderr, promotionLine(*run.Promotion))
	}
	r.obeyAgain()
	tellGitHub(env, run)
	code, err := written(run.ExitCode, cmp.Or(lineError, writeRun(env.Stdout, r.output, run)))
	return r.reports.write(env, run, code, err)
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

// graph is what a run is wired of.
func graph(env Env, config runConfig) fx.Option {
	return fx.Options(fx.Supply(env, config), Module, fx.NopLogger)
}
