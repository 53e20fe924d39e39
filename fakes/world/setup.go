package world

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Provisioner is a provisioner daemon of an organization.
type Provisioner struct {
	ID   uuid.UUID
	Name string
	// Tags are its own, beside those that Coder puts on every daemon.
	Tags map[string]string
	// Status is "idle", "busy" or "offline"; empty means idle.
	Status string
}

// SetProvisioners makes these the organization's daemons. Before, it has one that is built
// in, without tags of its own.
func (w *World) SetProvisioners(organization uuid.UUID, daemons ...Provisioner) {
	w.lock()
	defer w.unlock()
	all := make([]Provisioner, 0, len(daemons))
	for _, daemon := range daemons {
		daemon.ID, daemon.Tags = w.newID(idProvisioner), coderTags(uuid.Nil, daemon.Tags)
		daemon.Status = orElse(daemon.Status, "idle")
		all = append(all, daemon)
	}
	w.provisioners[organization] = all
}

// Provisioners lists the daemons of an organization that take jobs with the tags; all of
// them for no tags. Only those who manage templates see them (source).
func (w *World) Provisioners(actor, organization uuid.UUID, tags map[string]string) ([]Provisioner, error) {
	w.lock()
	defer w.unlock()
	w.count("list provisioners")
	if w.organization(organization) == nil || !w.mayManageTemplates(actor, organization) {
		return nil, notFound()
	}
	return w.takers(organization, tags), nil
}

// takers are the daemons that take a job with these tags, offline ones included (source).
func (w *World) takers(organization uuid.UUID, tags map[string]string) []Provisioner {
	daemons, set := w.provisioners[organization]
	if !set {
		daemons = []Provisioner{{ID: uuid.Max, Name: "built-in", Tags: coderTags(uuid.Nil, nil), Status: "idle"}}
	}
	if len(tags) == 0 {
		return slices.Clone(daemons)
	}
	untagged := maps.Equal(tags, coderTags(uuid.Nil, nil))
	var takers []Provisioner
	for _, daemon := range daemons {
		takes := len(tags) <= len(daemon.Tags)
		for key, value := range tags {
			has, ok := daemon.Tags[key]
			takes = takes && ok && has == value
		}
		if takes && (!untagged || len(daemon.Tags) == len(tags)) {
			takers = append(takers, daemon)
		}
	}
	return takers
}

// matched counts the daemons that take a job with the tags, and those that are there.
func (w *World) matched(organization uuid.UUID, tags map[string]string) (count, available int) {
	for _, daemon := range w.takers(organization, tags) {
		count++
		if daemon.Status != "offline" {
			available++
		}
	}
	return count, available
}

// Budget is what workspaces may cost a user in an organization; a limit below 0 has no
// bound.
type Budget struct{ Consumed, Limit int }

type quotaKey struct{ organization, user uuid.UUID }

// SetQuota gives the deployment quotas, which it has not before, and a user its own.
func (w *World) SetQuota(organization, user uuid.UUID, quota Budget) {
	w.lock()
	defer w.unlock()
	w.quotas[quotaKey{organization, user}] = quota
}

// Quota reads a user's quota. A deployment without quotas has no such route (seen).
func (w *World) Quota(actor, organization, id uuid.UUID) (Budget, error) {
	w.lock()
	defer w.unlock()
	w.count("read quota")
	if len(w.quotas) == 0 {
		return Budget{}, refuse(NotFound, "Route not found.")
	}
	if u := w.user(id); u == nil || !w.mayReadMember(actor, u) {
		return Budget{}, notFound()
	}
	if quota, set := w.quotas[quotaKey{organization, id}]; set {
		return quota, nil
	}
	return Budget{}, nil
}

// sessionLifetime is how long a session lasts after its last use.
const sessionLifetime = 24 * time.Hour

// Key is what a session token stands for.
type Key struct {
	ID        string
	User      uuid.UUID
	ExpiresAt time.Time
	Lifetime  time.Duration
	// LoginType is "token" for one that was made to last, whose end does not move.
	LoginType string
}

// lasting is a token that was made to last.
type lasting struct {
	ends     time.Time
	lifetime time.Duration
}

// MintTokenFor makes a token that ends after its lifetime, however much it is used.
func (w *World) MintTokenFor(user uuid.UUID, lifetime time.Duration) string {
	w.lock()
	defer w.unlock()
	token := w.mintToken(w.users[user])
	w.lasting[token] = lasting{w.stamp().Add(lifetime), lifetime}
	return token
}

// Key reads a key of the actor's own by its ID, what stands before the dash of its token.
func (w *World) Key(actor uuid.UUID, id string) (Key, error) {
	w.lock()
	defer w.unlock()
	w.count("read key")
	for token, u := range w.tokens {
		if before, _, _ := strings.Cut(token, "-"); before != id || u.id != actor {
			continue
		}
		key := Key{ID: id, User: u.id, ExpiresAt: w.stamp().Add(sessionLifetime), Lifetime: sessionLifetime, LoginType: "password"}
		if made, ok := w.lasting[token]; ok {
			key.ExpiresAt, key.Lifetime, key.LoginType = made.ends, made.lifetime, "token"
		}
		return key, nil
	}
	return Key{}, notFound()
}

// MayWorkspaces tells whether the actor may do something with the owner's workspaces, in
// the organization or, for uuid.Nil, in any.
func (w *World) MayWorkspaces(actor uuid.UUID, action string, owner, organization uuid.UUID) bool {
	w.lock()
	defer w.unlock()
	w.count("check rights")
	may := w.mayChangeWorkspaces
	if action == "read" {
		may = w.mayReadWorkspaces
	}
	if organization != uuid.Nil {
		return may(actor, owner, organization)
	}
	for _, in := range w.organizations {
		if may(actor, owner, in.id) {
			return true
		}
	}
	return false
}
