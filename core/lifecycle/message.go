package lifecycle

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assay-dev/assay/core"
)

// clip makes a message one line of valid UTF-8, as every store and encoder wants it, and
// bounds it at the boundary of a character. The name of a parameter, which is part of
// some, can hold anything.
func clip(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if strings.ContainsFunc(message, unicode.IsControl) {
		message = core.PrintableLine(message)
	}
	if len(message) <= core.MaxMessageBytes {
		return message
	}
	end := core.MaxMessageBytes
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}

// deletedMessages say what a reason of the condition WorkspaceDeleted means.
var deletedMessages = map[core.Reason]string{
	core.ReasonDeleted:                 "the workspace is deleted",
	core.ReasonDeletedExternally:       "somebody else deleted the workspace",
	core.ReasonNotCreated:              "no workspace was created",
	core.ReasonCleanupPending:          "the workspace is going to be deleted",
	core.ReasonDeleting:                "a delete build is running",
	core.ReasonDeleteRetrying:          "a delete build failed; another one follows",
	core.ReasonControlPlaneUnavailable: "the control plane cannot be reached; cleanup goes on when it can",
	core.ReasonCoderAnswerMismatch:     "Coder answered about something else than it was asked; cleanup waits",
	core.ReasonRetained:                "the workspace is kept, as the deletion policy asks; set the policy to delete to remove it",
	core.ReasonCreateOutcomeUnknown:    "it is being found out whether the create request took effect",
	core.ReasonOwnershipUnknown:        "a workspace of this name exists that this test cannot prove to have made; a person must look",
	core.ReasonControlPlaneGone:        "the control plane is gone; nobody can tell what became of the workspace",
}

// describe says what Coder or the network answered: the status code and Coder's
// short message, never its details.
func describe(f *core.Failure) string {
	text := f.Op + ": "
	switch {
	case f.Status != 0 && refusal(f):
		text += fmt.Sprintf("Coder answered HTTP %d", f.Status)
	case f.Status != 0:
		text += fmt.Sprintf("HTTP %d", f.Status)
	case f.Message == "":
		return text + f.Class.String()
	default:
		return text + f.Message
	}
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}
