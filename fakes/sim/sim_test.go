package sim_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/assay-dev/assay/fakes/sim"
)

// TestSeeds plays a fixed set of plans; cmd/sim plays as many as there is time for.
func TestSeeds(t *testing.T) {
	const parts = 4
	for part := range uint64(parts) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for seed := 1 + part; seed <= seeds; seed += parts {
				plan := sim.NewPlan(seed)
				outcome := sim.Play(plan, false, nil)
				if len(outcome.Violations) == 0 {
					continue
				}
				plan = sim.Shrink(plan, outcome.Violations[0].Check, 1000, nil)
				outcome = sim.Play(plan, true, nil)
				t.Fatalf("%v\n%s%s\nreplay: go run ./fakes/sim/cmd/sim -replay %d",
					outcome.Violations, plan, strings.Join(outcome.Trail, "\n"), seed)
			}
		})
	}
}

// TestASeedDecidesEverything: otherwise no failure could be replayed.
func TestASeedDecidesEverything(t *testing.T) {
	for seed := uint64(1); seed <= 40; seed++ {
		first, second := sim.Play(sim.NewPlan(seed), true, nil), sim.Play(sim.NewPlan(seed), true, nil)
		if !reflect.DeepEqual(first.Trail, second.Trail) || len(first.Trail) == 0 {
			t.Errorf("seed %d has two trails:\n%s\n\nand\n\n%s", seed, strings.Join(first.Trail, "\n"), strings.Join(second.Trail, "\n"))
		}
	}
}

// TestEverythingHappens: a simulation in which nothing goes wrong would prove nothing.
// The seeds must lead to every verdict and every state of a cleanup that chance and
// people can bring about here.
func TestEverythingHappens(t *testing.T) {
	want := []string{
		"Succeeded Deleted", "AgentStartError Deleted", "AgentConnectionTimeout Deleted", "AgentStopped Deleted", "NoAgents Deleted",
		"BuildFailed Deleted", "BuildCanceled Deleted", "DeleteBuildFailed Deleted", "DeadlineExceeded Deleted", "DeadlineExceeded NotCreated",
		"CreateRejected NotCreated", "CreateOutcomeUnknown NotCreated", "DeadlineExceeded CreateOutcomeUnknown",
		"ControlPlaneGone ControlPlaneGone", "WorkspaceChangedExternally Deleted", "TemplateVersionImportFailed NotCreated",
		"WorkspaceNameConflict NotCreated", "WorkspaceNameConflict OwnershipUnknown", "DeleteBuildFailed DeleteRetrying",
		"AgentStartError Retained", "WaitingForBuild Deleted", "TemplateDeprecated NotCreated", "AgentStartTimeout Deleted",
		"ParametersInvalid NotCreated", "TemplateVersionMismatch NotCreated", "ExternalAgentUnsupported NotCreated",
		"TemplateVersionArchived NotCreated", "WorkspaceDeletedExternally DeletedExternally",
	}
	if varied == 0 {
		t.Skip("too slow with the race detector")
	}
	seen := map[string]bool{}
	crashes, faults := 0, 0
	for seed := uint64(1); seed <= varied; seed++ {
		outcome := sim.Play(sim.NewPlan(seed), false, nil)
		crashes, faults = crashes+outcome.Crashes, faults+outcome.Faults
		for reason := range outcome.Reasons {
			seen[reason] = true
		}
	}
	for _, reason := range want {
		if !seen[reason] {
			t.Errorf("no seed comes to %s", reason)
		}
	}
	if crashes < 100 || faults < 1000 {
		t.Errorf("only %d crashes and %d faults", crashes, faults)
	}
}
