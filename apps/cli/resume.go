package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const resumeLong = `Finish the tests of the state file that are not finished and that no other process runs:
those of a run that was killed, that gave up its cleanup, or that a second signal ended.
A test without a verdict goes on to one; a workspace that is left is deleted. With --stop
no test goes on: what was made is deleted, and a test without a verdict exits 3.

A process that runs a test says so in the state file every few seconds. After a kill,
assay resume waits for up to 15 seconds to see that nobody does.

The state file knows the deployment of each test, but no token. The token is read as
assay run reads it, and is sent to no other deployment than the one that it is for.

` + exitHelp

const resumeExample = `  # Finish everything.
  assay resume

  # Delete what is left, as the last step of a CI job.
  assay resume --stop

  # Finish one test, with a tester's own token.
  assay resume 6f0c2d9e --url https://coder.example.com --token-file tester.token`

// resumeOptions are the flags of assay resume.
type resumeOptions struct {
	connection     connectionFlags
	state          string
	output         outputFormat
	cleanupTimeout time.Duration
	stop           bool
	showLogs       bool
	debug          bool
}

func newResumeCommand(env Env, code *int) *cobra.Command {
	o := resumeOptions{output: outputText}
	cmd := &cobra.Command{
		Use:     "resume [ID...]",
		Short:   "Finish the tests that an earlier run left unfinished",
		Long:    resumeLong,
		Example: resumeExample,

		ValidArgsFunction: completeIDs(env, true),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			*code, err = o.run(cmd.Context(), env, args)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.connection.register(flags)
	flags.BoolVar(&o.stop, "stop", false, "go on with no test: delete what was made")
	registerCleanupTimeout(flags, &o.cleanupTimeout)
	flags.VarP(&o.output, "output", "o", "form of the verdicts")
	registerState(flags, &o.state)
	flags.BoolVar(&o.showLogs, "show-logs", false,
		"show the ends of the logs of failures; they can hold values of template variables, which only the run that pushed knows")
	flags.BoolVar(&o.debug, "debug", false, "log what happens inside, without the live view")
	return cmd
}

// unfinished is a test to be resumed.
type unfinished struct {
	record core.Record
	plane  core.ControlPlane
}

func (o *resumeOptions) run(ctx context.Context, env Env, ids []string) (int, error) {
	if err := checkCleanupTimeout(o.cleanupTimeout); err != nil {
		return 0, err
	}
	path, err := statePath(env, o.state)
	if err != nil {
		return 0, err
	}
	var tests []unfinished
	err = withStore(ctx, env, o.state, func(store *sqlstore.Store) error {
		tests, err = findUnfinished(ctx, store, ids)
		return err
	})
	if err != nil {
		return 0, err
	}
	code := exitPassed
	config := runConfig{planes: controlPlanes{}, statePath: path, several: len(tests) > 1, hideLogs: !o.showLogs, debug: o.debug}
	runnable := make([]core.Record, 0, len(tests))
	single := oneAddress(tests)
	for _, test := range tests {
		connection, err := o.connection.resolveStored(env, test.plane.Connection, single)
		if err != nil {
			fmt.Fprintf(env.Stderr, "test %s is not resumed: %v\n", test.record.ID, err)
			code = worstExit(code, exitInconclusive, exitCode(&test.record, nil))
			continue
		}
		test.plane.State, test.plane.Connection = core.ControlPlaneUsable, connection
		config.planes[test.record.Spec.ControlPlaneRef] = test.plane
		config.secrets = append(config.secrets, secretsOf(connection, test.record.Spec)...)
		runnable = append(runnable, test.record)
	}
	attempts := [][]attempt{}
	var signal os.Signal
	startedAt := env.Clock.Now()
	if len(runnable) > 0 {
		if attempts, signal, err = o.finish(ctx, env, config, runnable); err != nil {
			return 0, err
		}
	}
	run := documentOf(attempts, signal)
	run.StartedAt, run.EndedAt = startedAt.UTC(), env.Clock.Now().UTC()
	run.ExitCode = worstExit(code, run.ExitCode)
	if len(attempts) == 0 && o.output == outputText {
		text := "Nothing was resumed."
		if exists, _ := stateFileExists(path); !exists {
			text = fmt.Sprintf("Nothing was resumed: there is no state file %s.", path)
		}
		_, err := fmt.Fprintln(env.Stdout, text)
		return written(run.ExitCode, err)
	}
	return written(run.ExitCode, writeRun(env.Stdout, runOutput(o.output), &run))
}

// finish drives those of the tests that nobody else runs.
func (o *resumeOptions) finish(
	ctx context.Context, env Env, config runConfig, records []core.Record,
) (attempts [][]attempt, signal os.Signal, err error) {
	obeyAgain, err := obeyNothing(env)
	if err != nil {
		return nil, nil, err
	}
	defer obeyAgain()
	s, err := onGraph(ctx, env, config, func(s *session) error {
		taken, err := interruptible(ctx, env, func(ctx context.Context) ([]core.Record, error) { return s.takeOver(ctx, records) })
		if err != nil {
			return err
		}
		attempts = make([][]attempt, len(taken))
		signal = supervise(ctx, s, s.observers, o.cleanupTimeout, func(w *supervision) {
			if o.stop {
				w.stop()
			}
			var tests sync.WaitGroup
			for i, record := range taken {
				w.goOn(record)
				tests.Go(func() {
					one := attempt{plan: plan{name: record.Name, spec: record.Spec}, number: 1}
					one.follow(w, record.ID)
					if !o.showLogs {
						one.logs = nil
					}
					attempts[i] = []attempt{one}
				})
			}
			tests.Wait()
		})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range attempts {
		attempts[i][0].explain(env.Stderr, s, signal)
	}
	return attempts, signal, nil
}

// takeOver takes the leases of the tests and reads them again. Those that another
// process runs, or has finished meanwhile, are left out.
func (s *session) takeOver(ctx context.Context, records []core.Record) ([]core.Record, error) {
	var (
		mu     sync.Mutex
		taken  = make(map[uuid.UUID]core.Record)
		failed error
		tests  sync.WaitGroup
	)
	for _, record := range records {
		tests.Go(func() {
			latest, err := s.takeOverOne(ctx, record.ID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = errors.Join(failed, err)
			case latest != nil && isUnfinished(latest):
				taken[record.ID] = *latest
			}
		})
	}
	tests.Wait()
	if failed != nil {
		return nil, failure(failed)
	}
	kept := make([]core.Record, 0, len(taken))
	for _, record := range records {
		if latest, ok := taken[record.ID]; ok {
			kept = append(kept, latest)
		}
	}
	return kept, nil
}

// takeOverOne is nil for a test that somebody else runs, or that is gone.
func (s *session) takeOverOne(ctx context.Context, id uuid.UUID) (*core.Record, error) {
	standing, err := s.keeper.TakeOver(ctx, id, func(lease core.Lease) {
		fmt.Fprintf(s.progress, "test %s: waiting to see whether %s still runs it\n", id, lease.Holder)
	})
	if errors.Is(err, ports.ErrLeased) {
		fmt.Fprintf(s.progress, "test %s is not resumed: %s runs it\n", id, standing.Holder)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := s.state.Load(ctx, id, ports.Live)
	if errors.Is(err, ports.ErrNotFound) {
		return nil, nil
	}
	return &record, err
}

// isUnfinished reports whether something is left to do for the test. What is kept
// because somebody asked for it is finished.
func isUnfinished(record *core.Record) bool {
	if !record.Status.Phase.Final() {
		return true
	}
	retained := record.Status.Condition(core.ConditionWorkspaceDeleted).Reason == core.ReasonRetained
	return record.Held && (!retained || record.DeletionRequested())
}

// findUnfinished lists the unfinished tests of the state file, oldest first: all, or
// those that the IDs name.
func findUnfinished(ctx context.Context, store *sqlstore.Store, ids []string) ([]unfinished, error) {
	records, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	named := map[uuid.UUID]bool{}
	for _, id := range ids {
		record, err := find(records, id)
		if err != nil {
			return nil, err
		}
		named[record.ID] = true
	}
	var tests []unfinished
	for _, record := range records {
		if len(ids) > 0 && !named[record.ID] || !isUnfinished(&record) {
			continue
		}
		plane, err := store.ControlPlane(ctx, record.Spec.ControlPlaneRef)
		if err != nil && !errors.Is(err, ports.ErrNotFound) {
			return nil, err
		}
		tests = append(tests, unfinished{record, plane})
	}
	return tests, nil
}

// oneAddress is the address of the tests' only deployment, empty if there are several.
func oneAddress(tests []unfinished) string {
	var address string
	for _, test := range tests {
		stored := test.plane.Connection.URL
		if address != "" && !sameAddress(address, stored) {
			return ""
		}
		address = stored
	}
	return address
}

// resolveStored completes the stored connection of a test with its token. single is
// the address of the only deployment that has unfinished tests, if there is only one: a
// token that comes without an address is for that one.
func (f *connectionFlags) resolveStored(env Env, stored core.Connection, single string) (core.Connection, error) {
	named, _, err := f.named(env, readLogin(env))
	if err != nil {
		return core.Connection{}, err
	}
	named = firstOf(named, single)
	switch {
	case named == "" && stored.URL == "":
		return core.Connection{}, errors.New("its record does not say which deployment it runs against: give --url")
	case named == "":
		return core.Connection{}, fmt.Errorf("it runs against %s, and tests of other deployments are unfinished too: "+
			"give --url %s and a token for it", stored.URL, stored.URL)
	case stored.URL != "" && !sameAddress(named, stored.URL):
		return core.Connection{}, fmt.Errorf("it runs against %s, not against %s: give --url %s and a token for it",
			stored.URL, named, stored.URL)
	}
	flags := *f
	flags.url = firstOf(stored.URL, named)
	connection, err := flags.resolve(env)
	if err != nil {
		return core.Connection{}, err
	}
	connection.CACertificates = firstOf(connection.CACertificates, stored.CACertificates)
	return connection, nil
}
