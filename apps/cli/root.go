package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Commands is the command tree for whoever documents it. Its commands do nothing.
func Commands() *cobra.Command {
	root := newRoot(Env{LookupEnv: func(string) (string, bool) { return "", false }}, new(int))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	return root
}

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
		RunE:          missingCommand,
	}
	root.AddCommand(
		newRunCommand(env, code), newResumeCommand(env, code), newListCommand(env), newShowCommand(env), newWatchCommand(env, code),
		newForgetCommand(env),
		newPushCommand(env, code), newPromoteCommand(env, code), newSweepCommand(env, code), newTesterCommand(env, code),
		newDoctorCommand(env, code), newVersionCommand(), newDemoCommand(env, code),
	)
	completeFlags(root)
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
		return unknownCommand(cmd, args[0])
	}
}

// missingCommand shows the help of a command that only has others. That is a mistake, not
// a test that passed: a pipeline can have an empty variable in the command's place.
func missingCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	cmd.SetOut(cmd.ErrOrStderr())
	if err := cmd.Help(); err != nil {
		return err
	}
	return usage("name a command of %q", cmd.CommandPath())
}

func unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		return usage("%q has no command %q: do you mean %s?", cmd.CommandPath(), name, strings.Join(similar, ", "))
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usage("%q has no command %q: it has %s", cmd.CommandPath(), name, strings.Join(names, ", "))
}

// Version is what the linker was told; without it the module's version counts.
var Version string

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version of assay this is",

		Example: "  assay version",
		Args:    noArguments,
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
