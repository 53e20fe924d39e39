package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/tester"
	"github.com/assay-dev/assay/ports"
)

const testerLong = `A tester is the user who owns the workspaces of tests. Each start build hands a session
token of the owner to the template's Terraform, so its token must be worth nothing: it
is active, no person's login, a plain member, and used for nothing else.`

func newTesterCommand(env Env, code *int) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tester",
		Short: "Make a user who may own test workspaces, or check one",
		Long:  testerLong,
		Args:  cobra.ArbitraryArgs,
		RunE:  missingCommand,
	}
	cmd.AddCommand(newTesterCreateCommand(env, code), newTesterCheckCommand(env, code))
	return cmd
}

// testerFlags are those of every command about testers.
type testerFlags struct {
	connection    connectionFlags
	organizations []string
	output        outputFormat
}

func (f *testerFlags) register(flags *pflag.FlagSet, organizations string) {
	flags.SortFlags = false
	flags.StringArrayVar(&f.organizations, "org", nil, organizations)
	f.connection.register(flags)
	f.output = outputText
	flags.VarP(&f.output, "output", "o", "form of the result")
}

// dial connects, and brings what every question is asked with.
func (f *testerFlags) dial(env Env) (ports.CodeRunner, ownerFinder, error) {
	connection, err := f.connection.resolve(env)
	if err != nil {
		return nil, ownerFinder{}, err
	}
	runner, err := env.Dial(connection)
	if err != nil {
		return nil, ownerFinder{}, usage("%w", err)
	}
	return runner, ownerFinder{runner: runner, clock: env.Clock, patience: sweepPatience}, nil
}

// find looks the organizations up.
func (f *testerFlags) find(ctx context.Context, finder ownerFinder) ([]core.Organization, error) {
	var found []core.Organization
	for _, name := range f.organizations {
		organization, err := askCoder(ctx, finder, func(ctx context.Context) (core.Organization, error) {
			return finder.runner.Organization(ctx, name)
		})
		if err != nil && core.AsFailure(err).Class == core.FailureNotFound {
			return nil, failure(fmt.Errorf("--org: no organization %q that the token's user can read: check the name", name))
		}
		if err != nil {
			return nil, connectionError(err)
		}
		found = append(found, organization)
	}
	return found, nil
}

const testerCreateLong = `Make a tester: an active user of this name, a member of the organizations and nothing
more. Where the license allows it is a service account, else a user with a random
password that nobody is told. Its ID goes to the standard output.

If such a user is there already, it is told and its ID is printed; a dormant one is
activated. A user of the name who has other rights, is suspended, or is in other
organizations only is refused and not changed. So the command can be repeated.

It takes the token of a site owner or user admin. No token of the tester is made: either
name the tester with --owner to "assay run" and use a site owner's token, or make one
with "coder tokens create --user NAME" and test with that alone.

` + connectionHelp + `

Exit codes:
  0    the tester is there
  2    usage: the flags are wrong; nothing was done
  3    Coder refused, could not be asked, or has another user of the name
  130  interrupted (SIGINT); repeat the command
  143  terminated (SIGTERM); repeat the command`

const testerCreateExample = `  # Make a tester in the organization "acme", and test with it.
  owner=$(assay tester create ci-tester --org acme)
  assay run --template acme.docker --version active --owner "$owner"`

func newTesterCreateCommand(env Env, code *int) *cobra.Command {
	var f testerFlags
	cmd := &cobra.Command{
		Use:     "create NAME --org ORGANIZATION",
		Short:   "Make a user who may own test workspaces",
		Long:    testerCreateLong,
		Example: testerCreateExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("%q takes the name of one tester, got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			*code, err = f.create(cmd.Context(), env, args[0])
			return err
		},
	}
	f.register(cmd.Flags(), "`ORGANIZATION` that the tester is a member of; can be repeated")
	return cmd
}

// ensured is the tester that there is, and the organizations that were asked for.
type ensured struct {
	tester.Made
	organizations []core.Organization
}

var userName = regexp.MustCompile(core.NamePattern)

