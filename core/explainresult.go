package core

var resultWords = map[Reason]Explanation{
	ReasonSucceeded: {
		"Every agent was ready, and the workspace is deleted.",
		"Promote it.",
	},
	ReasonBuildFailed: {
		"The start build failed.",
		"Read the build log; errorCode has Coder's code. Evidence keeps the log.",
	},
	ReasonNoAgents: {
		"The build succeeded, and the workspace has no agent.",
		"Add a coder_agent, or test only templates that have one.",
	},
	ReasonAgentStartError: {
		"A startup script failed.",
		"Read the script's log of that agent.",
	},
	ReasonAgentStartTimeout: {
		"A startup script took longer than its timeout.",
		"Make it faster, or raise the timeout in the template.",
	},
	ReasonAgentStopped: {
		"An agent shut down before it was ready.",
		"Read the agent's log.",
	},
	ReasonAgentConnectionTimeout: {
		"An agent never connected.",
		"Check that the workspace reaches Coder's access URL, and that it starts the agent.",
	},
	ReasonExternalAgentUnsupported: {
		"The version has an external agent, which nobody would start.",
		"Test another template, or a version without it.",
	},
	ReasonParametersInvalid: {
		"A parameter is unknown, missing or refused, or the preset is unknown. The message has the names, never values.",
		"Correct the parameters or the preset in a new test.",
	},
	ReasonTemplateDeprecated: {
		"The template is deprecated.",
		"End the deprecation, or test its successor.",
	},
	ReasonVersionMismatch: {
		"The version belongs to another template.",
		"Correct the version or the template in a new test.",
	},
	ReasonVersionArchived: {
		"The version is archived.",
		"Unarchive it, or test another one.",
	},
	ReasonVersionImportFailed: {
		"Coder could not import the version.",
		"Read the import's log in Coder, and push a new version.",
	},
	ReasonCreateRejected: {
		"Coder refused to make the workspace.",
		"The message has Coder's. With 403 and 404: what may the token's user do in this organization?",
	},
	ReasonDeadlineExceeded: {
		"Time was up. lastWaitReason names the last wait.",
		"See that reason, or raise the timeout.",
	},
	ReasonControlPlaneGone: {
		"The control plane was deleted while the test ran.",
		"Make the control plane again, and a new test. Look also at what became of the workspace.",
	},
	ReasonWorkspaceNameConflict: {
		"A workspace of the test's name exists and is not the test's. It is never touched.",
		"Find out whose it is; make a new test, which has another name.",
	},
	ReasonCreateOutcomeUnknown: {
		"No answer to the create request came, and nothing shows that it took effect.",
		"Check the network to Coder, and make a new test.",
	},
	ReasonWorkspaceDeletedExternally: {
		"Somebody else deleted the workspace.",
		"Leave workspaces named ktt-… alone; make a new test.",
	},
	ReasonWorkspaceChangedExternally: {
		"Somebody else started a build of the workspace, or Coder stopped it.",
		"Leave workspaces named ktt-… alone, and check the schedule that the template forces on workspaces; make a new test.",
	},
	ReasonBuildCanceled: {
		"Somebody canceled the start build.",
		"Leave workspaces named ktt-… alone; make a new test.",
	},
	ReasonDeleteBuildFailed: {
		"The agents were ready, but deleting the workspace failed.",
		"Read the delete build's log: destroying the template's resources fails.",
	},
}
