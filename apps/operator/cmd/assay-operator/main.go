// Command assay-operator runs the template tests of a cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/assay-dev/assay/apps/operator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := operator.Run(ctx, operator.SystemEnv(os.Args[1:]))
	stop()
	os.Exit(code)
}
