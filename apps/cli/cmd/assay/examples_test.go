package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/assay-dev/assay/apps/cli"
)

// before is what stands ready for the examples of each command. Documents are read by a
// jq that takes everything.
const before = `
cp $WORK/tester.txt tester.token
exec chmod +x bin/jq
env PATH=$WORK/bin:$PATH
env VERSION=v1
env ASSAY_PUSH_TOKEN=$ADMIN_TOKEN
exec assay run --template coder.docker --version v1
`

const files = `
-- suite.yaml --
name: nightly
tests: [{template: coder.docker}]
-- docker/main.tf --
terraform {}
-- secrets.yaml --
password: hunter2
-- bin/jq --
#!/bin/sh
cat >/dev/null
`

// asAdmin are the commands whose examples take the rights of an administrator.
var asAdmin = []string{"assay sweep", "assay tester create"}

// TestExamples types the examples of each command's help into a shell.
func TestExamples(t *testing.T) {
	folder := t.TempDir()
	var paths []string
	eachCommand(cli.Commands(), func(command *cobra.Command) {
		if name := command.CommandPath(); strings.Contains(name, "completion") || strings.Contains(name, "help") {
			// They are cobra's.
			return
		}
		if command.HasSubCommands() && command.HasParent() {
			// It is a heading over its own commands.
			return
		}
		if command.Example == "" {
			t.Errorf("the help of %q shows no example", command.CommandPath())
			return
		}
		archive := files
		var script strings.Builder
		script.WriteString(before)
		if slices.Contains(asAdmin, command.CommandPath()) {
			script.WriteString("env CODER_SESSION_TOKEN=$ADMIN_TOKEN\n")
		}
		if strings.Contains(command.Example, "https://assay.example.com") {
			script.WriteString("serve\nexec assay run --server $ASSAY_SERVER --template coder.docker --version v1\n")
		}
		script.WriteString("exec sh -e example.sh\n")
		archive += "-- example.sh --\n" + forTheStage(command.Example) + "\n"
		file := filepath.Join(folder, strings.ReplaceAll(command.CommandPath(), " ", "-")+".txtar")
		if err := os.WriteFile(file, []byte(script.String()+archive), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, file)
	})
	params := scripts()
	params.Files = paths
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(env.WorkDir, "tester.txt"), []byte(env.Getenv("TESTER_TOKEN")), 0o600)
	}
	testscript.Run(t, params)
}

func eachCommand(command *cobra.Command, do func(*cobra.Command)) {
	do(command)
	for _, sub := range command.Commands() {
		eachCommand(sub, do)
	}
}

// forTheStage puts what is on the stage in the place of what stands for it in the help.
func forTheStage(example string) string {
	const onServer = "--server $ASSAY_SERVER $(assay list --server $ASSAY_SERVER | tail -1 | cut -c1-8)"
	return strings.NewReplacer(
		"--server https://assay.example.com 6f0c2d9e-6c1c-4a52-9b1e-6d3f2f0f7a11", onServer,
		"--server https://assay.example.com 6f0c2d9e", onServer,
		// It ends with a signal alone.
		"assay watch --server https://assay.example.com --output ndjson", "timeout --signal INT 1 assay watch --server $ASSAY_SERVER --output ndjson || true",
		"https://assay.example.com", "$ASSAY_SERVER",
		"https://coder.example.com", "$CODER_URL",
		"6f0c2d9e", "$(assay list | tail -1 | cut -c1-8)",
		"assay demo", "assay demo --fast",
		"acme", "coder",
		"assay tester check ci-tester", "CODER_SESSION_TOKEN=$ADMIN_TOKEN assay tester check ci-tester",
		"--version 3f2c1ab", "--version v1",
		"--expect-active v7", "--expect-active v1",
	).Replace(example)
}
