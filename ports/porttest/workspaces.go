package porttest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func findByName(t *testing.T, s stage) {
	member := s.member(t)
	made := s.made(t, member.User, NoAgents)
	for _, name := range []string{made.Name, strings.ToUpper(made.Name)} {
		found, err := member.Runner.FindWorkspace(t.Context(), member.User.ID, name)
		fine(t, "find "+name, err)
		if found.Workspace == nil {
			t.Fatalf("found no workspace %s", name)
		}
		equal(t, "ID", found.Workspace.ID, made.ID)
		equal(t, "name", found.Workspace.Name, made.Name)
		equal(t, "owner", found.Workspace.OwnerID, member.User.ID)
		equal(t, "deleted", found.Workspace.Deleted, false)
		equal(t, "latest build", found.Workspace.Latest.ID, made.Latest.ID)
	}
}

func findNone(t *testing.T, s stage) {
	found, err := s.admin.Runner.FindWorkspace(t.Context(), s.member(t).User.ID, workspaceName())
	fine(t, "find", err)
	if found.Workspace != nil {
		t.Errorf("found workspace %v", found.Workspace.ID)
	}
	if found.ServerTime.IsZero() || !found.ServerTime.Equal(found.ServerTime.Truncate(time.Second)) {
		t.Errorf("server time %v, want whole seconds", found.ServerTime)
	}
}

func findDeleted(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	s.deleted(t, made.ID)
	found, err := s.admin.Runner.FindWorkspace(t.Context(), made.OwnerID, made.Name)
	fine(t, "find", err)
	if found.Workspace == nil {
		t.Fatal("found none")
	}
	equal(t, "ID", found.Workspace.ID, made.ID)
	equal(t, "deleted", found.Workspace.Deleted, true)
}

func findPrefersLive(t *testing.T, s stage) {
	asked := request(s.member(t).User, s.Template(t, NoAgents))
	first := s.create(t, s.admin.Runner, asked)
	s.succeeded(t, first.ID)
	s.deleted(t, first.ID)
	second := s.create(t, s.admin.Runner, asked)
	found, err := s.admin.Runner.FindWorkspace(t.Context(), asked.OwnerID, asked.Name)
	fine(t, "find", err)
	if found.Workspace == nil {
		t.Fatal("found none")
	}
	equal(t, "ID", found.Workspace.ID, second.ID)
	equal(t, "deleted", found.Workspace.Deleted, false)
}

func readByAnotherMember(t *testing.T, s stage) {
	made, other := s.made(t, s.member(t).User, NoAgents), s.member(t)
	_, err := other.Runner.Workspace(t.Context(), made.ID)
	refused(t, "read", err, core.FailureNotFound)
	found, err := other.Runner.FindWorkspace(t.Context(), made.OwnerID, made.Name)
	fine(t, "find", err)
	if found.Workspace != nil {
		t.Errorf("another member found workspace %v", found.Workspace.ID)
	}
}

func readNeverExisted(t *testing.T, s stage) {
	_, err := s.admin.Runner.Workspace(t.Context(), uuid.New())
	refused(t, "read", err, core.FailureNotFound)
}

func renameKeepsIdentity(t *testing.T, s stage) {
	made := s.made(t, s.member(t).User, NoAgents)
	s.succeeded(t, made.ID)
	renamed := workspaceName()
	s.RenameWorkspace(t, made.ID, renamed)
	read, err := s.admin.Runner.Workspace(t.Context(), made.ID)
	fine(t, "read", err)
	equal(t, "name", read.Name, renamed)
	found, err := s.admin.Runner.FindWorkspace(t.Context(), made.OwnerID, made.Name)
	fine(t, "find by the old name", err)
	if found.Workspace != nil {
		t.Errorf("found %v by the old name", found.Workspace.ID)
	}
}

func ownedWorkspaces(t *testing.T, s stage) {
	owner := s.member(t).User
	s.made(t, s.member(t).User, NoAgents)
	var want []uuid.UUID
	for range 3 {
		want = append(want, s.made(t, owner, NoAgents).ID)
	}
	withAgent := s.made(t, owner, Passing)
	want = append(want, withAgent.ID)
	gone := s.made(t, owner, NoAgents)
	s.succeeded(t, gone.ID)
	s.deleted(t, gone.ID)
	for _, id := range want {
		s.succeeded(t, id)
	}
	s.until(t, withAgent.ID, "its agent is ready", func(w core.Workspace) bool {
		return len(w.Latest.Agents) == 1 && w.Latest.Agents[0].Lifecycle == core.AgentReady
	})
	list, err := s.admin.Runner.OwnedWorkspaces(t.Context(), owner)
	fine(t, "list", err)
	var got []uuid.UUID
	for _, workspace := range list {
		got = append(got, workspace.ID)
		equal(t, "owner", workspace.OwnerID, owner.ID)
		equal(t, "deleted", workspace.Deleted, false)
		equal(t, "latest build's status", workspace.Latest.Job.Status, core.JobSucceeded)
		read, err := s.admin.Runner.Workspace(t.Context(), workspace.ID)
		fine(t, "read by ID", err)
		if diff := cmp.Diff(read, workspace); diff != "" {
			t.Errorf("the list says something else than a read by ID (-read +list):\n%s", diff)
		}
	}
	byText := func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)
	if !slices.Equal(got, want) {
		t.Errorf("workspaces %v, want %v", got, want)
	}
	list, err = s.admin.Runner.OwnedWorkspaces(t.Context(), s.member(t).User)
	fine(t, "list of a user without workspaces", err)
	equal(t, "number of workspaces", len(list), 0)
}

func mayReadWorkspaces(t *testing.T, s stage) {
	organization := s.Template(t, NoAgents).OrganizationID
	member, other := s.member(t), s.member(t)
	for _, c := range []struct {
		why       string
		by, owner Account
		want      bool
	}{
		{"a member reads its own", member, member, true},
		{"a member does not read another's", member, other, false},
		{"a site owner reads a member's", s.admin, member, true},
	} {
		got, err := c.by.Runner.MayReadWorkspaces(t.Context(), c.owner.User.ID, organization)
		fine(t, c.why, err)
		equal(t, c.why, got, c.want)
	}
}
