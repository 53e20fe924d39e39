// Command clidocs writes what is generated from the commands of assay and assay-server: the
// reference pages, man pages and scripts for shell completion, and the description of the
// server's API.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/assay-dev/assay/apps/cli"
	server "github.com/assay-dev/assay/apps/http"
	"github.com/assay-dev/assay/apps/http/api"
)

func main() {
	page := flag.String("page", "", "write the reference as one page of Markdown to `FILE`")
	serverPage := flag.String("server", "", "write the reference of assay-server as one page of Markdown to `FILE`")
	openAPI := flag.String("openapi", "", "write the description of the server's API to `FILE`")
	files := flag.String("files", "", "write the reference of assay-server's files as one page of Markdown to `FILE`; their sources are below -root")
	root := flag.String("root", "../..", "the root of the repository, a `FOLDER`")
	share := flag.String("share", "", "write man pages and completions below `FOLDER`, as packages install them below /usr/share")
	flag.Parse()
	err := errors.Join(run(*page, *share), runServer(*serverPage, *openAPI))
	if *files != "" {
		err = errors.Join(err, writeConfigFiles(*files, *root))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clidocs:", err)
		os.Exit(1)
	}
}

func run(page, share string) error {
	root := cli.Commands()
	if page != "" {
		if err := writePage(page, root); err != nil {
			return err
		}
	}
	if share == "" {
		return nil
	}
	man := filepath.Join(share, "man", "man1")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	// A date of its own would make each build another one.
	date := time.Unix(0, 0).UTC()
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "assay", Manual: "assay", Date: &date}, man); err != nil {
		return err
	}
	for path, write := range map[string]func(io.Writer) error{
		"bash-completion/completions/assay":    func(out io.Writer) error { return root.GenBashCompletionV2(out, true) },
		"zsh/site-functions/_assay":            root.GenZshCompletion,
		"fish/vendor_completions.d/assay.fish": func(out io.Writer) error { return root.GenFishCompletion(out, true) },
		"powershell/completions/assay.ps1":     root.GenPowerShellCompletionWithDesc,
	} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		file := filepath.Join(share, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// runServer writes what is generated from assay-server.
func runServer(page, openAPI string) error {
	if page != "" {
		if err := writePage(page, server.Commands()); err != nil {
			return err
		}
	}
	if openAPI == "" {
		return nil
	}
	text, err := api.Register(http.NewServeMux(), api.Config{}).OpenAPI().YAML()
	if err != nil {
		return err
	}
	return os.WriteFile(openAPI, text, 0o644)
}

// writePage writes the commands in the order of the help, each with its flags.
func writePage(file string, root *cobra.Command) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# The commands of %s\n\nGenerated from the program's own help by `make docs-reference`. "+
		"Each command says the same with `--help`.\n", root.Name())
	writeCommand(&text, root)
	return os.WriteFile(file, text.Bytes(), 0o644)
}

func writeCommand(out io.Writer, command *cobra.Command) {
	if command.Hidden || command.Name() == "help" {
		return
	}
	fmt.Fprintf(out, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", command.CommandPath(), command.Short, command.UseLine())
	if command.Long != "" {
		fmt.Fprintf(out, "\n```text\n%s\n```\n", strings.TrimSpace(command.Long))
	}
	if command.Example != "" {
		fmt.Fprintf(out, "\nExamples:\n\n```sh\n%s\n```\n", unindent(command.Example))
	}
	if flags := command.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(out, "\nFlags:\n\n```text\n%s```\n", flags.FlagUsagesWrapped(100))
	}
	for _, sub := range command.Commands() {
		writeCommand(out, sub)
	}
}

// unindent takes the two spaces away that help texts begin examples with.
func unindent(text string) string {
	return string(bytes.ReplaceAll(bytes.TrimPrefix([]byte(text), []byte("  ")), []byte("\n  "), []byte("\n")))
}
