package lifecycle

import "github.com/assay-dev/assay/core"

// Error codes of a failed build that speak about the environment.
const (
	// errorCodeQuota is Coder's code for a build that the owner's quota refused.
	errorCodeQuota = "INSUFFICIENT_QUOTA"
	// errorCodeReaped is recorded for a build that Coder's reaper ended because
	// nobody took it or it fell silent; Coder has no code for that.
	errorCodeReaped = "REAPED"
)

// templateFailures are the verdicts that always speak about the version itself
// (lifecycle section 8).
var templateFailures = map[core.Reason]bool{
	core.ReasonNoAgents:                 true,
	core.ReasonAgentStartError:          true,
	core.ReasonAgentStartTimeout:        true,
	core.ReasonAgentStopped:             true,
	core.ReasonAgentConnectionTimeout:   true,
	core.ReasonExternalAgentUnsupported: true,
	core.ReasonVersionImportFailed:      true,
	core.ReasonVersionArchived:          true,
	core.ReasonVersionMismatch:          true,
	core.ReasonTemplateDeprecated:       true,
	core.ReasonParametersInvalid:        true,
}

// CanBlameTemplate reports whether there is a test that fails with the reason and speaks
// about the version.
func CanBlameTemplate(reason core.Reason) bool {
	switch reason {
	case core.ReasonBuildFailed, core.ReasonCreateRejected, core.ReasonDeadlineExceeded:
		return true
	default:
		return templateFailures[reason]
	}
}

// outcomeClass says whom the verdict in st speaks about.
func outcomeClass(st *core.Status) core.OutcomeClass {
	failed := false
	switch st.Reason {
	case core.ReasonSucceeded:
		return core.OutcomePassed
	case core.ReasonBuildFailed:
		failed = st.ErrorCode != errorCodeQuota && st.ErrorCode != errorCodeReaped
	case core.ReasonCreateRejected:
		failed = st.CreateAnswer != nil && st.CreateAnswer.Status == 400
	case core.ReasonDeadlineExceeded:
		failed = st.LastWaitReason == core.ReasonWaitingForAgents ||
			st.LastWaitReason == core.ReasonWaitingForBuild && st.StartBuildRan
	default:
		failed = templateFailures[st.Reason]
	}
	if failed {
		return core.OutcomeTemplateFailed
	}
	return core.OutcomeInconclusive
}
