package core_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestWorkspaceName(t *testing.T) {
	id := uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")
	const want = "ktt-00112233445566778899aabbccdd"
	if got := core.WorkspaceName(id); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(want) != 32 {
		t.Errorf("%d characters; Coder takes at most 32", len(want))
	}
}

func TestIsTestWorkspaceName(t *testing.T) {
	for _, row := range []struct {
		why, name string
		want      bool
	}{
		{"made by WorkspaceName", core.WorkspaceName(uuid.New()), true},
		{"one digit less", "ktt-00112233445566778899aabbccd", false},
		{"one digit more", "ktt-00112233445566778899aabbccdde", false},
		{"upper case", "ktt-00112233445566778899AABBCCDD", false},
		{"something before it", "x-ktt-00112233445566778899aabbccdd", false},
		{"something behind it", "ktt-00112233445566778899aabbccdd\n", false},
		{"another prefix", "kts-00112233445566778899aabbccdd", false},
		{"empty", "", false},
	} {
		if got := core.IsTestWorkspaceName(row.name); got != row.want {
			t.Errorf("%s: %q is a test's name: %t", row.why, row.name, got)
		}
	}
}

func TestParseDeletionPolicy(t *testing.T) {
	for _, row := range []struct {
		why, written string
		policy       core.DeletionPolicy
		known        bool
	}{
		{"nothing written means delete", "", core.DeletionPolicyDelete, true},
		{"delete", "delete", core.DeletionPolicyDelete, true},
		{"retain", "retain", core.DeletionPolicyRetain, true},
		{"exactly as written", "Retain", core.DeletionPolicyDelete, false},
		{"blanks count", "retain ", core.DeletionPolicyDelete, false},
		{"anything else deletes", "keep", core.DeletionPolicyDelete, false},
	} {
		if policy, known := core.ParseDeletionPolicy(row.written); policy != row.policy || known != row.known {
			t.Errorf("%s: %q means %q, known %t", row.why, row.written, policy, known)
		}
	}
}

func TestWhatMayHaveBeenSent(t *testing.T) {
	for _, row := range []struct {
		why               string
		status            core.Status
		marker, workspace bool
	}{
		{"nothing yet", core.Status{}, false, false},
		{"a create is announced", core.Status{CreateAttemptID: uuid.New()}, true, true},
		{"the workspace is known", core.Status{CreateAttemptID: uuid.New(), WorkspaceID: uuid.New()}, true, true},
		{"a workspace alone is enough", core.Status{WorkspaceID: uuid.New()}, false, true},
	} {
		if got := row.status.HasMarker(); got != row.marker {
			t.Errorf("%s: marker %t", row.why, got)
		}
		if got := row.status.MayHaveWorkspace(); got != row.workspace {
			t.Errorf("%s: may have a workspace: %t", row.why, got)
		}
	}
}

func TestDeadline(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := core.Record{Spec: core.Spec{TimeoutSeconds: 90}, Status: core.Status{StartTime: start}}
	if got, want := record.Deadline(), start.Add(90*time.Second); !got.Equal(want) {
		t.Errorf("deadline %s, want %s", got, want)
	}
	if record.DeletionRequested() {
		t.Error("nobody requested deletion")
	}
	record.DeletionRequestedAt = start
	if !record.DeletionRequested() {
		t.Error("deletion was requested")
	}
}

// The names of the fields are a public contract: manifests and GitOps rules use them.
func TestStatusJSON(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id := uuid.MustParse(versionUUID)
	full, err := json.Marshal(core.Status{
		ObservedGeneration: 1, Phase: core.PhaseFailed, Reason: core.ReasonBuildFailed, Message: "m",
		StartTime: moment, CompletionTime: moment,
		Pins: core.Pins{
			OrganizationID: id, TemplateID: id, TemplateVersionID: id, TemplateVersionName: "v1", OwnerID: id,
			WorkspaceName: "w", DeploymentID: "d", OperatorUserID: id,
		},
		CreateAttemptTime: moment, CreateAttemptID: id, CreateAnswer: &core.CreateAnswer{Status: 409, Message: "taken"},
		WorkspaceID: id, StartBuildID: id, DeleteBuildID: id, StartBuildRan: true, AgentsReadyTime: moment, DeleteAttempts: 2,
		OutcomeClass: core.OutcomeInconclusive, LastWaitReason: core.ReasonWaitingForBuild, ErrorCode: "X",
		Conditions: []core.Condition{{Type: core.ConditionReady, Status: core.ConditionFalse, LastTransitionTime: moment}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(full, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"observedGeneration", "phase", "reason", "message", "startTime", "completionTime", "organizationID", "templateID",
		"templateVersionID", "templateVersionName", "ownerID", "workspaceName", "deploymentID", "operatorUserID",
		"createAttemptTime", "createAttemptID", "createAnswer", "workspaceID", "startBuildID", "deleteBuildID", "startBuildRan",
		"agentsReadyTime", "deleteAttempts", "outcomeClass", "lastWaitReason", "errorCode", "conditions",
	} {
		if _, ok := fields[name]; !ok {
			t.Errorf("there is no field %s", name)
		}
		delete(fields, name)
	}
	if len(fields) != 0 {
		t.Errorf("fields that the contract does not know: %v", fields)
	}

	empty, err := json.Marshal(core.Status{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{}", string(empty)); diff != "" {
		t.Errorf("an empty status encodes as nothing (-want +got):\n%s", diff)
	}
	var back core.Status
	if err := json.Unmarshal(full, &back); err != nil || back.CreateAnswer.Status != 409 || back.WorkspaceID != id {
		t.Errorf("what was encoded comes back: %+v, %v", back, err)
	}
}

func TestClaims(t *testing.T) {
	test, workspace := uuid.New(), uuid.New()
	for _, row := range []struct {
		name      string
		workspace uuid.UUID
		holds     uuid.UUID
		called    string
		deleted   core.ConditionStatus
		want      bool
		why       string
	}{
		{"its workspace", workspace, workspace, "renamed", core.ConditionFalse, true, "an ID is enough"},
		{"its workspace, deleted", workspace, workspace, core.WorkspaceName(test), core.ConditionTrue, true, "a list can be older than the record"},
		{"its name", workspace, uuid.Nil, core.WorkspaceName(test), "", true, "a create can be on its way"},
		{"its name, nothing known", workspace, uuid.Nil, core.WorkspaceName(test), core.ConditionUnknown, true, "as above"},
		{"its name, none made", workspace, uuid.Nil, core.WorkspaceName(test), core.ConditionTrue, false, "the record says so"},
		{"its name, another's ID", workspace, uuid.New(), core.WorkspaceName(test), core.ConditionTrue, false, "the record means another one"},
		{"another name", workspace, uuid.Nil, core.WorkspaceName(uuid.New()), "", false, "it is another test's"},
		{"no ID", uuid.Nil, uuid.Nil, "mine", "", false, "no ID is no match"},
	} {
		record := core.Record{ID: test}
		record.Status.WorkspaceID = row.holds
		record.Status.SetCondition(time.Time{}, core.Condition{Type: core.ConditionWorkspaceDeleted, Status: row.deleted})
		if got := record.Claims(row.workspace, row.called); got != row.want {
			t.Errorf("%s: claims %v, want %v: %s", row.name, got, row.want, row.why)
		}
	}
}
