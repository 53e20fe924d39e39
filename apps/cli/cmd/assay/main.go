// Command assay tests versions of Coder templates.
package main

import (
	"context"
	"os"

	"github.com/assay-dev/assay/apps/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), cli.SystemEnv(os.Args[1:])))
}
