package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// newRoot makes the command tree. A command that succeeded leaves its exit code in
// code.
func newRoot(env Env, code *int) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Test versions of Coder templates",
		Long: `assay tests a version of a Coder template the way a job runs: it makes a throwaway
workspace from the version, waits until every agent is connected and its scripts have
succeeded, deletes the workspace, and tells the verdict by its exit code.`,
		Example: `  # Look at it without a Coder deployment: takes about ten seconds.
  assay demo

  # Test the active version of the template "docker" of the organization "coder".
  assay run --template coder.docker --version active

  # Finish what a killed run left behind.
  assay resume`,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newRunCommand(env, code), newResumeCommand(env, code), newListCommand(env), newShowCommand(env), newForgetCommand(env),
		newVersionCommand(), newDemoCommand(env, code),
	)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	return root
}

// noArguments refuses arguments where only flags are meant.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasParent():
		return usage("%q takes flags only, got the argument %q", cmd.CommandPath(), args[0])
	default:
		return usage("there is no command %q", args[0])
	}
}

// Version is what the linker was told; without it the module's version counts.
var Version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version of assay this is",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, revision, goVersion := "unknown", "", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						revision = " " + setting.Value
					}
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "assay %s%s %s\n", firstOf(Version, version, "unknown"), revision, goVersion)
			return err
		},
	}
}
