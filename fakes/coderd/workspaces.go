package coderd

import (
	"net/http"
	"strings"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) workspaceRoutes() map[string]handler {
	return map[string]handler{
		"POST /users/{user}/workspaces":                      s.createWorkspace,
		"GET /users/{user}/workspace/{name}":                 s.workspaceByName,
		"GET /users/{user}/workspace/{name}/builds/{number}": s.buildByNumber,
		"GET /workspaces":                                    s.workspaces,
		"GET /workspaces/{workspace}":                        s.workspace,
	}
}

func (s *Server) createWorkspace(r request) (int, any, error) {
	owner := s.userOf(r)
	asked, err := body[codersdk.CreateWorkspaceRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	if (asked.TemplateID == uuid.Nil) == (asked.TemplateVersionID == uuid.Nil) {
		return 0, nil, &world.Error{Kind: world.Invalid, Message: "Validation failed.", Fields: []world.FieldError{
			{Field: "template_id", Detail: "exactly one of template_id and template_version_id is needed"},
		}}
	}
	spec := world.CreateWorkspace{
		Owner: owner, Template: asked.TemplateID, Version: asked.TemplateVersionID, Name: asked.Name,
		Preset: asked.TemplateVersionPresetID, AutomaticUpdates: string(asked.AutomaticUpdates),
		Parameters: toValues(asked.RichParameterValues),
	}
	if asked.TTLMillis != nil {
		spec.TTL = time.Duration(*asked.TTLMillis) * time.Millisecond
	}
	ws, err := s.world.CreateWorkspace(r.actor, spec)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, toWorkspace(ws), nil
}

func toValues(asked []codersdk.WorkspaceBuildParameter) []world.ParameterValue {
	var values []world.ParameterValue
	for _, p := range asked {
		values = append(values, world.ParameterValue{Name: p.Name, Value: p.Value})
	}
	return values
}

func (s *Server) workspaceByName(r request) (int, any, error) {
	includeDeleted, err := r.flag("include_deleted")
	if err != nil {
		return 0, nil, err
	}
	ws, err := s.world.WorkspaceByName(r.actor, s.userOf(r), r.PathValue("name"), includeDeleted)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, toWorkspace(ws), nil
}

func (s *Server) workspace(r request) (int, any, error) {
	id, err := r.id("workspace")
	if err != nil {
		return 0, nil, err
	}
	includeDeleted, err := r.flag("include_deleted")
	if err != nil {
		return 0, nil, err
	}
	ws, err := s.world.Workspace(r.actor, id, includeDeleted)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, toWorkspace(ws), nil
}

// workspaces knows the filters owner: and name:, the latter a substring; any other one
// is refused, as Coder refuses those that it does not know.
func (s *Server) workspaces(r request) (int, any, error) {
	owner, name := r.URL.Query().Get("owner"), ""
	for _, filter := range strings.Fields(r.URL.Query().Get("q")) {
		key, value, _ := strings.Cut(filter, ":")
		switch key {
		case "owner":
			owner = strings.Trim(value, `"`)
		case "name":
			name = strings.ToLower(strings.Trim(value, `"`))
		default:
			return 0, nil, &world.Error{
				Kind: world.Invalid, Message: "Invalid workspace search query.",
				Fields: []world.FieldError{{Field: key, Detail: "\"" + key + "\" is not a valid query param"}},
			}
		}
	}
	found := []world.Workspace{}
	for _, ws := range s.world.Workspaces(r.actor, owner) {
		if strings.Contains(strings.ToLower(ws.Name), name) {
			found = append(found, ws)
		}
	}
	answer := codersdk.WorkspacesResponse{Workspaces: []codersdk.Workspace{}, Count: len(found)}
	for _, ws := range page(r, found) {
		answer.Workspaces = append(answer.Workspaces, toWorkspace(ws))
	}
	return http.StatusOK, answer, nil
}

func toWorkspace(ws world.Workspace) codersdk.Workspace {
	workspace := codersdk.Workspace{
		ID: ws.ID, CreatedAt: ws.CreatedAt, UpdatedAt: ws.UpdatedAt, OwnerID: ws.Owner.ID, OwnerName: ws.Owner.Username,
		OrganizationID: ws.Organization.ID, OrganizationName: ws.Organization.Name,
		TemplateID: ws.Template.ID, TemplateName: ws.Template.Name, TemplateDisplayName: ws.Template.Name,
		TemplateAllowUserCancelWorkspaceJobs: !ws.Template.ForbidCancel, TemplateActiveVersionID: ws.Template.ActiveVersion,
		TemplateUseClassicParameterFlow: ws.Template.Classic, Outdated: ws.Latest.Version != ws.Template.ActiveVersion,
		LatestBuild: toBuild(ws.Latest), Name: ws.Name, LastUsedAt: ws.CreatedAt,
		AutomaticUpdates: codersdk.AutomaticUpdates(ws.AutomaticUpdates), IsPrebuild: ws.Prebuild, Health: health(ws.Latest),
	}
	if ws.TTL > 0 {
		ms := ws.TTL.Milliseconds()
		workspace.TTLMillis = &ms
	}
	return workspace
}

// health is what Coder says of a workspace: that of its agents' connections, true
// without agents, and no sign of what their scripts do (seen).
func health(b world.Build) codersdk.WorkspaceHealth {
	health := codersdk.WorkspaceHealth{Healthy: true, FailingAgents: []uuid.UUID{}}
	for _, a := range b.Agents {
		if a.Status == core.AgentTimeout || a.Status == core.AgentDisconnected {
			health.Healthy = false
			health.FailingAgents = append(health.FailingAgents, a.ID)
		}
	}
	return health
}