func (f *testerFlags) create(ctx context.Context, env Env, name string) (int, error) {
	if len(name) > core.MaxNameLength || !userName.MatchString(name) || strings.EqualFold(name, me) {
		return 0, usage("NAME: %q: must have 1 to %d letters, digits and single dashes between them, and not be %q", name, core.MaxNameLength, me)
	}
	if _, err := uuid.Parse(name); err == nil {
		return 0, usage("NAME: %q: is an ID: give the tester a name", name)
	}
	if len(f.organizations) == 0 {
		return 0, usage("--org: missing: name the organization of the templates that the tester is for")
	}
	runner, finder, err := f.dial(env)
	if err != nil {
		return 0, err
	}
	admin, ok := runner.(tester.Coder)
	if !ok {
		return 0, usage("this connection makes no users")
	}
	fmt.Fprintf(env.Stderr, "looking for the user %s\n", name)
	// A second signal leaves this behind: it shares no variable with what comes after it.
	made, err := interruptible(ctx, env, func(ctx context.Context) (ensured, error) {
		organizations, err := f.find(ctx, finder)
		if err != nil {
			return ensured{}, err
		}
		made, err := askCoder(ctx, finder, func(ctx context.Context) (tester.Made, error) {
			return tester.Ensure(ctx, admin, tester.Wish{Username: name, Organizations: organizations}, env.Random)
		})
		return ensured{made, organizations}, createError(err)
	})
	if err != nil {
		return 0, err
	}
	if made.User.ID == uuid.Nil {
		return 0, failure(errors.New("coder told no ID of the user: repeat the command"))
	}
	switch {
	case made.Created:
		fmt.Fprintf(env.Stderr, "made %s\n", made.User.Username)
	case made.Activated:
		fmt.Fprintf(env.Stderr, "%s was there already, dormant: activated it\n", made.User.Username)
	default:
		fmt.Fprintf(env.Stderr, "%s was there already, nothing to do\n", made.User.Username)
	}
	if f.output == outputJSON {
		err = report.WriteJSON(env.Stdout, newMadeTester(made))
	} else {
		_, err = fmt.Fprintln(env.Stdout, made.User.ID)
	}
	return written(exitPassed, err)
}

// createError says what to do when no tester could be made.
func createError(err error) error {
	var (
		unfit   *tester.UnfitError
		refused *core.Failure
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unfit) && unfit.Created:
		return failure(fmt.Errorf("%w\nThis command made it just now: change what is told and repeat the command, or delete that user", unfit))
	case errors.As(err, &unfit):
		return failure(fmt.Errorf("%w\nChoose another name, or change that user first; it was left as it is", unfit))
	case !errors.As(err, &refused):
		return failure(err)
	case refused.Class == core.FailureForbidden:
		return failure(fmt.Errorf("coder makes no such user for this token (HTTP %d: %s): use the token of a site owner or user admin",
			refused.Status, refused.Message))
	case refused.Class == core.FailureConflict:
		return failure(fmt.Errorf("the name, or the email address that goes with it, is taken by a user that this token cannot read " +
			"(HTTP 409): choose another name, or use the token of a site owner or user admin"))
	case refused.Class == core.FailureUncertain:
		return failure(fmt.Errorf("nobody knows whether the user was made: %s: repeat the command", refused.Message))
	case refused.Class == core.FailureRejected, refused.Class == core.FailureNotFound:
		return failure(fmt.Errorf("coder refuses to make the user (HTTP %d: %s)", refused.Status, refused.Message))
	default:
		return connectionError(err)
	}
}

// madeTester is what assay tester create tells. Its JSON form is part of the public
// contract: fields are added, never renamed or removed.
type madeTester struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	// Created and Activated tell what was done; neither, that nothing was to do.
	Created        bool `json:"created"`
	Activated      bool `json:"activated"`
	ServiceAccount bool `json:"serviceAccount"`
	// Organizations are those that were asked for.
	Organizations []string `json:"organizations"`
}

func newMadeTester(made ensured) madeTester {
	m := madeTester{
		ID: made.User.ID, Name: made.User.Username, Created: made.Created, Activated: made.Activated,
		ServiceAccount: made.User.ServiceAccount,
	}
	for _, organization := range made.organizations {
		m.Organizations = append(m.Organizations, organization.Name)
	}
	return m
}
