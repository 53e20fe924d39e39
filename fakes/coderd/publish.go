package coderd

import (
	"cmp"
	"io"
	"net/http"
	"strconv"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) publishRoutes() map[string]handler {
	return map[string]handler{
		"POST /files": s.upload,
		"POST /organizations/{organization}/templateversions": s.createVersion,
		"POST /organizations/{organization}/templates":        s.createTemplate,
		"PATCH /templates/{template}/versions":                s.promote,
		"GET /templateversions/{version}/logs":                s.importLog,
		"PATCH /templateversions/{version}/cancel":            s.cancelImport,
		"POST /templateversions/{version}/archive":            s.archive(true),
		"POST /templateversions/{version}/unarchive":          s.archive(false),
	}
}

func (s *Server) upload(r request) (int, any, error) {
	if kind := r.Header.Get("Content-Type"); kind != codersdk.ContentTypeTar && kind != codersdk.ContentTypeZip {
		return 0, nil, &world.Error{Kind: world.Invalid, Message: "Unsupported content type header \"" + kind + "\"."}
	}
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil, &world.Error{Kind: world.Invalid, Message: "Failed to read file from request.", Detail: err.Error()}
	}
	return http.StatusCreated, codersdk.UploadResponse{ID: s.world.UploadFile(r.actor, content)}, nil
}

func (s *Server) createVersion(r request) (int, any, error) {
	asked, err := body[codersdk.CreateTemplateVersionRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	request := world.PublishVersion{
		Organization: r.PathValue("organization"), Template: asked.TemplateID, Name: asked.Name, Message: asked.Message,
		File: asked.FileID, Tags: asked.ProvisionerTags,
	}
	for _, variable := range asked.UserVariableValues {
		request.Variables = append(request.Variables, variable.Name)
	}
	v, err := s.world.PublishVersion(r.actor, request)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, toVersion(v), nil
}

// importLog does not follow: that takes a websocket.
func (s *Server) importLog(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	return jobLog(r, "Detecting persistent resources", func() ([]world.LogLine, error) { return s.world.ImportLog(r.actor, id) })
}

// jobLog is the log of a provisioner job, of which the query can ask for the lines after
// one.
func jobLog(r request, stage string, read func() ([]world.LogLine, error)) (int, any, error) {
	after, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("after"), "0"))
	if err != nil {
		return 0, nil, &world.Error{Kind: world.Invalid, Message: "Query param \"after\" must be an integer."}
	}
	lines, err := read()
	answer := []codersdk.ProvisionerJobLog{}
	for i, line := range lines {
		if i >= after {
			answer = append(answer, codersdk.ProvisionerJobLog{
				ID: int64(i + 1), CreatedAt: line.At, Source: codersdk.LogSourceProvisioner, Level: codersdk.LogLevelInfo,
				Stage: stage, Output: line.Text,
			})
		}
	}
	return http.StatusOK, answer, err
}

func (s *Server) cancelImport(r request) (int, any, error) {
	id, err := r.id("version")
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, codersdk.Response{Message: "Job has been marked as canceled..."}, s.world.CancelImport(r.actor, id)
}

func (s *Server) createTemplate(r request) (int, any, error) {
	asked, err := body[codersdk.CreateTemplateRequest](r.Request)
	if err != nil {
		return 0, nil, err
	}
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	if err != nil {
		return 0, nil, err
	}
	t, err := s.world.CreateTemplate(r.actor, org.ID, world.TemplateSpec{
		Name: asked.Name, Classic: asked.UseClassicParameterFlow != nil && *asked.UseClassicParameterFlow,
		ForbidCancel: asked.AllowUserCancelWorkspaceJobs != nil && !*asked.AllowUserCancelWorkspaceJobs,
	}, asked.VersionID)
	return http.StatusCreated, toTemplate(t), err
}

func (s *Server) promote(r request) (int, any, error) {
	template, err := r.id("template")
	if err != nil {
		return 0, nil, err
	}
	asked, err := body[codersdk.UpdateActiveTemplateVersion](r.Request)
	if err != nil {
		return 0, nil, err
	}
	err = s.world.Promote(r.actor, template, asked.ID)
	return http.StatusOK, codersdk.Response{Message: "Updated the active template version!"}, err
}

func (s *Server) archive(archived bool) handler {
	return func(r request) (int, any, error) {
		id, err := r.id("version")
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, "template version " + id.String(), s.world.SetArchived(r.actor, id, archived)
	}
}
