package artifacts_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// observed tells when a delete request is sent.
type observed struct {
	ports.CodeRunner
	deleting func()
}

func (o observed) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	o.deleting()
	return o.CodeRunner.DeleteWorkspace(ctx, workspace)
}

// TestArtifactsAreThereBeforeTheDelete runs a failing test with the engine, on a disk that
// works and on one that does not: neither its verdict nor its cleanup tells them apart.
func TestArtifactsAreThereBeforeTheDelete(t *testing.T) {
	logs := []string{"agents.json", "agent-dev-Startup-Script.log", "build.log", "test.json"}
	for _, row := range []struct {
		why, dir string
		want     []string
	}{
		{"the disk works", t.TempDir(), logs},
		{"there is no place to write", "/dev/null/artifacts", nil},
	} {
		sink := newSink(t, row.dir)
		var before []string
		deletes := 0
		record, live := runFailing(t, sink, func() {
			deletes++
			if deletes > 1 {
				return
			}
			sink.Close(t.Context())
			if row.want == nil {
				return
			}
			for path := range maps.Keys(tree(t, row.dir)) {
				before = append(before, path[len("acme.docker-v1-ebce859a/"):])
			}
			slices.Sort(before)
		})
		slices.Sort(row.want)
		if diff := cmp.Diff(row.want, before); diff != "" {
			t.Errorf("%s: when the delete is sent there are (-want +got):\n%s", row.why, diff)
		}
		if st := record.Status; st.Reason != core.ReasonAgentStartError || st.OutcomeClass != core.OutcomeTemplateFailed || live != 0 || deletes != 1 {
			t.Errorf("%s: %s %s, %d deletes, %d workspaces left", row.why, st.OutcomeClass, st.Reason, deletes, live)
		}
		if got := len(sink.Problems()) > 0; got != (row.want == nil) {
			t.Errorf("%s: problems %v", row.why, sink.Problems())
		}
	}
}

// runFailing runs a test whose script fails, and returns its record and how many
// workspaces are left.
func runFailing(t *testing.T, sink interface {
	ports.StatusSink
	ports.EvidenceSink
}, deleting func(),
) (core.Record, int) {
	t.Helper()
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	deployment := world.New(virtual)
	acme := deployment.AddOrganization("acme", world.MemberRole)
	operator := deployment.AddUser(world.UserSpec{Username: "operator", SiteRoles: []string{"owner"}})
	tester := deployment.AddUser(world.UserSpec{Username: "tester", Organizations: []uuid.UUID{acme.ID}})
	template := deployment.AddTemplate(world.TemplateSpec{Organization: acme.ID, Name: "docker"})
	agent := world.FailingAgent("dev", 2*time.Second, 10*time.Second)
	agent.Scripts = []world.ScriptLog{{DisplayName: "Startup Script", Text: "npm error 404\n"}}
	deployment.AddVersion(world.VersionSpec{
		Template: template.ID, Name: "v1", Active: true,
		Start:  []world.BuildPlan{{Run: 30 * time.Second, Agents: []world.AgentPlan{agent}}},
		Delete: []world.BuildPlan{{Run: 10 * time.Second}},
	})
	directory := runner.NewDirectory()
	directory.Put("https://coder.example.com", deployment)
	tests := store.New(virtual)
	engine, err := lifecycle.New(lifecycle.Config{
		Store: tests,
		ControlPlanes: planes.New(core.ControlPlane{
			Ref: "main", State: core.ControlPlaneUsable, Policy: core.Policy{OwnerUserID: tester.ID.String()},
			Connection: core.Connection{URL: "https://coder.example.com", Token: core.NewSecret(deployment.MintToken(operator.ID))},
		}),
		Dial: func(connection core.Connection) (ports.CodeRunner, error) {
			dialed, err := directory.Dial(connection)
			return observed{dialed, deleting}, err
		},
		Clock: virtual, Random: rand.NewChaCha8([32]byte{}), Sink: sink, Evidence: sink,
	})
	if err != nil {
		t.Fatal(err)
	}
	test := core.Record{
		ID: testID, Generation: 1, CreatedAt: virtual.Now(),
		Spec: core.Spec{Template: "acme.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "main"}.WithDefaults(),
	}
	if _, err := tests.Create(t.Context(), test); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		next, err := engine.Step(t.Context(), test.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if next.Done {
			break
		}
		virtual.Advance(next.After)
	}
	record, err := tests.Load(t.Context(), test.ID, ports.Live)
	if err != nil {
		t.Fatal(err)
	}
	return record, len(deployment.Live())
}
