// Command assay tests versions of Coder templates.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/assay-dev/assay/apps/cli"
)

func main() {
	// Room for the two signals that count: the first cleans up, the second leaves.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	// Whoever reads the progress or the verdict may leave, as head does: a write that
	// fails is no reason to die before the workspace is deleted.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(cli.Run(context.Background(), cli.SystemEnv(os.Args[1:], signals, runtime.GOOS)))
}
