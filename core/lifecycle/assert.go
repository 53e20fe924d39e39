package lifecycle

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// ErrAssertion is wrapped by every error that means a record which the lifecycle
// itself could not have written (lifecycle section 4.1). It is a bug or a record
// edited by hand, never a result.
var ErrAssertion = errors.New("assertion failed")

func assertionFailed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrAssertion, fmt.Sprintf(format, args...))
}

func assertRecord(r *core.Record) error {
	st := &r.Status
	if r.ID == uuid.Nil {
		return assertionFailed("the record has no ID")
	}
	if st.WorkspaceName != "" && st.WorkspaceName != core.WorkspaceName(r.ID) {
		return assertionFailed("the recorded workspace name %q is not %q", st.WorkspaceName, core.WorkspaceName(r.ID))
	}
	if st.Phase != "" && !st.Phase.Final() && st.StartTime.IsZero() {
		return assertionFailed("a running record has no start time")
	}
	if st.HasMarker() != !st.CreateAttemptTime.IsZero() {
		return assertionFailed("half a create marker is recorded")
	}
	p := &st.Pins
	if st.HasMarker() && (p.OwnerID == uuid.Nil || p.OrganizationID == uuid.Nil || p.TemplateID == uuid.Nil ||
		p.TemplateVersionID == uuid.Nil || p.WorkspaceName == "" || p.DeploymentID == "" || p.OperatorUserID == uuid.Nil) {
		return assertionFailed("a create marker is recorded without all pins")
	}
	if st.WorkspaceID != uuid.Nil && !st.HasMarker() {
		return assertionFailed("a workspace is recorded without a create marker")
	}
	return nil
}
