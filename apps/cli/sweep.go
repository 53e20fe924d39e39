package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/sweep"
	"github.com/assay-dev/assay/ports"
)

const sweepLong = `Look at every live workspace of a tester that is named like a test's ("ktt-" and 28
hexadecimal digits), and say what it is, how old it is, and for how long it has run:

  claimed   a test of this state file knows it; "assay resume" finishes that test
  retained  such a test was asked to keep it
  proven    the token's user made it and built it last, its owner may own test
            workspaces, it is older than --older-than, and no test here claims it
  unsure    too little is known to say any of the others
  foreign   somebody other than the token's user made it

Without --delete nothing is changed, in Coder or on this machine, and no state file is
made.

With --delete and --dedicated-owner those that are proven are deleted, each after it was
looked at once more. The second flag says that the tester is used from this state file
alone: a test that runs from another state file, cluster or server looks proven from
here. A workspace that is being deleted gets a record in the state file: after a kill,
"assay resume" goes on with it.

` + connectionHelp + `

Exit codes:
  0    everything was looked at, and what was to be deleted is deleted
  2    usage: the flags are wrong; nothing was done
  3    Coder, the state file or the token's rights kept it from being looked at
  4    leak risk: something that was to be deleted can still exist
  130  interrupted (SIGINT) before all that was proven was deleted
  143  terminated (SIGTERM) before all that was proven was deleted`

const sweepExample = `  # See what the tests of the token's own user left behind.
  assay sweep

  # See what a tester has, by an administrator's token, as JSON.
  assay sweep --owner ci-tester --output json | jq '.workspaces[] | select(.verdict == "proven")'

  # Delete what is proven and older than two days. Nobody else uses this tester.
  assay sweep --owner ci-tester --older-than 48h --delete --dedicated-owner`

// dedicated says why deleting takes two flags.
const dedicated = "a workspace can be proven to be the token's user's, not to be needed by nobody: a live test of another " +
	"state file, cluster or server looks the same from here"

// sweepPatience is how long an unavailable Coder is waited for before anything is done.
const sweepPatience = 30 * time.Second

// sweepOptions are the flags of assay sweep.
type sweepOptions struct {
	connection     connectionFlags
	owner          ownerFlags
	state          string
	output         outputFormat
	olderThan      time.Duration
	delete         bool
	dedicatedOwner bool
	cleanupTimeout time.Duration
	debug          bool
}

