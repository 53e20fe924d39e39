package coder_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

// page cuts out what the request asks for.
func page[T any](r *http.Request, all []T) []T {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))]
}

func TestBuildsPages(t *testing.T) {
	id := uuid.New()
	builds := func(from, to int) (list []codersdk.WorkspaceBuild) {
		for number := from; number >= to; number-- {
			list = append(list, codersdk.WorkspaceBuild{ID: uuid.New(), WorkspaceID: id, BuildNumber: int32(number)})
		}
		return list
	}
	for _, c := range []struct {
		why      string
		listed   func(asked int) []codersdk.WorkspaceBuild
		want     int
		requests int
	}{
		{"one build", func(int) []codersdk.WorkspaceBuild { return builds(1, 1) }, 1, 1},
		{"exactly one page: the first build ends the list", func(int) []codersdk.WorkspaceBuild { return builds(3, 1) }, 3, 1},
		{"several pages", func(int) []codersdk.WorkspaceBuild { return builds(8, 1) }, 8, 3},
		{"builds added between pages repeat some and hide none", func(asked int) []codersdk.WorkspaceBuild { return builds(7+asked, 1) }, 8, 4},
	} {
		requests := 0
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			coders(w, 200, page(r, c.listed(requests)))
		}, coder.WithPageSize(3))
		got, err := runner.Builds(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		var numbers []int
		for _, build := range got {
			numbers = append(numbers, build.Number)
		}
		if len(numbers) != c.want || !slices.IsSorted(numbers) || numbers[0] != 1 || requests != c.requests {
			t.Errorf("%s: builds %v in %d requests, want %d builds from 1 on in %d", c.why, numbers, requests, c.want, c.requests)
		}
	}
}

func TestBuildsRefuse(t *testing.T) {
	id := uuid.New()
	for _, c := range []struct {
		why  string
		list []codersdk.WorkspaceBuild
	}{
		{"a list without the first build proves nothing", []codersdk.WorkspaceBuild{{ID: uuid.New(), WorkspaceID: id, BuildNumber: 2}}},
		{"no builds at all", nil},
		{"a build of another workspace", []codersdk.WorkspaceBuild{{ID: uuid.New(), WorkspaceID: uuid.New(), BuildNumber: 1}}},
	} {
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) { coders(w, 200, page(r, c.list)) })
		_, err := runner.Builds(t.Context(), id)
		if got := failureOf(t, err); got.Class != core.FailureMismatch {
			t.Errorf("%s: %v, want mismatch", c.why, got)
		}
	}
}

func TestOwnedWorkspacesPages(t *testing.T) {
	owner := core.User{ID: uuid.New(), Username: "tester"}
	var all []codersdk.Workspace
	for range 5 {
		workspace := sample(uuid.New(), 1)
		workspace.OwnerID = owner.ID
		all = append(all, workspace)
	}
	moved := []codersdk.Workspace{all[2], all[0], all[1], all[3], all[4]}
	for _, c := range []struct {
		why    string
		listed func(asked int) []codersdk.Workspace
		class  core.FailureClass
		fails  bool
	}{
		{"several pages", func(int) []codersdk.Workspace { return all }, 0, false},
		{"one that moves to an earlier page hides another: read again", func(asked int) []codersdk.Workspace {
			if asked == 2 {
				return moved
			}
			return all
		}, 0, false},
		{"a list that never stands still", func(asked int) []codersdk.Workspace {
			if asked%2 == 0 {
				return moved
			}
			return all
		}, core.FailureUnavailable, true},
	} {
		requests := 0
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			if q := r.URL.Query().Get("q"); q != "owner:tester" {
				t.Errorf("%s: asked for %q", c.why, q)
			}
			list := c.listed(requests)
			coders(w, 200, codersdk.WorkspacesResponse{Workspaces: page(r, list), Count: len(list)})
		}, coder.WithPageSize(2))
		got, err := runner.OwnedWorkspaces(t.Context(), owner)
		if c.fails {
			if failure := failureOf(t, err); failure.Class != c.class {
				t.Errorf("%s: %v, want %v", c.why, failure, c.class)
			}
			continue
		}
		if err != nil || len(got) != len(all) {
			t.Errorf("%s: %d workspaces, error %v; want %d", c.why, len(got), err, len(all))
		}
	}
}

func TestOwnedWorkspacesOfAnother(t *testing.T) {
	runner := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		coders(w, 200, codersdk.WorkspacesResponse{Workspaces: []codersdk.Workspace{sample(uuid.New(), 1)}, Count: 1})
	})
	_, err := runner.OwnedWorkspaces(t.Context(), core.User{ID: uuid.New(), Username: "tester"})
	if got := failureOf(t, err); got.Class != core.FailureMismatch {
		t.Errorf("%v, want mismatch", got)
	}
}

