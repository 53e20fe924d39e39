package worldtest

import (
	"bytes"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports/porttest"
)

// Folders are what versions of the suite of publishing are made of here.
var Folders = porttest.Folders{
	Good:     map[string]string{"main.tf": "# good"},
	Broken:   map[string]string{"main.tf": "# broken"},
	Variable: map[string]string{"main.tf": "# variable"},
}

// plan says how an import goes by what is in the archive.
func plan(_ string, tar []byte) world.VersionSpec {
	spec := starts(world.BuildPlan{})
	spec.Import = world.ImportPlan{Queue: 250 * time.Millisecond, Run: time.Second, Log: "Plan: 1 to add, 0 to change, 0 to destroy."}
	switch {
	case bytes.Contains(tar, []byte("# broken")):
		spec.Import.Ends, spec.Import.Log = core.JobFailed, "Error: "+porttest.BrokenLine
	case bytes.Contains(tar, []byte("# variable")):
		spec.Variables = []string{porttest.VariableName}
	}
	return spec
}
