package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/runner"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/ports"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestEvidenceIsMaskedAndExpires(t *testing.T) {
	agent := uuid.New()
	kept := keep(t, core.Evidence{
		CoderVersion: "v2.36.1",
		Record: core.Record{Spec: core.Spec{
			ControlPlaneRef: "main", Parameters: []core.Parameter{{Name: "region", Value: "hidden-region"}},
		}},
		Logs: []core.Log{
			{Source: "build", Text: "token operator-token in hidden-region\x1b[31m", Truncated: true},
			{Source: "hidden-region start", AgentID: agent, Text: "fine"},
		},
		Workspace: core.Workspace{Latest: core.Build{Agents: []core.Agent{
			{ID: agent, Name: "hidden-region", Status: core.AgentConnected, Lifecycle: "start_error"},
		}}},
	})
	want := core.StoredEvidence{
		Test: kept.Test, At: noon, ExpiresAt: noon.Add(time.Hour), CoderVersion: "v2.36.1",
		Logs: []core.EvidenceLog{
			{Source: "build", Text: kept.Logs[0].Text, Truncated: true},
			{Source: "*** start", AgentID: agent, Text: "fine"},
		},
		Agents: []core.AgentState{{ID: agent, Name: "***", Status: "connected", Lifecycle: "start_error"}},
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"operator-token", "hidden-region", "\x1b"} {
		if strings.Contains(kept.Logs[0].Text, secret) {
			t.Errorf("the log is %q, want no %q in it", kept.Logs[0].Text, secret)
		}
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	log := strings.Repeat("é", 1<<19) // 1 MiB
	var logs []core.Log
	for range 5 {
		logs = append(logs, core.Log{Source: "build", Text: "x" + log})
	}
	kept := keep(t, core.Evidence{Record: core.Record{Spec: core.Spec{ControlPlaneRef: "main"}}, Logs: logs})
	total := 0
	for i, one := range kept.Logs {
		total += len(one.Text)
		if !utf8.ValidString(one.Text) {
			t.Errorf("log %d is cut inside of a character", i)
		}
	}
	if total > 4<<20 || total < 4<<20-4 || len(kept.Logs) != 5 || !kept.Logs[4].Truncated {
		t.Errorf("%d bytes of %d logs are kept, the last one cut: %v; want 4 MiB of 5, and it says so", total, len(kept.Logs), kept.Logs[4].Truncated)
	}
}

func keep(t *testing.T, evidence core.Evidence) core.StoredEvidence {
	t.Helper()
	evidence.TestID = uuid.New()
	all := planes.New()
	all.Put(core.ControlPlane{Ref: "main", State: core.ControlPlaneUsable, Connection: core.Connection{Token: core.NewSecret("operator-token")}})
	keeper := &keeper{}
	sink := runner.Evidence{Keeper: keeper, Planes: all, Clock: clock.New(noon), KeepFor: time.Hour}
	if err := sink.Evidence(t.Context(), evidence); err != nil {
		t.Fatal(err)
	}
	return keeper.kept
}

type keeper struct{ kept core.StoredEvidence }

func (k *keeper) KeepEvidence(_ context.Context, evidence core.StoredEvidence) error {
	k.kept = evidence
	return nil
}

func (k *keeper) KeptEvidence(context.Context, uuid.UUID) (core.StoredEvidence, error) {
	return core.StoredEvidence{}, ports.ErrNotFound
}
