package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
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
	output := outputText
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tests in the state file, oldest first",
		Example: `  assay list
  assay list --output json | jq '.[] | select(.leakRisk) | .workspace.name'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			records, err := readRecords(cmd.Context(), env, state)
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
			return writeTable(env.Stdout, tests, firstOf(state, "the state file"))
		},
	}
	registerState(cmd.Flags(), &state)
	cmd.Flags().VarP(&output, "output", "o", "form of the list")
	return cmd
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
	output := outputText
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one test of the state file",
		Long:    "Show one test of the state file. The beginning of its ID is enough, if it is the only one that begins so.",
		Example: "  assay show 6f0c2d9e",
		Args:    oneTest,

		ValidArgsFunction: completeIDs(env, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := readRecords(cmd.Context(), env, state)
			if err != nil {
				return err
			}
			record, err := find(records, args[0])
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
	cmd.Flags().VarP(&output, "output", "o", "form of the test")
	return cmd
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
