package coder_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

// TestEveryRequestIsObservedByItsRoute asks for everything there is, with names and IDs
// that must not turn up.
func TestEveryRequestIsObservedByItsRoute(t *testing.T) {
	const name = "named-by-somebody"
	id := uuid.New()
	seen := map[string]bool{}
	runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// The lists of what a lookup needs first are there; the rest is not found.
		switch {
		case strings.HasSuffix(r.URL.Path, "/users/"+id.String()):
			coders(w, http.StatusOK, map[string]any{"id": id, "username": name})
		case strings.HasSuffix(r.URL.Path, "/roles"):
			coders(w, http.StatusOK, map[string]any{"roles": []string{}, "organization_roles": map[string]any{}})
		case strings.HasSuffix(r.URL.Path, "/workspaceagents/"+id.String()):
			coders(w, http.StatusOK, map[string]any{"id": id, "log_sources": []any{}})
		case strings.HasSuffix(r.URL.Path, "/presets"):
			coders(w, http.StatusOK, []any{})
		default:
			coders(w, http.StatusNotFound, says("not here"))
		}
	}, coder.WithObserver(func(method, route string, status int, took time.Duration) {
		if took < 0 || status != http.StatusOK && status != http.StatusNotFound {
			t.Errorf("%s %s: status %d after %s", method, route, status, took)
		}
		seen[method+" "+route] = true
	}))
	ctx := t.Context()
	_, _ = runner.Deployment(ctx)
	_, _ = runner.Operator(ctx)
	_, _ = runner.Owner(ctx, id)
	_, _ = runner.FindUser(ctx, name)
	_, _ = runner.Organization(ctx, name)
	_, _ = runner.Template(ctx, id, name)
	_, _ = runner.VersionByName(ctx, id, name)
	_, _ = runner.Version(ctx, id)
	for _, classic := range []bool{true, false} {
		_, _ = runner.CheckParameters(ctx, core.ParameterQuery{VersionID: id, OwnerID: id, Classic: classic, Preset: name})
		_, _ = runner.CheckParameters(ctx, core.ParameterQuery{VersionID: id, OwnerID: id, Classic: classic})
	}
	_, _ = runner.ExternalAuth(ctx, id, id)
	_, _ = runner.FindWorkspace(ctx, id, name)
	_, _ = runner.Workspace(ctx, id)
	_, _ = runner.Builds(ctx, id)
	_, _ = runner.OwnedWorkspaces(ctx, core.User{ID: id, Username: name})
	_, _ = runner.MayReadWorkspaces(ctx, id, id)
	_, _ = runner.CreateWorkspace(ctx, core.CreateRequest{OwnerID: id, VersionID: id, Name: name})
	_ = runner.CancelBuild(ctx, id, core.JobRunning)
	_, _ = runner.DeleteWorkspace(ctx, id)
	_ = runner.WatchWorkspace(ctx, id, func(core.Workspace) {})
	_, _ = runner.BuildLog(ctx, id, 100)
	_, _ = runner.AgentLogs(ctx, id, 100)
	for _, want := range []string{
		"GET /buildinfo", "GET /users/{user}", "GET /users/{user}/roles", "GET /users/{user}/organizations", "GET /organizations/{organization}",
		"GET /organizations/{organization}/templates/{template}", "GET /templates/{template}/versions/{version}", "GET /templateversions/{version}",
		"GET /templateversions/{version}/rich-parameters", "POST /templateversions/{version}/dynamic-parameters/evaluate",
		"GET /templateversions/{version}/presets", "GET /templateversions/{version}/external-auth", "GET /users/{user}/workspace/{workspace}",
		"GET /workspaces/{workspace}", "GET /workspaces/{workspace}/builds", "GET /workspaces", "POST /authcheck", "POST /users/{user}/workspaces",
		"PATCH /workspacebuilds/{build}/cancel", "POST /workspaces/{workspace}/builds", "GET /workspaces/{workspace}/watch",
		"GET /workspacebuilds/{build}/logs", "GET /workspaceagents/{agent}", "GET /workspaceagents/{agent}/logs",
	} {
		if !seen[want] {
			t.Errorf("%s is not observed", want)
		}
		delete(seen, want)
	}
	for other := range seen {
		t.Errorf("%s is not a route that is known", other)
	}
}

func TestARequestWithoutAnAnswerIsObserved(t *testing.T) {
	var status []int
	runner := dial(t, core.Connection{URL: "http://127.0.0.1:1", Token: core.NewSecret("the-token")},
		coder.WithObserver(func(_, _ string, got int, _ time.Duration) { status = append(status, got) }))
	if _, err := runner.Deployment(t.Context()); err == nil {
		t.Fatal("nobody listens there")
	}
	if len(status) == 0 || status[0] != 0 {
		t.Errorf("observed %v, want 0 for no answer", status)
	}
}
