package core_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestJobStatusActive(t *testing.T) {
	for status, want := range map[core.JobStatus]bool{
		core.JobPending: true, core.JobRunning: true, core.JobCanceling: true,
		core.JobSucceeded: false, core.JobFailed: false, core.JobCanceled: false,
		// One that this version does not know may be anything.
		"unknown": false,
	} {
		if got := status.Active(); got != want {
			t.Errorf("%s is active: %t", status, got)
		}
	}
}

func TestFinalPhases(t *testing.T) {
	for phase, want := range map[core.Phase]bool{
		"": false, core.PhasePending: false, core.PhaseRunning: false, core.PhaseSucceeded: true, core.PhaseFailed: true,
	} {
		if got := phase.Final(); got != want {
			t.Errorf("%q is final: %t", phase, got)
		}
	}
}

func TestMemberOf(t *testing.T) {
	in, out := uuid.New(), uuid.New()
	user := core.User{Memberships: []core.Membership{{OrganizationID: in, OrganizationName: "acme"}}}
	if got, ok := user.MemberOf(in); !ok || got.OrganizationName != "acme" {
		t.Errorf("got %+v, %t", got, ok)
	}
	if _, ok := user.MemberOf(out); ok {
		t.Error("it is no member there")
	}
}
