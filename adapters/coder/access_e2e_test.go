package coder_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// accessTo dials a deployment with a token, which may be empty.
func accessTo(t *testing.T, bed *testbed.Bed, token core.Secret) ports.OperatorAccess {
	t.Helper()
	access, err := coder.AccessDialer()(core.Connection{URL: bed.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return access
}

// TestFirstUserOfARealDeployment makes the first user of a Coder that has none, as often as
// crashes may have it tried, and renews its token.
func TestFirstUserOfARealDeployment(t *testing.T) {
	bed := testbed.RequireEmpty(t)
	ctx := t.Context()
	nobody := accessTo(t, bed, core.Secret{})
	has := func(want bool) {
		t.Helper()
		if got, err := nobody.HasUsers(ctx); err != nil || got != want {
			t.Fatalf("the deployment has users: %v, error %v; want %v", got, err, want)
		}
	}
	has(false)
	first := core.FirstUser{Username: "assay", Email: "assay@example.test", Password: core.NewSecret("9f8a7b6c-not-a-word")}
	if _, err := nobody.LogIn(ctx, first); failureOf(t, err).Class != core.FailureUnauthorized {
		t.Errorf("before there is a user a login ends with %v", err)
	}
	if err := nobody.CreateFirstUser(ctx, first); err != nil {
		t.Fatal(err)
	}
	has(true)
	if err := nobody.CreateFirstUser(ctx, first); failureOf(t, err).Class != core.FailureConflict {
		t.Errorf("a second first user ends with %v", err)
	}
	wrong := first
	wrong.Password = core.NewSecret("another")
	if _, err := nobody.LogIn(ctx, wrong); failureOf(t, err).Class != core.FailureUnauthorized {
		t.Errorf("a wrong password ends with %v", err)
	}
	session, err := nobody.LogIn(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	in := accessTo(t, bed, session)
	other := uuid.New()
	got, err := in.Access(ctx, other)
	if err != nil || got.User.Username != "assay" || len(got.Denied) > 0 || !got.Refreshes {
		t.Errorf("a session gives %+v, error %v", got, err)
	}
	token, err := in.NewToken(ctx, "assay-operator-1", 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, err = accessTo(t, bed, token).Access(ctx, uuid.Nil)
	if left := time.Until(got.ExpiresAt); err != nil || got.Refreshes || left < 47*time.Hour || left > 49*time.Hour {
		t.Errorf("a token gives %+v with %s left, error %v", got, left, err)
	}
	if _, err := in.NewToken(ctx, "assay-operator-1", 48*time.Hour); failureOf(t, err).Class != core.FailureConflict {
		t.Errorf("a name that is taken ends with %v", err)
	}
	if long, err := in.NewToken(ctx, "assay-operator-2", 100*365*24*time.Hour); err != nil || long.Empty() {
		t.Errorf("a lifetime beyond the longest ends with %v, not with the longest", err)
	}
}

// TestAccessOfAPlainMember tells what a member may do with its own and others' workspaces.
func TestAccessOfAPlainMember(t *testing.T) {
	bed := testbed.Require(t)
	user, err := bed.CreateUser(t.Context(), testbed.UserOptions{Activate: true})
	if err != nil {
		t.Fatal(err)
	}
	access := accessTo(t, bed, core.NewSecret(user.Token))
	if got, err := access.Access(t.Context(), user.ID); err != nil || len(got.Denied) > 0 || got.User.ID != user.ID || got.ExpiresAt.IsZero() {
		t.Errorf("its own workspaces: %+v, error %v", got, err)
	}
	if got, err := access.Access(t.Context(), bed.OwnerID); err != nil || strings.Join(got.Denied, " ") != "create read delete" {
		t.Errorf("another's workspaces: %+v, error %v", got, err)
	}
	if _, err := accessTo(t, bed, core.NewSecret("no-token")).Access(t.Context(), user.ID); failureOf(t, err).Class != core.FailureUnauthorized {
		t.Errorf("a wrong token ends with %v", err)
	}
}
