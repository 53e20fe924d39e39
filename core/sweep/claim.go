package sweep

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// claimAttempts is how many IDs are tried for one workspace. 65,536 share its name, and
// one is taken at most, but for a name that was chosen on purpose.
const claimAttempts = 16

// Claim stores a record that claims a proven workspace, for the lifecycle to delete it
// against the control plane. take gets the record's lease before the record is there, so
// that nobody can come between. ports.ErrClaimed: another test has claimed it meanwhile.
func Claim(
	ctx context.Context, store ports.WorkspaceClaimer, take func(ctx context.Context, test uuid.UUID) error,
	view View, found Finding, controlPlaneRef string, now time.Time, random io.Reader,
) (core.Record, error) {
	for attempt := 1; ; attempt++ {
		record, err := newClaim(view, found, controlPlaneRef, now, random)
		if err != nil {
			return core.Record{}, err
		}
		if err := take(ctx, record.ID); err != nil {
			return core.Record{}, err
		}
		record, err = store.Claim(ctx, record)
		if !errors.Is(err, ports.ErrExists) || attempt == claimAttempts {
			return record, err
		}
	}
}

// newClaim is the record of a test that made the workspace, got no further and is asked to
// clean up: held, with all pins, its create marker from the first build.
func newClaim(view View, found Finding, controlPlaneRef string, now time.Time, random io.Reader) (core.Record, error) {
	id, err := testOf(found.Workspace.Name, random)
	if err != nil {
		return core.Record{}, err
	}
	attempt, err := uuid.NewRandomFromReader(random)
	if err != nil {
		return core.Record{}, fmt.Errorf("make an attempt ID: %w", err)
	}
	w, seconds := &found.Workspace, now.UTC().Truncate(time.Second)
	record := core.Record{
		ID: id, Name: "sweep", Generation: 1, CreatedAt: now.UTC().Truncate(time.Millisecond), DeletionRequestedAt: seconds,
		DeletionPolicy: string(core.DeletionPolicyDelete), Held: true,
		Spec: core.Spec{
			Template:       w.OrganizationName + "." + w.TemplateName,
			Version:        core.VersionSelector{ID: found.StartBuild.VersionID.String()},
			TimeoutSeconds: core.DefaultTimeoutSeconds, ControlPlaneRef: controlPlaneRef,
		},
		Status: core.Status{
			ObservedGeneration: 1, Phase: core.PhaseRunning, Reason: core.ReasonDeletingWorkspace,
			Message: "a sweep deletes the workspace", StartTime: seconds,
			Pins: core.Pins{
				OrganizationID: w.OrganizationID, TemplateID: w.TemplateID, TemplateVersionID: found.StartBuild.VersionID,
				OwnerID: w.OwnerID, WorkspaceName: w.Name,
				DeploymentID: view.Deployment.ID, OperatorUserID: view.Operator.ID,
			},
			CreateAttemptTime: found.StartBuild.CreatedAt.UTC().Truncate(time.Second), CreateAttemptID: attempt,
			WorkspaceID: w.ID, StartBuildID: found.StartBuild.ID,
		},
	}
	for _, c := range []core.Condition{
		{Type: core.ConditionReady, Status: core.ConditionFalse, Reason: core.ReasonDeletingWorkspace},
		{Type: core.ConditionReconciling, Status: core.ConditionTrue, Reason: core.ReasonDeletingWorkspace},
		{Type: core.ConditionStalled, Status: core.ConditionFalse, Reason: core.ReasonDeletingWorkspace},
		{Type: core.ConditionWorkspaceDeleted, Status: core.ConditionFalse, Reason: core.ReasonCleanupPending},
	} {
		c.Message, c.ObservedGeneration = record.Status.Message, record.Generation
		record.Status.SetCondition(now, c)
	}
	return record, nil
}

// testOf is the ID of a test whose workspace has the name: the name says all but its last
// two bytes.
func testOf(name string, random io.Reader) (uuid.UUID, error) {
	var id uuid.UUID
	digits, err := hex.DecodeString(strings.TrimPrefix(name, "ktt-"))
	if err != nil || !core.IsTestWorkspaceName(name) {
		return uuid.Nil, fmt.Errorf("workspace %q does not have a test's name", name)
	}
	copy(id[:], digits)
	if _, err := io.ReadFull(random, id[len(digits):]); err != nil {
		return uuid.Nil, fmt.Errorf("make an ID: %w", err)
	}
	return id, nil
}
