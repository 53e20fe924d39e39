package install_test

import (
	"bytes"
	"testing"

	"github.com/assay-dev/assay/apps/operator"
)

// TestOperatorKnowsItsArguments hands what is rendered to the operator: a flag that it
// does not know ends it at once.
func TestOperatorKnowsItsArguments(t *testing.T) {
	c := requireCluster(t)
	for _, row := range []struct{ why, text string }{
		{"the base", c.kubectl("kustomize", base)},
		{"the overlay", c.kubectl("kustomize", overlay)},
		{"the chart", render(t)},
		{"the chart for two namespaces", render(t, "--set", "watchNamespaces={a,b}", "--set", "log.format=text", "--set", "metrics.enabled=false")},
	} {
		var output bytes.Buffer
		env := operator.SystemEnv(append(arguments(t, find(t, parse(t, row.text), "Deployment")), "--help"))
		env.Stdout, env.Stderr = &output, &output
		if code := operator.Run(t.Context(), env); code != 0 {
			t.Errorf("%s: exit code %d: %s", row.why, code, output.String())
		}
	}
}
