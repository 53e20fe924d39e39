package coder_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestFindUser(t *testing.T) {
	const id = "6f0c2d9e-0000-4000-8000-000000000001"
	found := map[string]any{
		"id": id, "username": "Tester", "status": "active", "login_type": "password",
		"roles": []map[string]string{{"name": "owner"}},
	}
	runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/api/v2/users/tester", "/api/v2/users/me", "/api/v2/users/" + id:
			coders(w, http.StatusOK, found)
		case "/api/v2/users/a%2Fb":
			coders(w, http.StatusNotFound, says("Resource not found or you do not have access to this resource"))
		default:
			t.Errorf("unexpected request for %s", r.URL.EscapedPath())
		}
	})

	user, err := runner.FindUser(t.Context(), "tester")
	if err != nil {
		t.Fatal(err)
	}
	if user.ID != uuid.MustParse(id) || user.Username != "Tester" || user.Status != "active" {
		t.Errorf("found %+v", user)
	}
	if len(user.SiteRoles) != 0 {
		t.Errorf("roles %v are told; what is only half read must not be judged", user.SiteRoles)
	}
	for _, row := range []struct {
		username string
		want     core.FailureClass
		reason   string
	}{
		{"me", core.FailureMismatch, "coder's alias for the operator user is nobody's name"},
		{id, core.FailureMismatch, "coder takes IDs here too"},
		{"a/b", core.FailureNotFound, "a name stays one part of the path"},
	} {
		_, err := runner.FindUser(t.Context(), row.username)
		if got := failureOf(t, err).Class; got != row.want {
			t.Errorf("find %q: %v, want %v: %s", row.username, got, row.want, row.reason)
		}
	}
}
