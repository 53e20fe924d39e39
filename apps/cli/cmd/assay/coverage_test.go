package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/apps/cli"
)

// TestEveryFlagHasAScript looks for each command and each of its flags in the scripts.
func TestEveryFlagHasAScript(t *testing.T) {
	var lines []string
	paths, err := filepath.Glob("../../testdata/scripts/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(content), "\n")...)
	}
	eachCommand(cli.Commands(), func(command *cobra.Command) {
		name := command.CommandPath()
		if strings.Contains(name, "help") || command.HasSubCommands() {
			return
		}
		if !used(lines, name, "") {
			t.Errorf("no script runs %q", name)
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "help" && flag.Name != "no-descriptions" && !used(lines, name, flag.Name) {
				t.Errorf("no script runs %q with --%s", name, flag.Name)
			}
		})
	})
}

// used reports whether a line runs the command with the flag, if there is one.
func used(lines []string, command, flag string) bool {
	pattern := `\b` + command + `\b`
	if flag != "" {
		pattern += `.* --` + flag + `\b`
	}
	wanted := regexp.MustCompile(pattern)
	for _, line := range lines {
		if wanted.MatchString(line) {
			return true
		}
	}
	return false
}
