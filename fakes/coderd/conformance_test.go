package coderd_test

import (
	"net"
	"net/http/httptest"
	"testing"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/coderd"
	"github.com/assay-dev/assay/fakes/world/worldtest"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

func TestConformance(t *testing.T) { porttest.CodeRunner(t, deployment) }

func TestPublishing(t *testing.T) { porttest.TemplatePublisher(t, deployment, worldtest.Folders) }

func TestSetUpConformance(t *testing.T) { porttest.SetUp(t, deployment) }

func deployment(t *testing.T) porttest.Deployment {
	t.Helper()
	d := worldtest.New()
	server := httptest.NewServer(coderd.New(d.World, d.Clock))
	t.Cleanup(server.Close)
	dial := func(url string, token core.Secret) ports.CodeRunner {
		runner, err := coder.New(core.Connection{URL: url, Token: token}, coder.WithPageSize(2))
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		return runner
	}
	d.Door = func(token core.Secret) ports.CodeRunner { return dial(server.URL, token) }
	d.Closed = dial(closedAddress(t), core.NewSecret("0123456789-0123456789012345678901"))
	return d
}

// closedAddress is a URL at which nobody listens: its port was just given back.
func closedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}
