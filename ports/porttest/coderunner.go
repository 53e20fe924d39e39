package porttest

import (
	"testing"
)

// fact is one row of the suite: something about Coder that the lifecycle relies on,
// and the check that shows it.
type fact struct {
	name string
	// says is printed when the row fails.
	says string
	show func(t *testing.T, s stage)
}

// CodeRunner runs the conformance suite. It asks for a Deployment for each row; rows
// run in parallel, so a Deployment that several rows share must bear that. Rows
// delete the workspaces that they make.
func CodeRunner(t *testing.T, deployment func(t *testing.T) Deployment) { show(t, facts, deployment) }

func show(t *testing.T, facts []fact, deployment func(t *testing.T) Deployment) {
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the fact: %s", f.says)
				}
			})
			f.show(t, newStage(t, deployment(t)))
		})
	}
}

var facts = []fact{
	// Which deployment answers, and as whom it is asked.
	{"deployment has a stable ID", "buildinfo names the deployment, and every answer is dated in whole seconds", deploymentIsStable},
	{"deployment needs no valid token", "buildinfo answers whoever asks", deploymentNeedsNoToken},
	{"operator is the token's user", "the user \"me\" is the one whose token asks", operatorIsTokenUser},
	{"bad token is unauthorized", "a bad token is Coder's 401, for reads and for changes alike", badTokenIsUnauthorized},
	{"unreachable deployment", "a failed dial leaves a read unavailable and a change without effect", unreachableHasNoEffect},

	// The owner.
	{"owner with nothing special", "an active member has no roles but those of every member, and its organization tells what it grants by default", ownerPlain},
	{"owner made without a status is dormant", "users made through the API are dormant until somebody activates them", ownerDormant},
	{"owner suspended", "a suspended user is still readable", ownerSuspended},
	{"owner with login type none", "the login type tells a machine's user from a person", ownerLoginNone},
	{"owner with roles", "site roles and organization roles are told apart", ownerRoles},
	{"owner missing", "a user that does not exist is not found", ownerMissing},
	{"member reads itself alone", "a plain member reads its own user, and another one is not found", ownerReadByMember},

	// Making testers.
	{"tester made active", "a user can be made active in one request: a plain member that logs in by password", testerMade},
	{"tester of a taken name", "a taken name is a conflict, without regard to case", testerTaken},
	{"tester made by a member", "a plain member makes no users", testerForbidden},
	{"tester activated", "a dormant user can be activated, an active one stays so, a member activates nobody", testerActivated},
	{"tester found by its name", "a user is found by name without regard to case; a missing one is not found", testerFound},
	{"service account without a license", "the license tells whether there are service accounts; without one they are refused", testerServiceAccount},

	// Organization, template, version.
	{"organization by name", "organizations are found by name without regard to case", organizationByName},
	{"template by name", "templates are found by name without regard to case", templateByName},
	{"version by name", "versions are found by their exact name, within their template", versionByName},
	{"version by ID", "a version says which template it is of, and that its import succeeded", versionByID},
	{"version whose import failed", "the import job tells it", versionImportFailed},
	{"version whose import is pending", "the import job tells it", versionImportPending},
	{"version archived", "an archived version is still readable and says so", versionArchived},
	{"version with an external agent", "the version tells it", versionExternalAgent},
	{"member reads its inputs", "a plain member reads organization, template and version", inputsReadByMember},

	// Parameters, presets and external authentication.
	{"classic parameters", "the static rules of the version tell unknown, missing and refused parameters", parametersClassic},
	{"dynamic parameters", "the evaluation for an owner tells unknown, missing and refused parameters", parametersDynamic},
	{"parameters of a version without any", "a version without parameters accepts none and knows none", parametersNone},
	{"preset", "a preset is reported with its ID and values", presetFillsIn},
	{"preset that a parameter overrides", "its values are reported, its ID is not: Coder would let the preset win", presetOverridden},
	{"external authentication required", "the version lists it, and the owner has not linked it", externalAuthRequired},
	{"external authentication not required", "the list is empty", externalAuthNone},

	// Create.
	{"create for another user", "a site owner makes a workspace for another user: build 1, a start build by the caller", createForAnother},
	{"create for itself", "a plain member makes a workspace for itself", createForItself},
	{"create by a member for another is refused", "a plain member may not make workspaces for others", createByMemberForAnother},
	{"create for a dormant owner", "Coder accepts a build for a dormant owner", createForDormantOwner},
	{"create with a taken name", "names are unique per owner without regard to case", createTakenName},
	{"create with a taken name of another owner", "two owners can use the same name", createNameOfAnotherOwner},
	{"create with the name of a deleted workspace", "a name is free again once its workspace is deleted", createNameOfDeleted},
	{"create with a bad name", "reserved, malformed and long names are refused", createBadName},
	{"create of an unknown version", "an unknown version is refused", createUnknownVersion},
	{"create for an unknown owner", "an unknown owner is not found", createUnknownOwner},
	{"create while the version is imported", "a pending import is Coder's 406", createWhileImporting},
	{"create of a version whose import failed", "a failed import is refused", createImportFailed},
	{"create of an archived version", "Coder answers 500: uncertain, though nothing was made", createArchived},
	{"create with an unknown parameter", "Coder accepts a parameter that the version does not define", createUnknownParameter},
	{"create with a refused parameter", "a value that breaks the rules is refused, under the classic and the dynamic flow", createRefusedParameter},
	{"create with a preset", "a preset gives required parameters a value, and wins over parameters", createWithPreset},

	// Builds and agents.
	{"passing template", "the agent ends connected and ready; its script's output and the build's are in the logs", buildPasses},
	{"start script fails", "the build succeeds, and the agent is connected with a start error", startScriptFails},
	{"build fails", "the job is failed and carries no error code", buildFails},
	{"no agents", "the build succeeds and there is no agent", buildWithoutAgents},
	{"agent never connects", "Coder gives up on the agent, and the workspace stays", agentNeverConnects},
	{"no matching provisioner", "a pending job tells that no provisioner can take it, and which tags it wants", noMatchingProvisioner},
	{"build by somebody else", "another start or stop build becomes the latest one, with its own initiator", buildBySomebodyElse},
	{"builds in order", "all builds are listed from the first one on, deleted workspaces included", buildsInOrder},

	// Find and read.
	{"find by name", "a workspace is found by name without regard to case", findByName},
	{"find none", "none is no error, and the answer is dated", findNone},
	{"find a deleted one", "a deleted workspace is found by name", findDeleted},
	{"find prefers the live one", "a live workspace wins over deleted ones of its name", findPrefersLive},
	{"read by another member", "one that the caller may not read looks like one that never existed", readByAnotherMember},
	{"read one that never existed", "it is not found", readNeverExisted},
	{"rename keeps the identity", "a renamed workspace keeps its ID and leaves its name", renameKeepsIdentity},
	{"owned workspaces", "the list holds every live workspace of the owner and no other", ownedWorkspaces},
	{"who may read workspaces", "authcheck tells it: a member its own, a site owner everybody's", mayReadWorkspaces},

	// Cancel and delete.
	{"cancel a running build", "the job ends canceled or failed, and tells that it was canceled", cancelRunning},
	{"cancel in another state", "a build that is not in the expected state is left alone", cancelUnexpectedState},
	{"cancel a finished build", "it is refused", cancelFinished},
	{"cancel where the template forbids it", "a plain member may not cancel a running build", cancelForbidden},
	{"delete", "a delete build runs, and the workspace is deleted once it succeeded", deleteWorkspace},
	{"delete while a build is active", "one build at a time: conflict, for a start build and a delete build", deleteWhileActive},
	{"delete what is deleted", "Coder starts a further delete build", deleteDeleted},
	{"delete by another member", "one that the caller may not read is not found", deleteByAnotherMember},
	{"logs after the delete", "build logs stay, agent logs are gone", logsAfterDelete},

	// Watch.
	{"watch to ready and deleted", "the stream tells each change of build and agents, the delete included", watchToDeleted},
	{"watch a deleted workspace", "the stream opens, and is no proof of life", watchDeleted},
	{"watch one that never existed", "it is not found", watchNeverExisted},
	{"watch with a bad token", "it is unauthorized", watchBadToken},
}
