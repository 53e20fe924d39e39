package runner_test

import (
	"testing"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world/worldtest"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestConformance(t *testing.T) { porttest.CodeRunner(t, deployment) }

func TestPublishing(t *testing.T) { porttest.TemplatePublisher(t, deployment, worldtest.Folders) }

func TestSetUpConformance(t *testing.T) { porttest.SetUp(t, deployment) }

func deployment(*testing.T) porttest.Deployment {
	d := worldtest.New()
	d.Door = func(token core.Secret) ports.CodeRunner { return runner.WithToken(d.World, token) }
	d.Closed, _ = runner.NewDirectory().Dial(core.Connection{URL: "https://nobody.example.com"})
	return d
}
