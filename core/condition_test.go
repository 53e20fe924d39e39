package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
)

func TestSetCondition(t *testing.T) {
	then := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := then.Add(90*time.Second + 700*time.Millisecond)
	old := core.Condition{
		Type: core.ConditionReady, Status: core.ConditionFalse, Reason: core.ReasonInitializing, Message: "old",
		LastTransitionTime: then, ObservedGeneration: 1,
	}
	for _, row := range []struct {
		why  string
		set  core.Condition
		want core.Condition
	}{
		{
			why:  "another status is a transition, in whole seconds",
			set:  core.Condition{Type: core.ConditionReady, Status: core.ConditionTrue, Reason: core.ReasonSucceeded, Message: "new"},
			want: core.Condition{Type: core.ConditionReady, Status: core.ConditionTrue, Reason: core.ReasonSucceeded, Message: "new", LastTransitionTime: then.Add(90 * time.Second)},
		},
		{
			why:  "another reason is none",
			set:  core.Condition{Type: core.ConditionReady, Status: core.ConditionFalse, Reason: core.ReasonWaitingForBuild, Message: "new", ObservedGeneration: 2},
			want: core.Condition{Type: core.ConditionReady, Status: core.ConditionFalse, Reason: core.ReasonWaitingForBuild, Message: "new", LastTransitionTime: then, ObservedGeneration: 2},
		},
		{
			why:  "a new type begins now",
			set:  core.Condition{Type: core.ConditionStalled, Status: core.ConditionFalse},
			want: core.Condition{Type: core.ConditionStalled, Status: core.ConditionFalse, LastTransitionTime: then.Add(90 * time.Second)},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			original := core.Status{Conditions: []core.Condition{old}}
			changed := original
			changed.SetCondition(now, row.set)
			if diff := cmp.Diff(row.want, changed.Condition(row.set.Type)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]core.Condition{old}, original.Conditions); diff != "" {
				t.Errorf("the record that it was copied from changed with it (-want +got):\n%s", diff)
			}
		})
	}
}

// A slice with room behind its end is the trap: an append would write into it.
func TestSetConditionLeavesSharedRoomAlone(t *testing.T) {
	shared := make([]core.Condition, 1, 4)
	shared[0] = core.Condition{Type: core.ConditionReady}
	a, b := core.Status{Conditions: shared}, core.Status{Conditions: shared}
	a.SetCondition(time.Time{}, core.Condition{Type: core.ConditionStalled, Status: core.ConditionTrue})
	b.SetCondition(time.Time{}, core.Condition{Type: core.ConditionStalled, Status: core.ConditionFalse})
	if got := a.Condition(core.ConditionStalled).Status; got != core.ConditionTrue {
		t.Errorf("the other copy wrote %s into this one", got)
	}
	if got := len((&core.Status{Conditions: shared}).Conditions); got != 1 {
		t.Errorf("the original has %d conditions", got)
	}
}

func TestConditionThatIsNotThere(t *testing.T) {
	if got := (&core.Status{}).Condition(core.ConditionReady); got != (core.Condition{}) {
		t.Errorf("got %+v", got)
	}
}
