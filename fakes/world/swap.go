package world

import "github.com/google/uuid"

// holdings are what a deployment has that another one, with the same people and
// templates, has not.
type holdings struct {
	deployment    string
	workspaces    []*workspace
	workspaceByID map[uuid.UUID]*workspace
}

// SwapDeployment has another deployment answer from now on, with an ID and workspaces of
// its own and the same people and templates; the next call has the first one answer
// again. What runs goes on in both.
func (p People) SwapDeployment() {
	w := p.w
	w.lock()
	defer w.unlock()
	if w.away == nil {
		w.away = &holdings{deployment: w.newID(idDeployment).String(), workspaceByID: map[uuid.UUID]*workspace{}}
	}
	here := holdings{w.deployment, w.workspaces, w.workspaceByID}
	w.deployment, w.workspaces, w.workspaceByID = w.away.deployment, w.away.workspaces, w.away.workspaceByID
	*w.away = here
}
