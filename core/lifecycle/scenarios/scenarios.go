// Package scenarios holds the stories of the lifecycle: one file for each, written
// to be read as documentation. Package fakes/scenario describes their format and
// runs them.
package scenarios

import "embed"

// Files are the scenario files, by name.
//
//go:embed *.txt
var Files embed.FS
