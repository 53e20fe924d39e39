package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/tester"
	"github.com/assay-dev/assay/ports"
)

const testerCheckLong = `Say whether a user may own test workspaces, rule by rule, and what to do about each that
is broken. The user is named by name or ID; without one it is the token's own. Nothing is
changed.

The organizations are all of the user's, or those of --org. Waivers
(--allow-personal-owner and --allow-privileged-owner of "assay run") are not considered.

` + connectionHelp + `

Exit codes:
  0    the user may own test workspaces
  2    usage: the flags are wrong
  3    it may not, or Coder could not be asked
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)`

const testerCheckExample = `  # Check the token's own user.
  assay tester check

  # Check a tester for the templates of one organization.
  assay tester check ci-tester --org acme`

func newTesterCheckCommand(env Env, code *int) *cobra.Command {
	var f testerFlags
	cmd := &cobra.Command{
		Use:     "check [NAME|ID]",
		Short:   "Say whether a user may own test workspaces, and what to do",
		Long:    testerCheckLong,
		Example: testerCheckExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%q takes the name or ID of one user, got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			*code, err = f.check(cmd.Context(), env, strings.Join(args, ""))
			return err
		},
	}
	f.register(cmd.Flags(), "`ORGANIZATION` whose templates the user is to test; can be repeated; all of its own by default")
	return cmd
}

// check judges the user; an empty name means the token's own.
func (f *testerFlags) check(ctx context.Context, env Env, name string) (int, error) {
	_, finder, err := f.dial(env)
	if err != nil {
		return 0, err
	}
	checked, err := interruptible(ctx, env, func(ctx context.Context) (checkedTester, error) {
		user, err := f.user(ctx, finder, name)
		if err != nil {
			return checkedTester{}, err
		}
		organizations, err := f.find(ctx, finder)
		if err != nil {
			return checkedTester{}, err
		}
		if len(f.organizations) == 0 {
			for _, m := range user.Memberships {
				organizations = append(organizations, core.Organization{ID: m.OrganizationID, Name: m.OrganizationName})
			}
		}
		return newCheckedTester(user, tester.Check(user, organizations)), nil
	})
	if err != nil {
		return 0, err
	}
	if f.output == outputJSON {
		err = report.WriteJSON(env.Stdout, checked)
	} else {
		err = checked.write(env.Stdout)
	}
	return written(checked.ExitCode, err)
}

// user reads the user of a name or ID, with its roles.
func (f *testerFlags) user(ctx context.Context, finder ownerFinder, name string) (core.User, error) {
	user, err := askCoder(ctx, finder, func(ctx context.Context) (user core.User, err error) {
		id, parseErr := uuid.Parse(name)
		users, finds := finder.runner.(ports.UserFinder)
		switch {
		case name == "" || name == me:
			user, err = finder.runner.Operator(ctx)
		case parseErr == nil:
			user.ID = id
		case finds:
			user, err = users.FindUser(ctx, name)
		default:
			err = usage("%q: this connection finds users by ID only: give the user's ID", name)
		}
		if err != nil {
			return core.User{}, err
		}
		return finder.runner.Owner(ctx, user.ID)
	})
	var refused *core.Failure
	switch {
	case err == nil:
		return user, nil
	case !errors.As(err, &refused):
		return core.User{}, err
	case refused.Class == core.FailureNotFound && name != "":
		return core.User{}, failure(fmt.Errorf("no user %q that the token's user can read: "+
			"check the name, or use a token that may read users", name))
	default:
		return core.User{}, connectionError(err)
	}
}

// checkedTester is what assay tester check tells. Its JSON form is part of the public
// contract: fields are added, never renamed or removed.
type checkedTester struct {
	ID       uuid.UUID     `json:"id"`
	Name     string        `json:"name"`
	Eligible bool          `json:"eligible"`
	Rules    []checkedRule `json:"rules"`
	ExitCode int           `json:"exitCode"`
}

type checkedRule struct {
	Rule string `json:"rule"`
	OK   bool   `json:"ok"`
	// Problem says why it does not hold, and what to do.
	Problem string `json:"problem,omitempty"`
}

func newCheckedTester(user core.User, findings []tester.Finding) checkedTester {
	c := checkedTester{ID: user.ID, Name: user.Username, Eligible: true, Rules: []checkedRule{}}
	for _, finding := range findings {
		c.Rules = append(c.Rules, checkedRule{finding.Rule, finding.Problem == "", finding.Problem})
		if finding.Problem != "" {
			c.Eligible, c.ExitCode = false, exitInconclusive
		}
	}
	return c
}

// write tells it to a person.
func (c *checkedTester) write(out io.Writer) error {
	var text strings.Builder
	may := "may own test workspaces"
	if !c.Eligible {
		may = "may not own test workspaces"
	}
	fmt.Fprintf(&text, "%s (%s) %s:\n", c.Name, c.ID, may)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, rule := range c.Rules {
		state := "ok"
		if !rule.OK {
			state = "failed"
		}
		fmt.Fprintln(table, strings.TrimRight("  "+state+"\t"+rule.Rule+"\t"+rule.Problem, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, text.String())
	return err
}
