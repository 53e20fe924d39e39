package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/apps/cli"
	server "github.com/assay-dev/assay/apps/http"
)

var serverPages = []string{"../../docs/how-to/http-server.md", "../../docs/how-to/deploy-the-server.md"}

// TestFlagsOfTheDocs finds each flag of assay-server, and of assay, that the pages name.
func TestFlagsOfTheDocs(t *testing.T) {
	known := map[string]bool{}
	root := server.Commands()
	note := func(flag *pflag.Flag) { known[flag.Name] = true }
	root.Flags().VisitAll(note)
	for _, command := range slices.Concat(root.Commands(), cli.Commands().Commands()) {
		command.Flags().VisitAll(note)
	}
	for _, page := range serverPages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		flags := regexp.MustCompile("[ `(]--([a-z][a-z-]+)").FindAllStringSubmatch(string(text), -1)
		if len(flags) < 3 {
			t.Errorf("%s names %d flags", page, len(flags))
		}
		for _, flag := range flags {
			if !known[flag[1]] {
				t.Errorf("%s names --%s, which neither program has", page, flag[1])
			}
		}
	}
}

// TestCommandsOfTheTutorial types the commands that the page shows.
func TestCommandsOfTheTutorial(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	f := serve(t)
	text, err := os.ReadFile(serverPages[0])
	if err != nil {
		t.Fatal(err)
	}
	// A server of the test's own, its template, and answers that must be good.
	ours := strings.NewReplacer(
		"http://127.0.0.1:8787", f.URL, `"template": "acme.docker"`, `"controlPlaneRef": "main", "template": "coder.webapp"`,
		"curl -s", "curl --silent --show-error --fail --max-time 20",
	)
	id, typed := "", 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, command := range strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n") {
			if !strings.HasPrefix(command, "curl") {
				continue
			}
			switch {
			case strings.Contains(command, "/evidence"):
				id = f.ended("broken").ID
			case strings.Contains(command, "/events"):
				// The record's end ends the stream.
				command += " | head -n 3"
			}
			typed++
			run := exec.CommandContext(t.Context(), "bash", "-euc", ours.Replace(command))
			run.Env = append(os.Environ(), "ID="+id)
			output, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", command, err, output)
			}
			var made test
			if id == "" && json.Unmarshal(output, &made) == nil && made.ID != "" {
				id = made.ID
				f.watcher().awaitEnd(id)
			}
			if strings.Contains(command, "DELETE") {
				var begun test
				f.api(http.MethodPost, "/tests", newTest("slow"), http.StatusCreated, &begun)
				id = begun.ID
			}
		}
	}
	if typed < 7 {
		t.Errorf("%d commands are typed", typed)
	}
}
