package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/report"
)

// completeFlags has shells complete the values of flags: files and folders where the help
// names them, and the words of a flag that takes one of a few.
func completeFlags(command *cobra.Command) {
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		placeholder, _ := pflag.UnquoteUsage(flag)
		switch {
		case placeholder == "FILE":
			_ = command.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
		case placeholder == "DIR":
			_ = command.MarkFlagDirname(flag.Name)
		case strings.Contains(flag.Value.Type(), "|"):
			words := strings.Split(flag.Value.Type(), "|")
			_ = command.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range command.Commands() {
		completeFlags(sub)
	}
}

// completeIDs completes the IDs of the tests in the state file that the flag --state
// names. several: the command takes more than one.
func completeIDs(env Env, several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !several {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		state, _ := cmd.Flags().GetString("state")
		records, err := readRecords(cmd.Context(), env, state)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var ids []cobra.Completion
		for i := range records {
			test := report.NewTest(&records[i])
			if id := test.ID.String(); strings.HasPrefix(id, begun) {
				ids = append(ids, cobra.CompletionWithDesc(id, test.Template+" "+test.Version.String()+", "+string(test.Phase)))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
