package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/core"
)

func registerState(flags *pflag.FlagSet, state *string) {
	flags.StringVar(state, "state", "", "`FILE` with the records of tests (default ${XDG_STATE_HOME:-~/.local/state}/assay/assay.db)")
}

// readRecords lists the records of the state file, oldest first. A file that is not
// there holds none, and is not made.
func readRecords(ctx context.Context, env Env, state string) (records []core.Record, err error) {
	err = withStore(ctx, env, state, func(store *sqlstore.Store) error {
		records, err = store.List(ctx)
		return err
	})
	return records, err
}

// withStore calls f with the state file, unless there is none, and closes it.
func withStore(ctx context.Context, env Env, state string, f func(*sqlstore.Store) error) (err error) {
	path, err := statePath(env, state)
	if err != nil {
		return err
	}
	if exists, err := stateFileExists(path); err != nil || !exists {
		return err
	}
	store, err := sqlstore.Open(ctx, path, env.Clock)
	if err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := f(store); err != nil {
		var withCode *exitError
		if errors.As(err, &withCode) {
			return err
		}
		return failure(err)
	}
	return nil
}

func newListCommand(env Env) *cobra.Command {
	var state string
	var server serverFlags
	limit := 50
	output := outputText
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tests in the state file, or those of a server, oldest first",
		Long: `List the tests in the state file, oldest first. With --server list the newest tests of an
assay server instead.

` + serverHelp,
		Example: `  assay list
  assay list --output json | jq '.[] | select(.leakRisk) | .workspace.name'
  assay list --server https://assay.example.com`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			records, err := listRecords(cmd.Context(), env, cmd.Flags(), state, server, limit)
			if err != nil {
				return err
			}
			tests := make([]report.Test, 0, len(records))
			for i := range records {
				tests = append(tests, report.NewTest(&records[i]))
			}
			if output == outputJSON {
				return report.WriteJSON(env.Stdout, tests)
			}
			return writeTable(env.Stdout, tests, firstOf(server.url, state, "the state file"))
		},
	}
	registerState(cmd.Flags(), &state)
	server.registerAlone(cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", limit, "how many of the server's tests are listed, the newest ones; 0 is all")
	cmd.Flags().VarP(&output, "output", "o", "form of the list")
	return cmd
}

// listRecords lists the records of the state file, or of a server, oldest first.
func listRecords(ctx context.Context, env Env, flags *pflag.FlagSet, state string, at serverFlags, limit int) ([]core.Record, error) {
	if at.url == "" {
		if flags.Changed("limit") {
			return nil, usage("--limit: is for --server: a state file is listed as a whole")
		}
		return readRecords(ctx, env, state)
	}
	if err := at.refuseLocal(flags, "state"); err != nil {
		return nil, err
	}
	if limit < 0 {
		return nil, usage("--limit: %d: must be 0 or more", limit)
	}
	server, err := at.connect(env)
	if err != nil {
		return nil, err
	}
	var more bool
	records, err := interruptible(ctx, env, func(ctx context.Context) (records []core.Record, err error) {
		records, more, err = server.Tests(ctx, limit)
		return records, err
	})
	if err != nil {
		return nil, serverError(err)
	}
	if more {
		fmt.Fprintf(env.Stderr, "assay: these are the newest %d tests; --limit gives more\n", limit)
	}
	slices.Reverse(records)
	return records, nil
}

func writeTable(out io.Writer, tests []report.Test, from string) error {
	if len(tests) == 0 {
		_, err := fmt.Fprintf(out, "No tests yet in %s: make one with \"assay run\".\n", from)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tCREATED\tTEMPLATE\tVERSION\tPHASE\tREASON\tWORKSPACE")
	for _, r := range tests {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", shortID(r), r.Timings.CreatedAt.UTC().Format(time.RFC3339),
			r.Template, r.Version.String(), r.Phase, r.Reason, r.Workspace.State)
	}
	return table.Flush()
}

// shortID is enough of the ID for assay show.
func shortID(r report.Test) string { return r.ID.String()[:8] }