// A deleted workspace can have a delete build that is active or failed. Then only
// 410 tells; everything else is told by one request.
func TestWorkspaceDeleted(t *testing.T) {
	id := uuid.New()
	for _, c := range []struct {
		why        string
		transition codersdk.WorkspaceTransition
		status     codersdk.ProvisionerJobStatus
		plain      int
		deleted    bool
		requests   int
	}{
		{"a start build lives", "start", "succeeded", 200, false, 1},
		{"a stop build lives", "stop", "failed", 200, false, 1},
		{"a delete that succeeded is proof", "delete", "succeeded", 410, true, 1},
		{"a delete that runs on a live workspace", "delete", "running", 200, false, 2},
		{"a further delete that runs on a deleted workspace", "delete", "running", 410, true, 2},
		{"a further delete that failed", "delete", "failed", 410, true, 2},
	} {
		requests := 0
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			if r.URL.Query().Get("include_deleted") == "" && c.plain == 410 {
				coders(w, 410, says("deleted"))
				return
			}
			workspace := sample(id, 2)
			workspace.LatestBuild.Transition, workspace.LatestBuild.Job.Status = c.transition, c.status
			coders(w, 200, workspace)
		})
		got, err := runner.Workspace(t.Context(), id)
		if err != nil || got.Deleted != c.deleted || requests != c.requests {
			t.Errorf("%s: deleted %v in %d requests, error %v; want %v in %d", c.why, got.Deleted, requests, err, c.deleted, c.requests)
		}
	}
}

func TestIdentity(t *testing.T) {
	id, owner := uuid.New(), uuid.New()
	good := sample(id, 1)
	good.OwnerID = owner
	with := func(change func(*codersdk.Workspace)) codersdk.Workspace {
		workspace := good
		change(&workspace)
		return workspace
	}
	for _, c := range []struct {
		why    string
		answer codersdk.Workspace
		fine   bool
	}{
		{"as asked", good, true},
		{"case does not matter in names", with(func(w *codersdk.Workspace) { w.Name = "NAME" }), true},
		{"another name", with(func(w *codersdk.Workspace) { w.Name = "other" }), false},
		{"another owner", with(func(w *codersdk.Workspace) { w.OwnerID = uuid.New() }), false},
		{"a build of another workspace", with(func(w *codersdk.Workspace) { w.LatestBuild.WorkspaceID = uuid.New() }), false},
		{"no build", with(func(w *codersdk.Workspace) { w.LatestBuild = codersdk.WorkspaceBuild{} }), false},
	} {
		runner := serve(t, func(w http.ResponseWriter, _ *http.Request) { coders(w, 200, c.answer) })
		_, err := runner.FindWorkspace(t.Context(), owner, "name")
		if c.fine && err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if !c.fine && failureOf(t, err).Class != core.FailureMismatch {
			t.Errorf("%s: %v, want mismatch", c.why, err)
		}
	}
}

func TestCreateRequest(t *testing.T) {
	asked := core.CreateRequest{
		OwnerID: uuid.New(), OrganizationID: uuid.New(), TemplateID: uuid.New(), VersionID: uuid.New(), PresetID: uuid.New(),
		Name: "ktt-1", TTL: 7200e9, Parameters: []core.Parameter{{Name: "p", Value: "v"}},
	}
	made := func() codersdk.Workspace {
		workspace := sample(uuid.New(), 1)
		workspace.Name, workspace.OwnerID, workspace.OrganizationID = asked.Name, asked.OwnerID, asked.OrganizationID
		workspace.TemplateID, workspace.LatestBuild.TemplateVersionID = asked.TemplateID, asked.VersionID
		return workspace
	}
	for _, c := range []struct {
		why    string
		change func(*codersdk.Workspace)
		fine   bool
	}{
		{"as asked", func(*codersdk.Workspace) {}, true},
		{"a claimed prebuild has earlier builds", func(w *codersdk.Workspace) { w.LatestBuild.BuildNumber = 2 }, true},
		{"another name", func(w *codersdk.Workspace) { w.Name = "ktt-2" }, false},
		{"another owner", func(w *codersdk.Workspace) { w.OwnerID = uuid.New() }, false},
		{"another organization", func(w *codersdk.Workspace) { w.OrganizationID = uuid.New() }, false},
		{"another template", func(w *codersdk.Workspace) { w.TemplateID = uuid.New() }, false},
		{"another version", func(w *codersdk.Workspace) { w.LatestBuild.TemplateVersionID = uuid.New() }, false},
		{"another transition", func(w *codersdk.Workspace) { w.LatestBuild.Transition = "stop" }, false},
	} {
		var sent string
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 4096)
			n, _ := r.Body.Read(body)
			sent = string(body[:n])
			answer := made()
			c.change(&answer)
			coders(w, 201, answer)
		})
		_, err := runner.CreateWorkspace(t.Context(), asked)
		if c.fine && err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if !c.fine && failureOf(t, err).Class != core.FailureMismatch {
			t.Errorf("%s: %v, want mismatch", c.why, err)
		}
		for _, part := range []string{
			`"template_version_id":"` + asked.VersionID.String(), `"template_version_preset_id":"` + asked.PresetID.String(),
			`"name":"ktt-1"`, `"ttl_ms":7200000`, `"automatic_updates":"never"`, `"rich_parameter_values":[{"name":"p","value":"v"}]`,
		} {
			if !strings.Contains(sent, part) {
				t.Errorf("%s: sent %s, lacks %s", c.why, sent, part)
			}
		}
		if strings.Contains(sent, asked.TemplateID.String()) {
			t.Errorf("%s: sent the template's ID: %s", c.why, sent)
		}
	}
}
