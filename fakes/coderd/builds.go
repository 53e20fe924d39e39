package coderd

import (
	"net/http"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) buildRoutes() map[string]handler {
	return map[string]handler{
		"GET /workspaces/{workspace}/builds":    s.builds,
		"POST /workspaces/{workspace}/builds":   s.createBuild,
		"GET /workspacebuilds/{build}":          s.build,
		"PATCH /workspacebuilds/{build}/cancel": s.cancel,
		"GET /workspacebuilds/{build}/logs":     s.buildLog,
		"GET /workspaceagents/{agent}":          s.agent,
		"GET /workspaceagents/{agent}/logs":     s.agentLogs,
	}
}

func (s *Server) builds(r request) (int, any, error) {
	id, err := r.id("workspace")
	if err != nil {
		return 0, nil, err
	}
	all, err := s.world.Builds(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.WorkspaceBuild{}
	for _, b := range page(r, all) {
		answer = append(answer, toBuild(b))
	}
	return http.StatusOK, answer, nil
}

func (s *Server) createBuild(r request) (int, any, error) {
	id, err := r.id("workspace")
	if err != nil {
		return 0, nil, err
	}
	asked, err := body[codersdk.CreateWorkspaceBuildRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	switch asked.Transition {
	case codersdk.WorkspaceTransitionStart, codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionDelete:
	default:
		return 0, nil, &world.Error{Kind: world.Invalid, Message: "Validation failed.", Fields: []world.FieldError{
			{Field: "transition", Detail: "must be one of start, stop, delete"},
		}}
	}
	b, err := s.world.CreateBuild(r.actor, id, world.CreateBuild{
		Transition: core.Transition(asked.Transition), Version: asked.TemplateVersionID, Parameters: toValues(asked.RichParameterValues),
	})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, toBuild(b), nil
}

func (s *Server) build(r request) (int, any, error) {
	id, err := r.id("build")
	if err != nil {
		return 0, nil, err
	}
	b, err := s.world.Build(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, toBuild(b), nil
}

func (s *Server) buildByNumber(r request) (int, any, error) {
	b, err := s.world.BuildByNumber(r.actor, s.userOf(r), r.PathValue("name"), r.PathValue("number"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, toBuild(b), nil
}

func (s *Server) cancel(r request) (int, any, error) {
	id, err := r.id("build")
	if err != nil {
		return 0, nil, err
	}
	err = s.world.CancelBuild(r.actor, id, core.JobStatus(r.URL.Query().Get("expect_status")))
	return http.StatusOK, codersdk.Response{Message: "Job has been marked as canceled..."}, err
}

func (s *Server) buildLog(r request) (int, any, error) {
	id, err := r.id("build")
	if err != nil {
		return 0, nil, err
	}
	return jobLog(r, "Applying resources", func() ([]world.LogLine, error) { return s.world.BuildLog(r.actor, id) })
}

func (s *Server) agent(r request) (int, any, error) {
	id, err := r.id("agent")
	if err != nil {
		return 0, nil, err
	}
	a, err := s.world.Agent(r.actor, id)
	if err != nil {
		return 0, nil, err
	}
	scripts, err := s.world.AgentScripts(r.actor, id)
	answer := toAgent(a, uuid.Nil)
	for _, script := range scripts {
		answer.LogSources = append(answer.LogSources, codersdk.WorkspaceAgentLogSource{
			WorkspaceAgentID: id, ID: script.ID, CreatedAt: a.CreatedAt, DisplayName: script.DisplayName,
		})
	}
	return http.StatusOK, answer, err
}

func (s *Server) agentLogs(r request) (int, any, error) {
	id, err := r.id("agent")
	if err != nil {
		return 0, nil, err
	}
	scripts, err := s.world.AgentScripts(r.actor, id)
	answer := []codersdk.WorkspaceAgentLog{}
	for _, script := range scripts {
		for _, line := range script.Lines {
			answer = append(answer, codersdk.WorkspaceAgentLog{
				ID: int64(len(answer) + 1), CreatedAt: line.At, Output: line.Text, Level: codersdk.LogLevelInfo, SourceID: script.ID,
			})
		}
	}
	return http.StatusOK, answer, err
}

func toBuild(b world.Build) codersdk.WorkspaceBuild {
	build := codersdk.WorkspaceBuild{
		ID: b.ID, CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, WorkspaceID: b.Workspace, WorkspaceName: b.WorkspaceName,
		WorkspaceOwnerID: b.Owner.ID, WorkspaceOwnerName: b.Owner.Username, TemplateVersionID: b.Version, TemplateVersionName: b.VersionName,
		BuildNumber: int32(b.Number), Transition: codersdk.WorkspaceTransition(b.Transition), InitiatorID: b.Initiator.ID,
		InitiatorUsername: b.Initiator.Username, Job: toJob(b.Job, b.Organization, codersdk.ProvisionerJobTypeWorkspaceBuild),
		Reason: codersdk.BuildReasonInitiator, Resources: []codersdk.WorkspaceResource{},
		Status:              codersdk.ConvertWorkspaceStatus(codersdk.ProvisionerJobStatus(b.Job.Status), codersdk.WorkspaceTransition(b.Transition)),
		MatchedProvisioners: &codersdk.MatchedProvisioners{Count: b.Job.Provisioners, Available: b.Job.Provisioners},
	}
	if b.Automatic {
		build.Reason = codersdk.BuildReasonAutostop
	}
	if b.Preset != uuid.Nil {
		build.TemplateVersionPresetID = &b.Preset
	}
	if b.Resource == uuid.Nil {
		return build
	}
	resource := codersdk.WorkspaceResource{
		ID: b.Resource, CreatedAt: b.Job.CompletedAt, JobID: b.Job.ID, Transition: codersdk.WorkspaceTransition(b.Transition),
		Type: "terraform_data", Name: "workspace",
	}
	for _, a := range b.Agents {
		resource.Agents = append(resource.Agents, toAgent(a, b.Resource))
	}
	build.Resources = append(build.Resources, resource)
	return build
}

func toJob(j world.Job, organization uuid.UUID, kind codersdk.ProvisionerJobType) codersdk.ProvisionerJob {
	return codersdk.ProvisionerJob{
		ID: j.ID, CreatedAt: j.CreatedAt, StartedAt: pointer(j.StartedAt), CompletedAt: pointer(j.CompletedAt), CanceledAt: pointer(j.CanceledAt),
		Error: j.Error, ErrorCode: codersdk.JobErrorCode(j.ErrorCode), Status: codersdk.ProvisionerJobStatus(j.Status), Tags: j.Tags,
		OrganizationID: organization, Type: kind,
	}
}

func toAgent(a world.Agent, resource uuid.UUID) codersdk.WorkspaceAgent {
	return codersdk.WorkspaceAgent{
		ID: a.ID, ParentID: uuid.NullUUID{UUID: a.Parent, Valid: a.Parent != uuid.Nil}, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
		Status: codersdk.WorkspaceAgentStatus(a.Status), LifecycleState: codersdk.WorkspaceAgentLifecycle(a.Lifecycle), Name: a.Name,
		ResourceID: resource, Architecture: "amd64", OperatingSystem: "linux", Version: world.Version,
		ConnectionTimeoutSeconds: int32(a.ConnectionTimeout / time.Second), Apps: []codersdk.WorkspaceApp{},
		Health: codersdk.WorkspaceAgentHealth{Healthy: a.Status == core.AgentConnected}, LogSources: []codersdk.WorkspaceAgentLogSource{},
		Scripts: []codersdk.WorkspaceAgentScript{},
	}
}

func pointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
