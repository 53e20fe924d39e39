package sim

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// noLeak (I1): once faults stop and the pinned control plane stays reachable, every test
// ends with its workspace gone, or in a state that says why not. It compares the record
// that is left with the workspaces that live, and also insists that the test got
// somewhere: a verdict, a condition that is true, a hold that is released.
func noLeak(h *History) []Violation {
	var f findings
	for i := range h.Ends {
		end := &h.Ends[i]
		if h.Excused[end.Test] != "" || end.Unreachable != "" {
			continue
		}
		if problem := leaked(end); problem != "" {
			f.add(end.Test, "%s; %s", problem, describeEnd(end))
		}
	}
	return f
}

// leaked says what is wrong with how a test ended; empty for nothing.
func leaked(end *End) string {
	record := end.Record
	gone := record.Status.Condition(core.ConditionWorkspaceDeleted)
	switch {
	case !end.Gone && !record.Status.Phase.Final() && !record.DeletionRequested():
		return "the test has no verdict"
	case gone.Status == core.ConditionTrue && len(end.Live) > 0:
		return "the record says that no workspace can exist"
	case gone.Status == core.ConditionTrue && !end.Gone && record.Held:
		return "the hold is not released"
	case gone.Status == core.ConditionTrue:
		return ""
	case !record.Status.MayHaveWorkspace() && len(end.Live) == 0 && end.Gone:
		return "" // it was never held: nothing had been sent
	}
	return unfinished(end, gone.Reason)
}

// unfinished judges a test whose record does not say that its workspace is gone.
func unfinished(end *End, reason core.Reason) string {
	record := end.Record
	switch reason {
	case core.ReasonRetained:
		policy, _ := core.ParseDeletionPolicy(record.DeletionPolicy)
		if policy != core.DeletionPolicyRetain || !end.Policy.AllowRetain && !end.Gone {
			return "the workspace is retained though that is not asked for and allowed"
		}
	case core.ReasonControlPlaneGone:
		if !end.PlaneGone {
			return "the control plane was never gone"
		}
	case core.ReasonOwnershipUnknown:
		if !end.NameTaken {
			return "the owner has no workspace of the test's name that is not the test's"
		}
	case core.ReasonCreateOutcomeUnknown:
		if !end.LookAlike {
			return "the outcome of the create could be known: there is no look-alike"
		}
	case core.ReasonDeleteRetrying, core.ReasonDeleting:
		if !end.Stubborn || record.Status.DeleteAttempts == 0 {
			return "the delete was not finished, and no delete build failed for good"
		}
	default:
		return "the cleanup came to nothing"
	}
	return ""
}

func describeEnd(end *End) string {
	st := &end.Record.Status
	gone := st.Condition(core.ConditionWorkspaceDeleted)
	text := string(st.Phase) + " " + string(st.Reason) + ", WorkspaceDeleted " + string(gone.Status) + "/" + string(gone.Reason)
	if end.Gone {
		text += ", the record is gone"
	} else if end.Record.Held {
		text += ", held"
	}
	for _, id := range end.Live {
		text += ", workspace " + id.String() + " lives"
	}
	if st.WorkspaceID != uuid.Nil {
		text += ", recorded workspace " + st.WorkspaceID.String()
	}
	return text
}