func newShowCommand(env Env) *cobra.Command {
	var state string
	var server serverFlags
	output := outputText
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one test of the state file, or of a server",
		Long: `Show one test of the state file, or with --server of an assay server. The beginning of
its ID is enough, if it is the only one that begins so.

` + serverHelp,
		Example: `  assay show 6f0c2d9e
  assay show --server https://assay.example.com 6f0c2d9e --output json`,
		Args: oneTest,

		ValidArgsFunction: completeIDs(env, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := oneRecord(cmd.Context(), env, cmd.Flags(), state, server, args[0])
			if err != nil {
				return err
			}
			if output == outputJSON {
				return report.WriteJSON(env.Stdout, report.NewTest(record))
			}
			return writeRecord(env.Stdout, record)
		},
	}
	registerState(cmd.Flags(), &state)
	server.registerAlone(cmd.Flags())
	cmd.Flags().VarP(&output, "output", "o", "form of the test")
	return cmd
}

// oneRecord finds a test in the state file, or on a server.
func oneRecord(ctx context.Context, env Env, flags *pflag.FlagSet, state string, at serverFlags, id string) (*core.Record, error) {
	if at.url == "" {
		records, err := readRecords(ctx, env, state)
		if err != nil {
			return nil, err
		}
		return find(records, id)
	}
	if err := at.refuseLocal(flags, "state"); err != nil {
		return nil, err
	}
	server, err := at.connect(env)
	if err != nil {
		return nil, err
	}
	record, err := interruptible(ctx, env, func(ctx context.Context) (core.Record, error) { return findOnServer(ctx, server, id) })
	return &record, err
}

// findOnServer finds a test by its ID, or one of the newest by the beginning of it.
func findOnServer(ctx context.Context, server *serverConnection, id string) (core.Record, error) {
	whole, err := uuid.Parse(id)
	if err != nil {
		records, more, err := server.Tests(ctx, core.MaxTestPage)
		if err != nil {
			return core.Record{}, serverError(err)
		}
		found, err := find(records, id)
		if err != nil && more {
			return core.Record{}, usage("%w; only the newest %d tests were looked at: give the whole ID for an older one", err, core.MaxTestPage)
		}
		if err != nil {
			return core.Record{}, err
		}
		// A list leaves the values of parameters out.
		whole = found.ID
	}
	record, _, err := server.Test(ctx, whole)
	if serverclient.IsNotFound(err) {
		return core.Record{}, usage("there is no test %s on the server, or the token may not see it: \"assay list --server URL\" shows the IDs", whole)
	}
	if err != nil {
		return core.Record{}, serverError(err)
	}
	return record, nil
}

// oneTest refuses anything but one argument.
func oneTest(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%q takes the ID of one test, got %d arguments: \"assay list\" shows the IDs", cmd.CommandPath(), len(args))
	}
	return nil
}

// find is the one record whose ID begins so.
func find(records []core.Record, prefix string) (*core.Record, error) {
	var found []*core.Record
	for i := range records {
		if prefix != "" && strings.HasPrefix(records[i].ID.String(), strings.ToLower(prefix)) {
			found = append(found, &records[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, usage("no test with the ID %q: \"assay list\" shows the IDs", prefix)
	case 1:
		return found[0], nil
	default:
		return nil, usage("%d tests have IDs that begin with %q: give more of the ID", len(found), prefix)
	}
}

func writeRecord(out io.Writer, record *core.Record) error {
	r := report.NewTest(record)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	row("Test", r.ID.String())
	row("Template", r.Template)
	row("Version", r.Version.String())
	for _, parameter := range record.Spec.Parameters {
		row("Parameter", parameter.Name+"="+parameter.Value)
	}
	row("Preset", record.Spec.Preset)
	row("Created", stamp(r.Timings.CreatedAt))
	row("Started", stamp(r.Timings.StartedAt))
	row("Agents ready", stamp(r.Timings.AgentsReadyAt))
	row("Completed", stamp(r.Timings.CompletedAt))
	row("Phase", string(r.Phase))
	row("Outcome", string(r.OutcomeClass))
	row("Reason", string(r.Reason))
	row("Message", r.Message)
	row("Last wait", string(r.LastWaitReason))
	row("Workspace", r.Workspace.Name+" ("+string(r.Workspace.State)+")")
	if r.Workspace.Reason != "" {
		row("", strings.TrimSuffix(string(r.Workspace.Reason)+": "+r.Workspace.Message, ": "))
	}
	return table.Flush()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
