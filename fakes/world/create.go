package world

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// CreateWorkspace asks for a new workspace.
type CreateWorkspace struct {
	Owner uuid.UUID
	// Template is needed only without Version, and then means its active version.
	Template   uuid.UUID
	Version    uuid.UUID
	Name       string
	Parameters []ParameterValue
	// Preset is uuid.Nil for none. A prebuilt workspace of it is claimed if there is
	// one.
	Preset uuid.UUID
	// TTL stops the workspace this long after a start build; 0 for never.
	TTL time.Duration
	// AutomaticUpdates is "always" or "never", the default.
	AutomaticUpdates string
}

// CreateWorkspace makes a workspace with its first start build, or claims a prebuilt
// one.
func (w *World) CreateWorkspace(actor uuid.UUID, request CreateWorkspace) (Workspace, error) {
	w.lock()
	defer w.unlock()
	return w.createWorkspace(actor, request, false)
}

func (w *World) createWorkspace(actor uuid.UUID, request CreateWorkspace, byPeople bool) (Workspace, error) {
	change := Change{Actor: actor, ByPeople: byPeople, Op: "create", Name: request.Name, Version: request.Version}
	ws, refused := w.tryCreate(actor, request, &change)
	w.record(change, refused)
	if refused != nil {
		return Workspace{}, refused
	}
	return w.workspaceView(ws), nil
}

// tryCreate checks in Coder's own order (source).
func (w *World) tryCreate(actor uuid.UUID, request CreateWorkspace, change *Change) (*workspace, *Error) {
	owner := w.user(request.Owner)
	if owner == nil || !w.mayReadMember(actor, owner) {
		return nil, notFound()
	}
	change.Owner = owner.id
	if !nameValid(request.Name) {
		return nil, invalidField("name", fmt.Sprintf("Validation failed for tag \"workspace_name\" with value: %q", request.Name))
	}
	v, t, refused := w.requestedVersion(actor, request)
	if refused != nil {
		return nil, refused
	}
	change.Version = v.id
	if refused := w.mayCreate(actor, owner, t, v); refused != nil {
		return nil, refused
	}
	if request.TTL != 0 && (request.TTL < time.Minute || request.TTL > 30*24*time.Hour) {
		return nil, &Error{
			Kind: Invalid, Message: "Invalid Workspace Time to Shutdown.",
			Fields: []FieldError{{"ttl_ms", "time until shutdown must be at least one minute and less than 30 days"}},
		}
	}
	if w.liveNamed(owner.id, request.Name) != nil {
		return nil, &Error{
			Kind: Conflict, Message: fmt.Sprintf("Workspace %q already exists.", request.Name),
			Fields: []FieldError{{"name", "This value is already in use and should be unique."}},
		}
	}
	if refused := v.buildable(t); refused != nil {
		return nil, refused
	}
	preset := v.preset(request.Preset)
	if preset == nil {
		preset = v.matchingPreset(request.Parameters)
	}
	parameters, refused := v.resolve(t.classic, request.Parameters, preset)
	if refused != nil {
		return nil, refused
	}
	ws := w.claimable(v, preset)
	if ws != nil {
		ws.owner, ws.name, ws.preset = owner.id, request.Name, uuid.Nil
	} else {
		ws = w.addWorkspace(owner.id, t, request.Name)
	}
	ws.ttl, ws.automaticUpdates = request.TTL, orElse(request.AutomaticUpdates, "never")
	b := w.addBuild(ws, v, core.TransitionStart, actor, parameters)
	if preset != nil {
		b.preset = preset.ID
	}
	change.Workspace, change.Build = ws.id, b.id
	return ws, nil
}

func (w *World) requestedVersion(actor uuid.UUID, request CreateWorkspace) (*version, *template, *Error) {
	if request.Version == uuid.Nil {
		t := w.template(request.Template)
		if t == nil || !w.mayReadTemplate(actor, t) {
			return nil, nil, &Error{
				Kind: Invalid, Message: fmt.Sprintf("Template %q doesn't exist.", request.Template),
				Fields: []FieldError{{"template_id", "template not found"}},
			}
		}
		request.Version = t.active
	}
	v := w.readableVersion(actor, request.Version)
	if v == nil {
		return nil, nil, &Error{
			Kind: Invalid, Message: fmt.Sprintf("Template version %q doesn't exist.", request.Version),
			Fields: []FieldError{{"template_version_id", "template not found"}},
		}
	}
	if v.archived {
		return nil, nil, &Error{
			Kind: Internal, Message: "Archived template versions cannot be used to make a workspace.",
			Fields: []FieldError{{"template_version_id", "template version archived"}},
		}
	}
	t := w.template(v.template)
	switch {
	case t == nil || !w.mayReadTemplate(actor, t):
		return nil, nil, &Error{
			Kind: Invalid, Message: fmt.Sprintf("Template %q doesn't exist.", v.template),
			Fields: []FieldError{{"template_id", "template not found"}},
		}
	case t.deleted:
		return nil, nil, refuse(NotFound, "Template %q has been deleted!", t.name)
	}
	return v, t, nil
}

func (w *World) mayCreate(actor uuid.UUID, owner *user, t *template, v *version) *Error {
	if !w.mayChangeWorkspaces(actor, owner.id, t.organization) {
		return &Error{
			Kind: Forbidden, Message: "Unauthorized to create workspace.",
			Detail: "You are unable to create a workspace in this organization.",
		}
	}
	if t.deprecated != "" {
		return &Error{
			Kind:    Invalid,
			Message: fmt.Sprintf("Template %q has been deprecated, and cannot be used to create a new workspace.", t.name),
			Detail:  t.deprecated,
		}
	}
	for _, auth := range w.externalAuths(v, owner.id) {
		if !auth.Optional && !auth.Authenticated {
			return &Error{
				Kind: Forbidden, Message: "External authentication is required to create a workspace with this template.",
				Fields: []FieldError{{"external_auth", auth.Provider}},
			}
		}
	}
	return nil
}

// buildable refuses versions of other templates and versions whose import did not
// succeed.
func (v *version) buildable(t *template) *Error {
	if v.template != t.id {
		return refuse(Invalid, "template version doesn't match template")
	}
	switch status := v.job.status(); status {
	case core.JobPending, core.JobRunning:
		return refuse(NotAcceptable, "The provided template version is %s. Wait for it to complete importing!", status)
	case core.JobFailed, core.JobCanceled:
		return refuse(Invalid, "The provided template version %q has failed to import: %q. You cannot build workspaces with it!", v.name, v.job.errorText)
	default:
		return nil
	}
}

func (w *World) addWorkspace(owner uuid.UUID, t *template, name string) *workspace {
	ws := &workspace{
		id: w.newID(idWorkspace), name: name, owner: owner, organization: t.organization, template: t.id,
		automaticUpdates: "never", created: w.stamp(), updated: w.stamp(),
	}
	w.workspaces = append(w.workspaces, ws)
	w.workspaceByID[ws.id] = ws
	return ws
}

// claimable finds a prebuilt workspace of the preset that is ready to be claimed.
func (w *World) claimable(v *version, preset *Preset) *workspace {
	if preset == nil {
		return nil
	}
	for _, ws := range w.workspaces {
		if !ws.deleted && ws.preset == preset.ID && ws.latest().version == v && ws.latest().job.status() == core.JobSucceeded {
			return ws
		}
	}
	return nil
}
