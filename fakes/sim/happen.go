package sim

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// happenings lets tests arrive, begins the events that are due and ends those that are
// over.
func (s *simulation) happenings() {
	now := s.clock.Monotonic()
	for _, t := range s.tests {
		if !t.arrived && s.plan.Tests[t.number].Arrives <= now {
			s.arrive(t)
		}
	}
	for i := 0; i < len(s.windows); {
		if w := s.windows[i]; w.until <= now {
			s.windows = append(s.windows[:i], s.windows[i+1:]...)
			s.line(uuid.Nil, "*", "over: "+w.event.What)
			if w.end != nil {
				w.end()
			}
			continue
		}
		i++
	}
	for !s.calm && len(s.todo) > 0 && s.todo[0].At <= now {
		e := s.todo[0]
		s.todo = s.todo[1:]
		s.begin(e)
	}
}

// arrive stores the record of a test.
func (s *simulation) arrive(t *testRun) {
	s.records.put(&core.Record{
		ID: t.id, Generation: 1, CreatedAt: s.clock.Now(), Spec: s.stage.spec(t.number),
		DeletionPolicy: s.plan.Tests[t.number].Policy,
	}, false)
	t.arrived, t.changed, t.revision = true, s.clock.Monotonic(), s.records.rows[t.id].Revision
	t.due[0] = s.clock.Monotonic()
	if s.rivals() {
		t.due[1] = s.clock.Monotonic()
	}
}

// rivals tells whether the second engine works as well.
func (s *simulation) rivals() bool {
	for i := range s.windows {
		if s.windows[i].event.What == rivalEngine {
			return true
		}
	}
	return false
}

// begin begins an event.
func (s *simulation) begin(e Event) {
	if e.Op != "" {
		s.armed = append(s.armed, e)
		return
	}
	s.outcome.Faults++
	s.eventLine(s.idOf(e.Test), e)
	if end, lasts := s.start(e); lasts {
		s.windows = append(s.windows, window{e, s.clock.Monotonic() + e.For, end})
		return
	}
	if err := s.happen(e); err != nil {
		s.line(s.idOf(e.Test), "*", "in vain: "+err.Error())
	}
}

func (s *simulation) idOf(number int) uuid.UUID { return testID(s.plan.Seed, number) }

// start begins an event that lasts; end takes it back.
func (s *simulation) start(e Event) (end func(), lasts bool) {
	edit := func(change func(*core.ControlPlane)) {
		s.planes.Edit(planeRef, func(plane *core.ControlPlane) {
			if plane.State != core.ControlPlaneGone {
				change(plane)
			}
		})
	}
	state := func(state core.ControlPlaneState) func() {
		edit(func(plane *core.ControlPlane) { plane.State = state })
		return func() { edit(func(plane *core.ControlPlane) { plane.State = core.ControlPlaneUsable }) }
	}
	switch e.What {
	case outage, planeUnread:
		return nil, true
	case rivalEngine:
		for _, t := range s.tests {
			t.due[1] = s.clock.Monotonic()
		}
		return func() {
			for _, t := range s.tests {
				t.due[1] = never
			}
		}, true
	case storeLags:
		s.records.lag(true)
		return func() { s.records.lag(false) }, true
	case planeLags:
		s.planes.Lag(true)
		return func() { s.planes.Lag(false) }, true
	case planeUnready:
		return state(core.ControlPlaneUnready), true
	case planeLeaves:
		return state(core.ControlPlaneLeaving), true
	case planeNoAccess:
		return state(core.ControlPlaneNoAccess), true
	case suspendsOwner:
		s.suspend(s.stage.owner, true)
		return func() { s.suspend(s.stage.owner, false) }, true
	case promotesOwner:
		return s.plainOwner(func(owner uuid.UUID) { s.world.ChangeUser(owner, world.UserSpec{SiteRoles: []string{"auditor"}}) })
	case expelsOwner:
		return s.plainOwner(func(owner uuid.UUID) { s.world.RemoveMember(s.stage.organization, owner) })
	case losesRights:
		s.stage.grant(s.stage.operator, false)
		return func() { s.stage.grant(s.stage.operator, true) }, true
	case losesToken:
		s.world.RevokeTokens(s.stage.operator)
		return func() { s.putToken(s.stage.operator) }, true
	case swaps:
		s.swap()
		return s.swap, true
	default:
		return nil, false
	}
}

// plainOwner changes what the owner may do until end makes it a plain member again. It
// does nothing where the owner is the operator user as well.
func (s *simulation) plainOwner(change func(owner uuid.UUID)) (end func(), lasts bool) {
	owner := s.stage.owner
	if owner == s.stage.operator {
		return nil, true
	}
	change(owner)
	return func() {
		s.world.ChangeUser(owner, world.UserSpec{SiteRoles: []string{}})
		s.world.AddMember(s.stage.organization, owner)
	}, true
}

// putToken gives the control plane a new token of the user.
func (s *simulation) putToken(user uuid.UUID) {
	s.renewToken(user)
	s.planes.Edit(planeRef, func(plane *core.ControlPlane) {
		if plane.State != core.ControlPlaneGone {
			plane.Connection.Token = s.token
		}
	})
}

