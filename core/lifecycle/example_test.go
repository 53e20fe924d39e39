package lifecycle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// A program that embeds the engine brings a store, control planes, a dialer and a
// clock; here they are the in-memory ones. It steps a test whenever the engine asked
// for that.
func Example() {
	ctx := context.Background()
	virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

	// A Coder deployment with one template, and two users: one asks, one owns.
	deployment := world.New(virtual)
	acme := deployment.AddOrganization("acme", world.MemberRole)
	operator := deployment.AddUser(world.UserSpec{Username: "operator", SiteRoles: []string{"owner"}})
	tester := deployment.AddUser(world.UserSpec{Username: "tester", Organizations: []uuid.UUID{acme.ID}})
	template := deployment.AddTemplate(world.TemplateSpec{Organization: acme.ID, Name: "docker"})
	deployment.AddVersion(world.VersionSpec{
		Template: template.ID, Name: "v1", Active: true,
		Start: []world.BuildPlan{{
			Run: 30 * time.Second, Agents: []world.AgentPlan{world.ReadyAgent("main", 2*time.Second, 10*time.Second)},
		}},
		Delete: []world.BuildPlan{{Run: 10 * time.Second}},
	})
	directory := runner.NewDirectory()
	directory.Put("https://coder.example.com", deployment)

	// What the engine works with.
	tests := store.New(virtual)
	engine, err := lifecycle.New(lifecycle.Config{
		Store: tests,
		ControlPlanes: planes.New(core.ControlPlane{
			Ref: "main", State: core.ControlPlaneUsable,
			Policy: core.Policy{OwnerUserID: tester.ID.String()},
			Connection: core.Connection{
				URL: "https://coder.example.com", Token: core.NewSecret(deployment.MintToken(operator.ID)),
			},
		}),
		Dial:   directory.Dial,
		Clock:  virtual,
		Random: rand.NewChaCha8([32]byte{}),
		Sink: sink.New(func(t core.StoredTransition) {
			if before, after := t.Before.Status, t.After.Status; after.Reason != before.Reason {
				fmt.Printf("%s %s %s\n", t.At.Format("15:04:05"), after.Phase, after.Reason)
			}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// One test.
	test := core.Record{
		ID: uuid.MustParse("6f9619ff-8b86-4d01-b42d-00c04fc964ff"), Generation: 1, CreatedAt: virtual.Now(),
		Spec: core.Spec{
			Template: "acme.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "main",
		}.WithDefaults(),
	}
	if err := test.Spec.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := tests.Create(ctx, test); err != nil {
		fmt.Println(err)
		return
	}
	for {
		next, err := engine.Step(ctx, test.ID, nil)
		if err != nil || next.Done {
			break
		}
		virtual.Advance(next.After)
	}
	record, err := tests.Load(ctx, test.ID, ports.Live)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(record.Status.OutcomeClass, "- workspaces left:", len(deployment.Live()))

	// Output:
	// 12:00:00 Pending Initializing
	// 12:00:00 Running CreatingWorkspace
	// 12:00:00 Running WaitingForBuild
	// 12:00:30 Running WaitingForAgents
	// 12:00:45 Running AgentsReady
	// 12:00:45 Running DeletingWorkspace
	// 12:00:55 Succeeded Succeeded
	// Passed - workspaces left: 0
}

// Decide alone is the rules: data in, data out. This one finds a test whose create
// was announced by a step that did not live to store the answer, and asks to look.
func ExampleDecide() {
	id := uuid.MustParse("6f9619ff-8b86-4d01-b42d-00c04fc964ff")
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := core.Record{ID: id, Held: true, Spec: core.Spec{TimeoutSeconds: 900}}
	record.Status = core.Status{
		Phase: core.PhaseRunning, Reason: core.ReasonCreatingWorkspace, StartTime: start,
		CreateAttemptID: uuid.New(), CreateAttemptTime: start,
		Pins: core.Pins{
			OrganizationID: uuid.New(), TemplateID: uuid.New(), TemplateVersionID: uuid.New(), OwnerID: uuid.New(),
			OperatorUserID: uuid.New(), DeploymentID: "d", WorkspaceName: core.WorkspaceName(id),
		},
	}
	in := lifecycle.Input{Now: start.Add(time.Minute), Record: record, Options: lifecycle.Options{}.WithDefaults()}

	d := lifecycle.Decide(in)
	fmt.Println("reads the control plane first:", d.Read.Kind == lifecycle.ReadControlPlane)

	in.Seen.ControlPlane = lifecycle.Result[core.ControlPlane]{Done: true, Value: core.ControlPlane{State: core.ControlPlaneGone}}
	d = lifecycle.Decide(in)
	deleted := d.Record.Status.Condition(core.ConditionWorkspaceDeleted)
	fmt.Println(d.Record.Status.Phase, d.Record.Status.Reason, deleted.Status, d.Record.Status.OutcomeClass)

	// Output:
	// reads the control plane first: true
	// Failed ControlPlaneGone Unknown Inconclusive
}

// What keeps a user from owning test workspaces is said together with what to do.
func ExampleOwnerProblem() {
	person := core.User{Status: "active", LoginType: "oidc"}
	fmt.Println(lifecycle.OwnerProblem(person, core.Policy{}))
	fmt.Printf("%q\n", lifecycle.OwnerProblem(person, core.Policy{AllowPersonalOwner: true}))

	// Output:
	// use a tester user: the owner logs in by oidc, so it is a person's; allowPersonalOwner waives this
	// ""
}
