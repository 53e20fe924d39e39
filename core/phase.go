package core

// Phase is where a test stands (lifecycle section 3).
type Phase string

// The phases. Succeeded and Failed are final: they never change again.
const (
	// PhasePending: no create request was sent.
	PhasePending Phase = "Pending"
	// PhaseRunning: a create request may have been sent, or the workspace exists.
	PhaseRunning Phase = "Running"
	// PhaseSucceeded is recorded only after a delete build succeeded.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed has its cause in the reason.
	PhaseFailed Phase = "Failed"
)

// Final reports whether the phase never changes again.
func (p Phase) Final() bool { return p == PhaseSucceeded || p == PhaseFailed }

// Reason is the machine-readable cause of a phase or of a condition's status.
type Reason string

// Reasons of a test that runs: what it waits for or does now.
const (
	ReasonInitializing           Reason = "Initializing"
	ReasonControlPlaneNotReady   Reason = "ControlPlaneNotReady"
	ReasonOperatorAccessNotReady Reason = "OperatorAccessNotReady"
	ReasonCoderUnavailable       Reason = "CoderUnavailable"
	ReasonCoderAnswerMismatch    Reason = "CoderAnswerMismatch"
	ReasonOwnerNotConfigured     Reason = "OwnerNotConfigured"
	ReasonOwnerNotEligible       Reason = "OwnerNotEligible"
	ReasonTemplateNotFound       Reason = "TemplateNotFound"
	ReasonVersionNotFound        Reason = "TemplateVersionNotFound"
	ReasonVersionImporting       Reason = "TemplateVersionImporting"
	ReasonExternalAuthRequired   Reason = "ExternalAuthRequired"
	ReasonCreatingWorkspace      Reason = "CreatingWorkspace"
	ReasonCreateRetrying         Reason = "CreateRetrying"
	ReasonConfirmingCreate       Reason = "ConfirmingCreate"
	ReasonWaitingForBuild        Reason = "WaitingForBuild"
	ReasonNoMatchingProvisioner  Reason = "NoMatchingProvisioner"
	ReasonWaitingForAgents       Reason = "WaitingForAgents"
	ReasonAgentsReady            Reason = "AgentsReady"
	ReasonDeletingWorkspace      Reason = "DeletingWorkspace"
)

// Reasons of a final test.
const (
	ReasonSucceeded                  Reason = "Succeeded"
	ReasonDeadlineExceeded           Reason = "DeadlineExceeded"
	ReasonControlPlaneGone           Reason = "ControlPlaneGone"
	ReasonTemplateDeprecated         Reason = "TemplateDeprecated"
	ReasonVersionMismatch            Reason = "TemplateVersionMismatch"
	ReasonVersionArchived            Reason = "TemplateVersionArchived"
	ReasonVersionImportFailed        Reason = "TemplateVersionImportFailed"
	ReasonParametersInvalid          Reason = "ParametersInvalid"
	ReasonExternalAgentUnsupported   Reason = "ExternalAgentUnsupported"
	ReasonWorkspaceNameConflict      Reason = "WorkspaceNameConflict"
	ReasonCreateRejected             Reason = "CreateRejected"
	ReasonCreateOutcomeUnknown       Reason = "CreateOutcomeUnknown"
	ReasonWorkspaceDeletedExternally Reason = "WorkspaceDeletedExternally"
	ReasonWorkspaceChangedExternally Reason = "WorkspaceChangedExternally"
	ReasonBuildFailed                Reason = "BuildFailed"
	ReasonBuildCanceled              Reason = "BuildCanceled"
	ReasonNoAgents                   Reason = "NoAgents"
	ReasonAgentStartError            Reason = "AgentStartError"
	ReasonAgentStartTimeout          Reason = "AgentStartTimeout"
	ReasonAgentStopped               Reason = "AgentStopped"
	ReasonAgentConnectionTimeout     Reason = "AgentConnectionTimeout"
	ReasonDeleteBuildFailed          Reason = "DeleteBuildFailed"
)

// FailureReasons are the reasons that a failed test can have.
var FailureReasons = []Reason{
	ReasonDeadlineExceeded, ReasonControlPlaneGone, ReasonTemplateDeprecated, ReasonVersionMismatch, ReasonVersionArchived,
	ReasonVersionImportFailed, ReasonParametersInvalid, ReasonExternalAgentUnsupported, ReasonWorkspaceNameConflict, ReasonCreateRejected,
	ReasonCreateOutcomeUnknown, ReasonWorkspaceDeletedExternally, ReasonWorkspaceChangedExternally, ReasonBuildFailed, ReasonBuildCanceled,
	ReasonNoAgents, ReasonAgentStartError, ReasonAgentStartTimeout, ReasonAgentStopped, ReasonAgentConnectionTimeout,
	ReasonDeleteBuildFailed,
}

// Reasons of the condition WorkspaceDeleted. CoderAnswerMismatch,
// CreateOutcomeUnknown and ControlPlaneGone, above, are also among them.
const (
	// True: no workspace of this test can exist.
	ReasonDeleted           Reason = "Deleted"
	ReasonDeletedExternally Reason = "DeletedExternally"
	ReasonNotCreated        Reason = "NotCreated"
	// False: one can exist.
	ReasonCleanupPending          Reason = "CleanupPending"
	ReasonDeleting                Reason = "Deleting"
	ReasonDeleteRetrying          Reason = "DeleteRetrying"
	ReasonControlPlaneUnavailable Reason = "ControlPlaneUnavailable"
	ReasonRetained                Reason = "Retained"
	// Unknown: nothing proves either.
	ReasonOwnershipUnknown Reason = "OwnershipUnknown"
)
