package world

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// Workspace is a workspace as a caller who may read it sees it, with its latest build.
type Workspace struct {
	ID               uuid.UUID
	Name             string
	Owner            User
	Organization     Organization
	Template         Template
	TTL              time.Duration
	AutomaticUpdates string
	Deleted          bool
	// Prebuild tells that nobody has claimed it yet.
	Prebuild  bool
	CreatedAt time.Time
	UpdatedAt time.Time
	Latest    Build
}

type workspace struct {
	id               uuid.UUID
	name             string
	owner            uuid.UUID
	organization     uuid.UUID
	template         uuid.UUID
	ttl              time.Duration
	automaticUpdates string
	deleted          bool
	// preset is what a prebuilt workspace was made from.
	preset  uuid.UUID
	created time.Time
	updated time.Time
	builds  []*build
}

func (ws *workspace) latest() *build { return ws.builds[len(ws.builds)-1] }

var namePattern = regexp.MustCompile(core.NamePattern)

// nameValid is Coder's rule for the names of users, templates and workspaces.
func nameValid(name string) bool {
	return len(name) <= core.MaxNameLength && namePattern.MatchString(name) && name != "new" && name != "create"
}

// Workspace reads a workspace: Gone for a deleted one unless includeDeleted.
func (w *World) Workspace(actor, id uuid.UUID, includeDeleted bool) (Workspace, error) {
	w.lock()
	defer w.unlock()
	w.count("read workspace")
	ws, refused := w.readWorkspace(actor, id, includeDeleted)
	if refused != nil {
		return Workspace{}, refused
	}
	return w.workspaceView(ws), nil
}

func (w *World) readWorkspace(actor, id uuid.UUID, includeDeleted bool) (*workspace, *Error) {
	ws := w.readableWorkspace(actor, id)
	switch {
	case ws == nil:
		return nil, notFound()
	case ws.deleted && !includeDeleted:
		return nil, refuse(Gone, "Workspace %q was deleted, you can view this workspace by specifying '?include_deleted=true' and trying again.", id)
	case w.template(ws.template).deleted:
		return nil, forbidden() // source: it no longer finds the template
	}
	return ws, nil
}

// WorkspaceByName finds an owner's workspace without regard to case. A live one wins;
// of deleted ones, found with includeDeleted, the one made last.
func (w *World) WorkspaceByName(actor, owner uuid.UUID, name string, includeDeleted bool) (Workspace, error) {
	w.lock()
	defer w.unlock()
	w.count("find workspace")
	u := w.user(owner)
	if u == nil || !w.mayReadMember(actor, u) {
		return Workspace{}, notFound()
	}
	found := w.liveNamed(u.id, name)
	if found == nil && includeDeleted {
		for _, ws := range w.workspaces {
			if ws.deleted && ws.owner == u.id && strings.EqualFold(ws.name, name) {
				found = ws
			}
		}
	}
	if found == nil || !w.mayReadWorkspaces(actor, found.owner, found.organization) || w.template(found.template).deleted {
		return Workspace{}, notFound()
	}
	return w.workspaceView(found), nil
}

// Workspaces lists the live workspaces of the owner of this name, or of everybody for
// an empty one, that the actor may read.
func (w *World) Workspaces(actor uuid.UUID, owner string) []Workspace {
	w.lock()
	defer w.unlock()
	w.count("list workspaces")
	if owner == "me" {
		owner = w.users[actor].username
	}
	var views []Workspace
	for _, ws := range w.workspaces {
		named := owner == "" || strings.EqualFold(w.users[ws.owner].username, owner)
		if !ws.deleted && named && w.mayReadWorkspaces(actor, ws.owner, ws.organization) {
			views = append(views, w.workspaceView(ws))
		}
	}
	// Running ones come first, then by name: Coder's order (source).
	slices.SortStableFunc(views, func(a, b Workspace) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	return views
}

func rank(ws Workspace) int {
	if ws.Latest.Transition == core.TransitionStart && ws.Latest.Job.Status == core.JobSucceeded {
		return 0
	}
	return 1
}

// MayReadWorkspaces is what POST /authcheck says about reading the owner's workspaces,
// live and dormant ones alike.
func (w *World) MayReadWorkspaces(actor, owner, organization uuid.UUID) bool {
	w.lock()
	defer w.unlock()
	w.count("check rights")
	return w.mayReadWorkspaces(actor, owner, organization)
}

// All lists every workspace that ever was, without any rights, in the order of their
// making. It is what the end of a scenario is judged by.
func (w *World) All() []Workspace {
	w.lock()
	defer w.unlock()
	views := make([]Workspace, 0, len(w.workspaces))
	for _, ws := range w.workspaces {
		views = append(views, w.workspaceView(ws))
	}
	return views
}

// Live lists every workspace that is not deleted, without any rights.
func (w *World) Live() []Workspace {
	return slices.DeleteFunc(w.All(), func(ws Workspace) bool { return ws.Deleted })
}

func (w *World) liveNamed(owner uuid.UUID, name string) *workspace {
	for _, ws := range w.workspaces {
		if !ws.deleted && ws.owner == owner && strings.EqualFold(ws.name, name) {
			return ws
		}
	}
	return nil
}

func (w *World) readableWorkspace(actor, id uuid.UUID) *workspace {
	ws := w.workspaceByID[id]
	if ws == nil || !w.mayReadWorkspaces(actor, ws.owner, ws.organization) {
		return nil
	}
	return ws
}

func (w *World) workspaceView(ws *workspace) Workspace {
	view := Workspace{
		ID: ws.id, Name: ws.name, Owner: w.users[ws.owner].view(), Organization: w.organization(ws.organization).view(),
		Template: w.templateView(w.template(ws.template)), TTL: ws.ttl, AutomaticUpdates: ws.automaticUpdates, Deleted: ws.deleted,
		Prebuild: ws.preset != uuid.Nil, CreatedAt: ws.created, UpdatedAt: ws.updated,
	}
	view.Latest = w.buildView(ws.latest())
	view.Latest.Agents = w.agentViews(ws.latest())
	return view
}