func newSweepCommand(env Env, code *int) *cobra.Command {
	o := sweepOptions{output: outputText}
	cmd := &cobra.Command{
		Use:     "sweep",
		Short:   "Find the workspaces that tests left behind, and delete them",
		Long:    sweepLong,
		Example: sweepExample,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			*code, err = o.run(cmd.Context(), env)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.olderThan = 24 * time.Hour
	flags.Var((*duration)(&o.olderThan), "older-than", "how old, by Coder's times, a workspace must be to count as proven")
	flags.BoolVar(&o.delete, "delete", false, "delete what is proven; needs --dedicated-owner")
	flags.BoolVar(&o.dedicatedOwner, "dedicated-owner", false, "no other state file, cluster or server uses this tester; needs --delete")
	o.connection.register(flags)
	o.owner.register(flags)
	registerCleanupTimeout(flags, &o.cleanupTimeout)
	flags.VarP(&o.output, "output", "o", "form of the report")
	registerState(flags, &o.state)
	flags.BoolVar(&o.debug, "debug", false, "log what happens inside, without the live view")
	return cmd
}

// check refuses flags that do not go together.
func (o *sweepOptions) check() error {
	switch {
	case o.delete && !o.dedicatedOwner:
		return usage("--delete: %s; add --dedicated-owner if this tester is used from here alone", dedicated)
	case o.dedicatedOwner && !o.delete:
		return usage("--dedicated-owner: says nothing without --delete: leave it out, or add --delete to delete what is proven")
	case o.olderThan < 0:
		return usage("--older-than: %v: must be 0 or more", o.olderThan)
	default:
		return checkCleanupTimeout(o.cleanupTimeout)
	}
}

// run is the command after its flags were read.
func (o *sweepOptions) run(ctx context.Context, env Env) (int, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	path, err := statePath(env, o.state)
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
	s := &sweep.Sweep{
		Coder: runner, OlderThan: o.olderThan, Policy: o.owner.policy(uuid.Nil, false), Progress: o.progress(env),
		Records: func(ctx context.Context) ([]core.Record, error) { return readRecords(ctx, env, o.state) },
	}
	view, err := interruptible(ctx, env, func(ctx context.Context) (sweep.View, error) { return o.look(ctx, env, runner, s) })
	if err != nil {
		return 0, err
	}
	results, code := map[uuid.UUID]string{}, exitPassed
	if proven := withVerdict(view.Findings, sweep.Proven); o.delete && len(proven) > 0 {
		plane, err := newPlane(connection, o.owner.policy(view.Owner.ID, false))
		if err != nil {
			return 0, failure(err)
		}
		d := sweepDeletion{sweep: s, view: view, plane: plane, cleanupTimeout: o.cleanupTimeout, results: results}
		config := runConfig{
			planes: controlPlanes{plane.Ref: plane}, statePath: path, several: len(proven) > 1, debug: o.debug,
			secrets: []string{connection.Token.Reveal()},
		}
		s, err := onGraph(ctx, env, config, func(s *session) error { return d.run(ctx, s, proven) })
		if err != nil {
			return 0, err
		}
		code = d.code(env.Stderr, s)
	}
	return written(code, writeSweep(env.Stdout, o.output, newSweepReport(view, results, o.olderThan, code), o.delete))
}

// progress says how far the look is, at its beginning and then now and then.
func (o *sweepOptions) progress(env Env) func(done, of int) {
	const every = 25
	return func(done, of int) {
		switch {
		case done == 0:
			fmt.Fprintf(env.Stderr, "reading the builds of %d workspaces\n", of)
		case done%every == 0:
			fmt.Fprintf(env.Stderr, "read the builds of %d of %d workspaces\n", done, of)
		}
	}
}

// look finds the owner and then its workspaces.
func (o *sweepOptions) look(ctx context.Context, env Env, runner ports.CodeRunner, s *sweep.Sweep) (sweep.View, error) {
	finder := ownerFinder{runner: runner, clock: env.Clock, patience: sweepPatience}
	if o.owner.owner != "" && o.owner.owner != me {
		owner, err := finder.named(ctx, o.owner.owner)
		if err != nil {
			return sweep.View{}, err
		}
		s.Owner = owner
	}
	fmt.Fprintf(env.Stderr, "looking for the workspaces of %s\n", firstOf(o.owner.owner, "the token's user"))
	view, err := askCoder(ctx, finder, s.Look)
	var refused *core.Failure
	switch {
	case err == nil:
		return view, nil
	case errors.Is(err, sweep.ErrMayNotRead):
		return sweep.View{}, failure(fmt.Errorf("%w: use the owner's own token, or that of a site owner", err))
	case errors.As(err, &refused) && refused.Class == core.FailureNotFound && s.Owner != uuid.Nil:
		return sweep.View{}, failure(fmt.Errorf("--owner: no user %s that the token's user can read: "+
			"check the ID, or use a token that may read users", s.Owner))
	case errors.As(err, &refused):
		return sweep.View{}, connectionError(err)
	default:
		return sweep.View{}, err
	}
}

// withVerdict are the findings that have the verdict.
func withVerdict(findings []sweep.Finding, verdict sweep.Verdict) []sweep.Finding {
	var found []sweep.Finding
	for i := range findings {
		if findings[i].Verdict == verdict {
			found = append(found, findings[i])
		}
	}
	return found
}
