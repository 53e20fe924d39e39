package world

import (
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// The methods below are the truth that a run is judged by: they ask for no rights, count
// no request, and look into both deployments of SwapDeployment.

// Lives tells whether a workspace exists and is not deleted.
func (w *World) Lives(workspace uuid.UUID) bool {
	w.lock()
	defer w.unlock()
	ws := w.anywhere(workspace)
	return ws != nil && !ws.deleted
}

// NameOf is the name that a workspace has, or had last; empty when there is none.
func (w *World) NameOf(workspace uuid.UUID) string {
	w.lock()
	defer w.unlock()
	if ws := w.anywhere(workspace); ws != nil {
		return ws.name
	}
	return ""
}

// DeletedWell tells whether a delete build of the workspace has succeeded.
func (w *World) DeletedWell(workspace uuid.UUID) bool {
	w.lock()
	defer w.unlock()
	ws := w.anywhere(workspace)
	if ws == nil {
		return false
	}
	for _, b := range ws.builds {
		if b.transition == core.TransitionDelete && b.job.status() == core.JobSucceeded {
			return true
		}
	}
	return false
}

// WorkspaceOf is the workspace of a build, or uuid.Nil.
func (w *World) WorkspaceOf(buildID uuid.UUID) uuid.UUID {
	w.lock()
	defer w.unlock()
	if b := w.buildByID[buildID]; b != nil {
		return b.workspace.id
	}
	return uuid.Nil
}

// FirstBuild is a workspace's first build that the prebuilds user did not start, or nil.
func (w *World) FirstBuild(workspace uuid.UUID) *Build {
	w.lock()
	defer w.unlock()
	ws := w.anywhere(workspace)
	if ws == nil {
		return nil
	}
	for _, b := range ws.builds {
		if b.initiator != core.PrebuildsUserID {
			view := w.buildView(b)
			return &view
		}
	}
	return nil
}

// EveryLive lists the live workspaces of this deployment and then of the other.
func (w *World) EveryLive() []Workspace {
	w.lock()
	defer w.unlock()
	lists := [][]*workspace{w.workspaces}
	if w.away != nil {
		lists = append(lists, w.away.workspaces)
	}
	var views []Workspace
	for _, list := range lists {
		for _, ws := range list {
			if !ws.deleted {
				views = append(views, w.workspaceView(ws))
			}
		}
	}
	return views
}

// Every lists the workspaces that were ever made in this deployment.
func (w *World) Every() []Workspace {
	w.lock()
	defer w.unlock()
	views := make([]Workspace, 0, len(w.workspaces))
	for _, ws := range w.workspaces {
		views = append(views, w.workspaceView(ws))
	}
	return views
}

// anywhere finds a workspace in either deployment.
func (w *World) anywhere(id uuid.UUID) *workspace {
	if ws := w.workspaceByID[id]; ws != nil || w.away == nil {
		return ws
	}
	return w.away.workspaceByID[id]
}
