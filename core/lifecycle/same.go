package lifecycle

import (
	"slices"

	"github.com/assay-dev/assay/core"
)

// sameStatus reports whether storing b over a would change nothing. It is asked twice
// in every step, so it names the fields instead of reflecting on them.
func sameStatus(a, b *core.Status) bool {
	return a.ObservedGeneration == b.ObservedGeneration &&
		a.Phase == b.Phase &&
		a.Reason == b.Reason &&
		a.Message == b.Message &&
		a.StartTime.Equal(b.StartTime) &&
		a.CompletionTime.Equal(b.CompletionTime) &&
		a.Pins == b.Pins &&
		a.CreateAttemptTime.Equal(b.CreateAttemptTime) &&
		a.CreateAttemptID == b.CreateAttemptID &&
		sameAnswer(a.CreateAnswer, b.CreateAnswer) &&
		a.WorkspaceID == b.WorkspaceID &&
		a.StartBuildID == b.StartBuildID &&
		a.DeleteBuildID == b.DeleteBuildID &&
		a.StartBuildRan == b.StartBuildRan &&
		a.AgentsReadyTime.Equal(b.AgentsReadyTime) &&
		a.DeleteAttempts == b.DeleteAttempts &&
		a.OutcomeClass == b.OutcomeClass &&
		a.LastWaitReason == b.LastWaitReason &&
		a.ErrorCode == b.ErrorCode &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition)
}

func sameAnswer(a, b *core.CreateAnswer) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameCondition(a, b core.Condition) bool {
	sameTime := a.LastTransitionTime.Equal(b.LastTransitionTime)
	a.LastTransitionTime = b.LastTransitionTime
	return sameTime && a == b
}
