// Testbed builds and runs the real components that the end-to-end tests need.
//
// "testbed build" builds them into the cache. "testbed up" starts a Coder
// deployment, prints the variables that lead to it, and ends it on an
// interrupt. The package testbed documents the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/assay-dev/assay/adapters/testbed"
)

const usage = `usage: testbed COMMAND

  build   build Coder, OpenTofu and Coder's provider into the cache
  up      start a Coder deployment, print how to reach it, run until interrupted
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		return errUsage
	}
	switch args[0] {
	case "build":
		return build(ctx, stdout, stderr)
	case "up":
		return up(ctx, stdout, stderr)
	}
	return errUsage
}

func build(ctx context.Context, stdout, stderr io.Writer) error {
	files, err := testbed.Binaries(ctx, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "coder     %s\ntofu      %s\nprovider  %s\npostgres  %s\n",
		files.Coder, files.Tofu, files.Provider, files.Postgres)
	return nil
}

// up prints lines that a shell can evaluate. The token is printed as a command
// that reads it from its file.
func up(ctx context.Context, stdout, stderr io.Writer) error {
	bed, err := testbed.Start(ctx, testbed.Options{Log: stderr})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "export CODER_URL=%s\nexport CODER_SESSION_TOKEN=\"$(cat '%s')\"\n"+
		"export ASSAY_TESTBED_URL=%[1]s\nexport ASSAY_TESTBED_TOKEN_FILE='%[2]s'\n",
		bed.URL, bed.OwnerTokenFile())
	fmt.Fprintln(stderr, "Coder runs until this program is interrupted")
	<-ctx.Done()
	return bed.Close()
}
