// Command assay-server tests versions of Coder templates as a service.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	server "github.com/assay-dev/assay/apps/http"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := server.Run(ctx, server.SystemEnv(os.Args[1:]))
	stop()
	os.Exit(code)
}
