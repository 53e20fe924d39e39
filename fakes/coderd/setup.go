package coderd

import (
	"encoding/json"
	"net/http"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/fakes/world"
)

func (s *Server) provisioners(r request) (int, any, error) {
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	if err != nil {
		return 0, nil, err
	}
	var tags map[string]string
	if asked := r.URL.Query().Get("tags"); asked != "" {
		if err := json.Unmarshal([]byte(asked), &tags); err != nil {
			return 0, nil, &world.Error{Kind: world.Invalid, Message: "Invalid query parameters.", Fields: []world.FieldError{
				{Field: "tags", Detail: `Query param "tags" must be a valid JSON object: ` + err.Error()},
			}}
		}
	}
	offline, err := r.flag("offline")
	if err != nil {
		return 0, nil, err
	}
	daemons, err := s.world.Provisioners(r.actor, org.ID, tags)
	if err != nil {
		return 0, nil, err
	}
	answer := []codersdk.ProvisionerDaemon{}
	for _, daemon := range daemons {
		status := codersdk.ProvisionerDaemonStatus(daemon.Status)
		if status == codersdk.ProvisionerDaemonOffline && !offline {
			continue
		}
		answer = append(answer, codersdk.ProvisionerDaemon{
			ID: daemon.ID, OrganizationID: org.ID, Name: daemon.Name, Version: world.Version, Tags: daemon.Tags, Status: &status,
			Provisioners: []codersdk.ProvisionerType{codersdk.ProvisionerTypeTerraform},
		})
	}
	return http.StatusOK, page(r, answer), nil
}

func (s *Server) quota(r request) (int, any, error) {
	org, err := s.world.Organization(r.actor, r.PathValue("organization"))
	if err != nil {
		return 0, nil, err
	}
	quota, err := s.world.Quota(r.actor, org.ID, s.userOf(r))
	return http.StatusOK, codersdk.WorkspaceQuota{CreditsConsumed: quota.Consumed, Budget: quota.Limit}, err
}