// happen carries out an event that does not last.
func (s *simulation) happen(e Event) error {
	id := s.idOf(e.Test)
	switch e.What {
	case engineRestarts:
		s.startEngine(0)
	case clockJumps:
		s.clock.Jump(e.For)
	case planeGone:
		s.planes.Remove(planeRef)
		s.recorder.planeGone = true
	case planeReturns:
		s.putPlane()
	case planeRotates:
		s.putToken(s.stage.operator)
	case planeOther:
		s.putToken(s.stage.operators[1])
	case planeOwner:
		s.policyOf(func(p *core.Policy) { p.OwnerUserID = s.stage.owners[1].String() })
	case allowRetain:
		s.policyOf(func(p *core.Policy) { p.AllowRetain = true })
	case forbidRetain:
		s.policyOf(func(p *core.Policy) { p.AllowRetain = false })
	case wantRetain:
		s.records.edit(id, func(r *core.Record) { r.DeletionPolicy = "retain" })
	case wantDelete:
		s.records.edit(id, func(r *core.Record) { r.DeletionPolicy = "delete" })
	case askToGo:
		s.askToGo(id)
	case edits:
		s.records.edit(id, func(r *core.Record) { r.Name += "x" })
	case removeHold:
		s.history.Excuse(id, "somebody removed the hold")
		s.records.edit(id, func(r *core.Record) { r.Held = false })
	default:
		return s.inCoder(e, id)
	}
	for _, t := range s.tests {
		// A watch of records and control planes wakes the engine.
		if t.due[0] == never || s.random.IntN(4) > 0 {
			t.due[0] = min(t.due[0], s.clock.Monotonic())
		}
	}
	return nil
}

func (s *simulation) policyOf(change func(*core.Policy)) {
	s.planes.Edit(planeRef, func(plane *core.ControlPlane) {
		if plane.State != core.ControlPlaneGone {
			change(&plane.Policy)
		}
	})
}

// askToGo stores a deletion request, once.
func (s *simulation) askToGo(id uuid.UUID) {
	if row := s.records.rows[id]; row != nil && !row.DeletionRequested() {
		s.records.edit(id, func(r *core.Record) { r.DeletionRequestedAt = s.clock.Now() })
	}
}

// inCoder is what people do in the deployment.
func (s *simulation) inCoder(e Event, id uuid.UUID) error {
	people := s.world.People(uuid.Nil)
	name := core.WorkspaceName(id)
	unique := fmt.Sprintf("ws-%d-%d", e.Test, len(s.world.Changes()))
	create := func(owner uuid.UUID, name string) error {
		_, err := people.Create(world.CreateWorkspace{Owner: owner, Name: name, Version: s.stage.versions[e.Test]})
		return err
	}
	switch e.What {
	case takesName:
		return create(s.stage.owner, name)
	case bystander:
		return create(s.stage.owner, unique)
	case freesName:
		return s.onNamed(name, func(ws uuid.UUID) error { _, err := people.Delete(ws); return err })
	case claimsName:
		prebuilt, err := s.stage.prebuild(e.Test)
		if err != nil {
			return err
		}
		s.world.After(50*time.Second, func() { _ = people.ClaimPrebuild(prebuilt.ID, s.stage.owner, name) })
		return nil
	case renamesUser:
		return people.RenameUser(s.stage.owner, unique)
	case renamesOthers:
		if err := people.RenameTemplate(s.stage.template, unique); err != nil {
			return err
		}
		return people.RenameOrganization(s.stage.organization, unique)
	case deprecates:
		return people.Deprecate(s.stage.template, canary+" deprecated")
	case archives:
		return people.Archive(s.stage.versions[e.Test])
	case linksAuth:
		s.world.LinkExternalAuth(s.stage.owner, authProvider, true)
		return nil
	case promotes:
		return people.Promote(s.stage.template, s.stage.versions[e.Test])
	default:
		return s.onWorkspace(e, id, people, unique)
	}
}

// onWorkspace is what people do to the test's own workspace.
func (s *simulation) onWorkspace(e Event, id uuid.UUID, people world.People, unique string) error {
	w := s.recorder.tests[id]
	if w == nil || len(w.made) == 0 {
		return fmt.Errorf("the test has no workspace")
	}
	workspace := w.made[len(w.made)-1]
	var err error
	switch e.What {
	case deletesIt:
		_, err = people.Delete(workspace)
	case stopsIt:
		_, err = people.Stop(workspace)
	case startsIt:
		_, err = people.Start(workspace, s.stage.versions[(e.Test+1)%len(s.stage.versions)])
	case cancelsIt:
		err = people.Cancel(workspace)
	case renamesIt:
		err = people.Rename(workspace, unique)
	default:
		panic("unknown event: " + e.What)
	}
	return err
}

// onNamed does something to the live workspace of a name, unless the test made it.
func (s *simulation) onNamed(name string, do func(uuid.UUID) error) error {
	for _, ws := range s.world.Live() {
		if ws.Name == name && s.recorder.maker[ws.ID] == uuid.Nil {
			return do(ws.ID)
		}
	}
	return fmt.Errorf("nothing has the name")
}
