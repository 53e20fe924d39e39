// Ship writes what is derived from the generated manifests: "ship FOLDER", where FOLDER
// is apps/operator.
package main

import (
	"fmt"
	"os"

	"github.com/assay-dev/assay/apps/operator/install"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ship FOLDER")
		os.Exit(2)
	}
	if err := install.Ship(os.Args[1], os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "ship:", err)
		os.Exit(1)
	}
}
