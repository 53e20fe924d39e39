// Package worldtest is the deployment of ports/porttest over the world model: the same
// stage for every front end of the world.
package worldtest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

// Start is when the clocks of Deployments begin.
var Start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Deployment is a porttest.Deployment over a world and a virtual clock of its own.
type Deployment struct {
	World *world.World
	Clock *clock.Clock
	// Door makes a CodeRunner that asks the world with a token.
	Door func(token core.Secret) ports.CodeRunner
	// Closed is a CodeRunner at whose address nobody listens.
	Closed ports.CodeRunner

	mu        sync.Mutex
	org       world.Organization
	admin     world.User
	users     int
	templates map[porttest.TemplateKind]porttest.Subject
}

var _ porttest.Deployment = (*Deployment)(nil)

// New makes a Deployment without doors; set them before it is used.
func New() *Deployment {
	c := clock.New(Start)
	w := world.New(c)
	d := &Deployment{World: w, Clock: c, templates: map[porttest.TemplateKind]porttest.Subject{}}
	d.org = w.AddOrganization("acme")
	w.PlanVersions(plan)
	d.admin = w.AddUser(world.UserSpec{
		Username: "operator", SiteRoles: []string{world.RoleOwner}, Organizations: []uuid.UUID{d.org.ID},
	})
	return d
}

// Admin implements porttest.Deployment.
func (d *Deployment) Admin(*testing.T) porttest.Account { return d.account(d.admin) }

// NewUser implements porttest.Deployment.
func (d *Deployment) NewUser(t *testing.T, spec porttest.UserSpec) porttest.Account {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users++
	status := spec.Status
	if status == "" {
		status = world.UserDormant
	}
	u := d.World.AddUser(world.UserSpec{
		Username: fmt.Sprintf("tester-%d", d.users), Status: status, LoginType: spec.LoginType,
		SiteRoles: spec.SiteRoles, Organizations: []uuid.UUID{d.org.ID},
	})
	if spec.OrganizationRoles != nil {
		d.World.AddMember(d.org.ID, u.ID, spec.OrganizationRoles...)
	}
	return d.account(u)
}

func (d *Deployment) account(u world.User) porttest.Account {
	user := core.User{
		ID: u.ID, Username: u.Username, Status: u.Status, LoginType: u.LoginType, ServiceAccount: u.ServiceAccount,
		SiteRoles: u.SiteRoles, Memberships: []core.Membership{{
			OrganizationID: d.org.ID, OrganizationName: d.org.Name, DefaultRoles: d.org.DefaultRoles,
		}},
	}
	return porttest.Account{User: user, Runner: d.Door(core.NewSecret(d.World.MintToken(u.ID)))}
}

// WithBadToken implements porttest.Deployment.
func (d *Deployment) WithBadToken(*testing.T) ports.CodeRunner {
	return d.Door(core.NewSecret("0123456789-nobodyhasthistokenhere"))
}

// Unreachable implements porttest.Deployment.
func (d *Deployment) Unreachable(*testing.T) ports.CodeRunner { return d.Closed }

// StartBuild implements porttest.Deployment.
func (d *Deployment) StartBuild(t *testing.T, workspace uuid.UUID, transition core.Transition) uuid.UUID {
	t.Helper()
	build, err := d.World.CreateBuild(d.admin.ID, workspace, world.CreateBuild{Transition: transition})
	if err != nil {
		t.Fatalf("start a %s build: %v", transition, err)
	}
	return build.ID
}

// RenameWorkspace implements porttest.Deployment.
func (d *Deployment) RenameWorkspace(t *testing.T, workspace uuid.UUID, name string) {
	t.Helper()
	if err := d.World.People(d.admin.ID).Rename(workspace, name); err != nil {
		t.Fatalf("rename workspace: %v", err)
	}
}

// Settle implements porttest.Deployment. Each call is a quarter of a virtual second.
func (d *Deployment) Settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 5000 {
		if done() {
			return
		}
		d.Clock.Advance(250 * time.Millisecond)
		time.Sleep(time.Millisecond) //nolint:forbidigo // streams on real sockets take real time; nothing is measured by it
	}
	t.Fatalf("gave up waiting for %s", what)
}
