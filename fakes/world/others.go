package world

import (
	"strings"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// People is what others do to the deployment while a test runs. Their requests are in
// Changes, marked, and not counted in Requests.
type People struct {
	w     *World
	actor uuid.UUID
}

// People acts as the given user. For uuid.Nil it acts as "somebody", a site owner who
// is made when first needed.
func (w *World) People(actor uuid.UUID) People {
	w.lock()
	defer w.unlock()
	if actor == uuid.Nil {
		if w.somebody == uuid.Nil {
			w.somebody = w.addUser(UserSpec{Username: "somebody", SiteRoles: []string{RoleOwner}}).id
			w.users[w.somebody].system = true
		}
		actor = w.somebody
	}
	return People{w: w, actor: actor}
}

// Delete starts a delete build.
func (p People) Delete(workspace uuid.UUID) (Build, error) {
	return p.build(workspace, CreateBuild{Transition: core.TransitionDelete})
}

// Stop starts a stop build.
func (p People) Stop(workspace uuid.UUID) (Build, error) {
	return p.build(workspace, CreateBuild{Transition: core.TransitionStop})
}

// Start starts a start build of the version, or of the latest build's for uuid.Nil.
func (p People) Start(workspace, version uuid.UUID) (Build, error) {
	return p.build(workspace, CreateBuild{Transition: core.TransitionStart, Version: version})
}

func (p People) build(workspace uuid.UUID, request CreateBuild) (Build, error) {
	p.w.lock()
	defer p.w.unlock()
	return p.w.createBuild(p.actor, workspace, request, true)
}

// Cancel cancels the latest build of a workspace.
func (p People) Cancel(workspace uuid.UUID) error {
	p.w.lock()
	defer p.w.unlock()
	ws := p.w.workspaceByID[workspace]
	if ws == nil {
		return notFound()
	}
	return p.w.cancelBuild(p.actor, ws.latest().id, "", true)
}

// Create makes a workspace, for example one whose name somebody else wants.
func (p People) Create(request CreateWorkspace) (Workspace, error) {
	p.w.lock()
	defer p.w.unlock()
	return p.w.createWorkspace(p.actor, request, true)
}

// Rename renames a live workspace; deployments allow it only if they were told to.
func (p People) Rename(workspace uuid.UUID, name string) error {
	p.w.lock()
	defer p.w.unlock()
	ws := p.w.workspaceByID[workspace]
	var refused *Error
	switch {
	case ws == nil:
		refused = notFound()
	case p.w.liveNamed(ws.owner, name) != nil && !strings.EqualFold(ws.name, name):
		refused = refuse(Conflict, "Workspace %q already exists.", name)
	default:
		ws.name = name
		p.w.touch(ws)
	}
	return p.note(Change{Op: "rename workspace", Workspace: workspace, Name: name}, refused)
}

// MakePrebuild has Coder's prebuilds user make a workspace of a preset, with the first
// of its builds; ClaimPrebuild or a create request with the preset claims it.
func (p People) MakePrebuild(version, preset uuid.UUID, name string) (Workspace, error) {
	w := p.w
	w.lock()
	defer w.unlock()
	v := w.versions[version]
	if v == nil || v.preset(preset) == nil {
		return Workspace{}, refuse(Invalid, "no such version or preset")
	}
	t := w.template(v.template)
	parameters, refused := v.resolve(t.classic, nil, v.preset(preset))
	if refused != nil {
		return Workspace{}, refused
	}
	ws := w.addWorkspace(core.PrebuildsUserID, t, name)
	ws.preset = preset
	b := w.addBuild(ws, v, core.TransitionStart, core.PrebuildsUserID, parameters)
	b.preset = preset
	w.record(Change{
		Actor: core.PrebuildsUserID, ByPeople: true, Op: "create", Workspace: ws.id, Build: b.id,
		Version: version, Owner: core.PrebuildsUserID, Name: name,
	}, nil)
	return w.workspaceView(ws), nil
}

// ClaimPrebuild gives a prebuilt workspace to an owner under a new name, with a start
// build by the acting user.
func (p People) ClaimPrebuild(workspace, owner uuid.UUID, name string) error {
	w := p.w
	w.lock()
	defer w.unlock()
	ws := w.workspaceByID[workspace]
	var refused *Error
	switch {
	case ws == nil || ws.owner != core.PrebuildsUserID:
		refused = notFound()
	case w.liveNamed(owner, name) != nil:
		refused = refuse(Conflict, "Workspace %q already exists.", name)
	case ws.latest().job.status().Active():
		refused = refuse(Conflict, "A workspace build is already active.")
	default:
		ws.owner, ws.name, ws.preset = owner, name, uuid.Nil
		w.addBuild(ws, ws.latest().version, core.TransitionStart, p.actor, ws.latest().parameters)
	}
	return p.note(Change{Op: "create", Workspace: workspace, Owner: owner, Name: name}, refused)
}

// RenameUser renames a user.
func (p People) RenameUser(user uuid.UUID, name string) error {
	p.w.lock()
	defer p.w.unlock()
	var refused *Error
	switch u := p.w.users[user]; {
	case u == nil:
		refused = notFound()
	case p.w.userNamed(name) != nil:
		refused = refuse(Conflict, "A user with this username already exists.")
	default:
		u.username = name
	}
	return p.note(Change{Op: "rename user", Owner: user, Name: name}, refused)
}

// SuspendUser suspends a user.
func (p People) SuspendUser(user uuid.UUID) error {
	p.w.ChangeUser(user, UserSpec{Status: UserSuspended})
	p.w.lock()
	defer p.w.unlock()
	return p.note(Change{Op: "set user " + UserSuspended, Owner: user}, nil)
}

// DeleteUser deletes a user: Expectation while it has workspaces.
func (p People) DeleteUser(user uuid.UUID) error {
	p.w.lock()
	defer p.w.unlock()
	var refused *Error
	for _, ws := range p.w.workspaces {
		if ws.owner == user && !ws.deleted {
			refused = refuse(Expectation, "You cannot delete a user that has workspaces. Delete their workspaces and try again!")
		}
	}
	if refused == nil {
		p.w.users[user].deleted = true
	}
	return p.note(Change{Op: "delete user", Owner: user}, refused)
}

// RenameTemplate renames a template.
func (p People) RenameTemplate(template uuid.UUID, name string) error {
	p.w.lock()
	defer p.w.unlock()
	t := p.w.template(template)
	var refused *Error
	switch {
	case t == nil:
		refused = notFound()
	case p.w.templateNamed(t.organization, name) != nil:
		refused = refuse(Conflict, "Template with name %q already exists.", name)
	default:
		t.name, t.updated = name, p.w.stamp()
	}
	return p.note(Change{Op: "rename template", Name: name}, refused)
}

// Deprecate sets the deprecation message of a template, a licensed feature; empty takes
// it back.
func (p People) Deprecate(template uuid.UUID, message string) error {
	p.w.lock()
	defer p.w.unlock()
	t := p.w.template(template)
	if t == nil {
		return notFound()
	}
	t.deprecated, t.updated = message, p.w.stamp()
	return p.note(Change{Op: "deprecate template"}, nil)
}

// DeleteTemplate deletes a template: Invalid while it has live workspaces.
func (p People) DeleteTemplate(template uuid.UUID) error {
	p.w.lock()
	defer p.w.unlock()
	t := p.w.template(template)
	var refused *Error
	if t == nil || t.deleted {
		refused = notFound()
	}
	for _, ws := range p.w.workspaces {
		if ws.template == template && !ws.deleted {
			refused = refuse(Invalid, "All workspaces must be deleted before a template can be removed.")
		}
	}
	if refused == nil {
		t.deleted = true
	}
	return p.note(Change{Op: "delete template"}, refused)
}

// Archive archives a version.
func (p People) Archive(version uuid.UUID) error {
	p.w.lock()
	defer p.w.unlock()
	return p.note(Change{Op: "archive version", Version: version}, p.w.trySetArchived(p.actor, version, true))
}

// Promote makes a version the active one of its template.
func (p People) Promote(template, version uuid.UUID) error {
	p.w.lock()
	defer p.w.unlock()
	return p.note(Change{Op: "promote", Version: version}, p.w.tryPromote(p.actor, template, version))
}

// RenameOrganization renames an organization.
func (p People) RenameOrganization(organization uuid.UUID, name string) error {
	p.w.lock()
	defer p.w.unlock()
	if p.w.organization(organization) == nil {
		return notFound()
	}
	p.w.organization(organization).name = name
	return p.note(Change{Op: "rename organization", Name: name}, nil)
}

// ReplaceDeployment has another deployment answer from now on, with an ID of its own
// and none of the workspaces; users, templates and versions are as before, as after a
// restore of another database.
func (p People) ReplaceDeployment() {
	w := p.w
	w.lock()
	defer w.unlock()
	w.deployment = w.newID(idDeployment).String()
	for _, ws := range w.workspaces {
		if next := ws.latest().next; next != nil {
			next.off = true
		}
		w.touch(ws)
	}
	w.workspaces, w.workspaceByID = nil, map[uuid.UUID]*workspace{}
	w.buildByID, w.agentByID = map[uuid.UUID]*build{}, map[uuid.UUID]*agent{}
	w.sessions = map[uuid.UUID]uuid.UUID{}
}

// RenameDeployment changes the deployment's ID and nothing else.
func (p People) RenameDeployment(id string) {
	p.w.lock()
	defer p.w.unlock()
	p.w.deployment = id
}

func (p People) note(change Change, refused *Error) error {
	change.Actor, change.ByPeople = p.actor, true
	p.w.record(change, refused)
	if refused != nil {
		return refused
	}
	return nil
}
