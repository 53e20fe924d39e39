package core

// Explanation says in words what a reason means, and what to do about it. The words name
// no object of a run: those are in the message beside the reason.
type Explanation struct {
	Meaning  string
	WhatToDo string
}

// Explain explains a reason of a test, that of a wait or of a result; the zero
// Explanation for one that this version does not know.
func (r Reason) Explain() Explanation {
	if words, ok := waitWords[r]; ok {
		return words
	}
	return resultWords[r]
}

// ExplainDeletion explains a reason of the condition WorkspaceDeleted; the zero
// Explanation for one that this version does not know.
func (r Reason) ExplainDeletion() Explanation { return deletionWords[r] }

var waitWords = map[Reason]Explanation{
	ReasonInitializing: {
		"The test was seen, and is about to begin.",
		"Nothing. If it stays: is what runs the tests still there? In a cluster: does the operator run, and does it watch this namespace?",
	},
	ReasonControlPlaneNotReady: {
		"The control plane that controlPlaneRef names is missing, is being deleted, has no URL yet, or leads to another deployment than the one the workspace is on.",
		"Look at the control plane's conditions, or make it.",
	},
	ReasonOperatorAccessNotReady: {
		"There is no token, or Coder does not take it.",
		"Give a token that works. In a cluster: look at the control plane's condition OperatorAccess, and put the token into its Secret.",
	},
	ReasonCoderUnavailable: {
		"Coder did not answer, answered with an error of its own, or a proxy answered for it.",
		"Check that Coder runs, and that it can be reached from where the test runs.",
	},
	ReasonCoderAnswerMismatch: {
		"Coder answered about something else than it was asked, so the answer does not count.",
		"Look for a proxy or a cache on the way to Coder.",
	},
	ReasonOwnerNotConfigured: {
		"templateTests.ownerUserID is missing, or is no UUID.",
		"Set it to the ID of the test user.",
	},
	ReasonOwnerNotEligible: {
		"The test user may not own workspaces of tests; the message says which rule it breaks.",
		"Do what the message says, or choose a user without privileges.",
	},
	ReasonTemplateNotFound: {
		"The organization or the template does not exist, or the token's user may not see it.",
		"Correct the template in a new test, push the template, or give the user access.",
	},
	ReasonVersionNotFound: {
		"The template has no such version.",
		"Push the version, or correct it in a new test.",
	},
	ReasonVersionImporting: {
		"Coder still imports the version.",
		"Nothing. If it stays: does a provisioner take the job?",
	},
	ReasonExternalAuthRequired: {
		"The version needs an external authentication that the test user lacks.",
		"Log the test user in with that provider, or make it optional in the template.",
	},
	ReasonCreatingWorkspace: {
		"The create request is announced, and is sent or being sent.",
		"Nothing.",
	},
	ReasonCreateRetrying: {
		"Coder did not get the request, or asked to come later (HTTP 429).",
		"Nothing. If it stays: check the network and Coder's rate limit.",
	},
	ReasonConfirmingCreate: {
		"Nobody knows what became of the create request. It is only read until one can prove it, for 15 minutes at least if there is no workspace.",
		"Nothing. If it stays, the message says which proof is missing.",
	},
	ReasonWaitingForBuild: {
		"The start build is pending or runs.",
		"Nothing. A slow build: read its log in Coder.",
	},
	ReasonNoMatchingProvisioner: {
		"No provisioner takes the start build.",
		"Start one with the tags that the message names.",
	},
	ReasonWaitingForAgents: {
		"An agent is not connected yet, or its startup script runs.",
		"Nothing. The message names the agent and where it stands.",
	},
	ReasonAgentsReady: {
		"Every agent is connected and ready.",
		"Nothing. The workspace is deleted next.",
	},
	ReasonDeletingWorkspace: {
		"The version passed so far; the workspace is being deleted.",
		"Nothing.",
	},
}

var deletionWords = map[Reason]Explanation{
	ReasonDeleted: {
		"The workspace is deleted.",
		"Nothing.",
	},
	ReasonDeletedExternally: {
		"Somebody else deleted it.",
		"Nothing.",
	},
	ReasonNotCreated: {
		"There never was one.",
		"Nothing.",
	},
	ReasonCleanupPending: {
		"It is about to be deleted, or the test runs still.",
		"Nothing. Where the run ended before: assay resume finishes it.",
	},
	ReasonDeleting: {
		"A delete build, or the cancel before it, is under way.",
		"Nothing. Where the run ended before: assay resume finishes it.",
	},
	ReasonDeleteRetrying: {
		"A delete build failed. The next one is sent after 1 to 30 minutes, and again until one succeeds.",
		"Read its log in Coder, and remove what stands in the way. deleteAttempts counts.",
	},
	ReasonControlPlaneUnavailable: {
		"Coder cannot be reached or asked. It is tried again each minute.",
		"See ControlPlaneNotReady, OperatorAccessNotReady and CoderUnavailable.",
	},
	ReasonCoderAnswerMismatch: {
		"Coder answers about something else.",
		"Look for a proxy or a cache on the way to Coder.",
	},
	ReasonRetained: {
		"It is kept because that was asked for: by the flag, or by the annotation where the control plane allows it.",
		"Delete it in Coder when done. In a cluster: set the annotation to delete.",
	},
	ReasonCreateOutcomeUnknown: {
		"It is still being found out whether there is one.",
		"Nothing. If it stays, the message says which proof is missing.",
	},
	ReasonOwnershipUnknown: {
		"There is one of the test's name, and nothing proves that it is the test's. It is not touched, and the test's record stays.",
		"Look at the workspace that the message names. Then run assay forget; in a cluster, delete the test and remove the finalizer coder.com/template-test-cleanup by hand.",
	},
	ReasonControlPlaneGone: {
		"The control plane went before the workspace could be deleted.",
		"Look for the workspace by its name, status.workspaceName in a cluster, and delete it in Coder.",
	},
}
