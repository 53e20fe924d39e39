package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// people carries out a statement of the keyword "at":
//
//	somebody deletes|stops|starts|cancels|renames|removes the workspace
//	somebody|operator takes the name
//	somebody deprecates|undeprecates the template
//	somebody archives VERSION | somebody promotes VERSION
//	somebody suspends|activates USER
//	somebody replaces the deployment
//	test is asked to go | test policy POLICY | test hold is removed
//	plane gone|back|unready|no-access|leaves|rotates|allows retain|forbids retain
//	engine restarts
//	clock jumps DURATION
//
// "The workspace" is the test's, whatever its name; renaming gives it the name
// "renamed".
func (r *run) people(st statement) error {
	if len(st.words) < 2 {
		return st.errorf("needs who and what")
	}
	switch st.words[0] {
	case "test":
		return r.onTest(st)
	case "plane":
		return r.onPlane(st)
	case "engine":
		return r.startEngine()
	case "clock":
		d, err := time.ParseDuration(st.word(2))
		if err != nil {
			return st.errorf("%v", err)
		}
		r.clock.Jump(d)
		return nil
	default:
		return r.inCoder(st)
	}
}

// inCoder tells whether the statement is about what is in Coder.
func (s statement) inCoder() bool {
	return !slices.Contains([]string{"test", "plane", "engine", "clock"}, s.words[0])
}

func (r *run) onTest(st statement) error {
	ctx := context.Background()
	switch {
	case st.rest(1) == "is asked to go":
		return r.records.RequestDeletion(ctx, r.test)
	case st.rest(1) == "hold is removed":
		record, err := r.record()
		if err != nil {
			return err
		}
		r.holdRemoved = true
		_, err = r.records.ReleaseHold(ctx, record)
		return err
	case st.words[1] == "policy":
		return r.records.SetDeletionPolicy(ctx, r.test, st.rest(2))
	default:
		return st.errorf("unknown")
	}
}

func (r *run) inCoder(st statement) error {
	actor := uuid.Nil
	if id, known := r.stage.users[st.words[0]]; known {
		actor = id
	}
	people := r.world.People(actor)
	what, object := st.words[1], st.rest(2)
	switch object {
	case "the workspace":
		return r.onWorkspace(people, st, what)
	case "the name":
		_, err := people.Create(world.CreateWorkspace{
			Owner: r.stage.users["tester"], Name: core.WorkspaceName(r.test), Version: r.anyVersion(),
		})
		return err
	case "the template":
		message := map[string]string{"deprecates": "use another one"}[what]
		return people.Deprecate(r.stage.templates[r.spec.Template], message)
	case "the deployment":
		people.ReplaceDeployment()
		return nil
	}
	switch what {
	case "archives":
		return people.Archive(r.stage.versions[object])
	case "promotes":
		return people.Promote(r.stage.templates[r.spec.Template], r.stage.versions[object])
	case "suspends":
		return people.SuspendUser(r.stage.users[object])
	case "activates":
		_, err := r.world.SetUserStatus(r.stage.users["operator"], r.stage.users[object], world.UserActive)
		return err
	default:
		return st.errorf("unknown")
	}
}

func (r *run) onWorkspace(people world.People, st statement, what string) error {
	id, err := r.workspace()
	if err != nil {
		return err
	}
	switch what {
	case "deletes":
		_, err = people.Delete(id)
	case "stops":
		_, err = people.Stop(id)
	case "starts":
		_, err = people.Start(id, uuid.Nil)
	case "cancels":
		err = people.Cancel(id)
	case "renames":
		err = people.Rename(id, "renamed")
	default:
		return st.errorf("unknown")
	}
	return err
}

// workspace finds the test's workspace in the world: the one of its name that was
// made last, or the one of its record.
func (r *run) workspace() (uuid.UUID, error) {
	if record, err := r.record(); err == nil && record.Status.WorkspaceID != uuid.Nil {
		return record.Status.WorkspaceID, nil
	}
	all := r.world.All()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Name == core.WorkspaceName(r.test) {
			return all[i].ID, nil
		}
	}
	return uuid.Nil, fmt.Errorf("the test has no workspace at %s", formatTime(r.clock.Now().Sub(r.trail.start)))
}

// anyVersion is the version that the test names, or else one that exists.
func (r *run) anyVersion() uuid.UUID {
	if id, known := r.stage.versions[r.spec.Version.Name]; known {
		return id
	}
	for _, id := range r.stage.versions {
		return id
	}
	return uuid.Nil
}
