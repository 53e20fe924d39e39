package coder_test

import (
	"testing"

	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/ports/porttest"
)

// TestPublishContract runs the suite of publishing over a real Coder server.
func TestPublishContract(t *testing.T) {
	bed := testbed.Require(t)
	d := &deployment{bed: bed, subjects: make(map[porttest.TemplateKind]func() (porttest.Subject, error))}
	good := testbed.NoAgent()
	porttest.TemplatePublisher(t, func(*testing.T) porttest.Deployment { return d }, porttest.Folders{
		Good: good.Files, Broken: testbed.ImportFails().Files,
		Variable: good.With("variable.tf", "variable \""+porttest.VariableName+"\" {\n  type = string\n}\n").Files,
	})
}
