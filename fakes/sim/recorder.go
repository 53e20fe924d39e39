package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/world"
)

// recorder writes a History. Its wrappers sit at two places: above the faults, where it
// sees what an engine asks for, and below them, where it sees what takes effect.
type recorder struct {
	history *History
	clock   *clock.Clock
	world   *world.World
	// plane is the control plane as it is now.
	plane func() core.ControlPlane
	// planeGone tells that it was gone at some time.
	planeGone bool

	tests  map[uuid.UUID]*witness
	byName map[string]*witness
	// maker is the test whose create made a workspace.
	maker map[uuid.UUID]uuid.UUID
	// running are the steps under way, the innermost last: a second engine's step can
	// happen within a call of the first one's. Each is an index of history.Steps.
	running []int
	// writing tells that an engine's write is under way.
	writing bool
	// settleWindow is the engines'; 0 when nothing comes later than it.
	settleWindow time.Duration
	// note, unless nil, writes a line of a trail.
	note func(test uuid.UUID, mark, text string)
}

// witness is what the recorder knows about a test.
type witness struct {
	id   uuid.UUID
	last *core.Record
	gone bool
	made []uuid.UUID
	// underWay are the moments at which creates take effect that are on their way.
	underWay []time.Duration
}

func newRecorder(history *History, clock *clock.Clock, w *world.World, plane func() core.ControlPlane) *recorder {
	history.Steps = make([]Step, 0, 64)
	return &recorder{
		history: history, clock: clock, world: w, plane: plane,
		tests: map[uuid.UUID]*witness{}, byName: map[string]*witness{}, maker: map[uuid.UUID]uuid.UUID{},
	}
}

func (r *recorder) watch(test uuid.UUID) *witness {
	w := &witness{id: test}
	r.tests[test], r.byName[core.WorkspaceName(test)] = w, w
	return w
}

// changed notes a record's change; after is nil when it disappeared.
func (r *recorder) changed(test uuid.UUID, after *core.Record) {
	w := r.tests[test]
	if w == nil {
		w = r.watch(test)
	}
	s := Stored{At: r.clock.Monotonic(), Test: test, Before: w.last, After: after, ByEngine: r.writing}
	if w.last != nil && (after == nil || w.last.Held && !after.Held) {
		s.CanExist, s.Allowed = r.canExist(w), r.mayGo(w.last)
	}
	if after != nil && after.Status.Phase == core.PhaseSucceeded {
		s.Passed = r.world.DeletedWell(after.Status.WorkspaceID)
	}
	r.history.Stored = append(r.history.Stored, s)
	if after == nil {
		w.gone = true
		return
	}
	w.last, w.gone = after, false
}

// canExist says why a workspace of the test can exist now.
func (r *recorder) canExist(w *witness) string {
	for _, id := range w.made {
		if r.world.Lives(id) {
			return "workspace " + id.String() + " lives"
		}
	}
	for _, until := range w.underWay {
		if until > r.clock.Monotonic() {
			return "a create is under way until " + clockTime(until)
		}
	}
	return ""
}

// mayGo says why the hold of a record may go although a workspace can exist.
func (r *recorder) mayGo(record *core.Record) string {
	reason := record.Status.Condition(core.ConditionWorkspaceDeleted).Reason
	policy, _ := core.ParseDeletionPolicy(record.DeletionPolicy)
	switch {
	case !record.Held:
		return ""
	case reason == core.ReasonControlPlaneGone && r.planeGone:
		return "the control plane is gone"
	case reason == core.ReasonRetained && record.DeletionRequested() && policy == core.DeletionPolicyRetain && r.plane().Policy.AllowRetain:
		return "the workspace is retained"
	default:
		return ""
	}
}

// sent notes a changing request of the step under way.
func (r *recorder) sent(s Sent) {
	s.At = r.clock.Monotonic()
	if len(r.running) > 0 {
		step := &r.history.Steps[r.running[len(r.running)-1]]
		step.Sent++
		s.Test = step.Test
	}
	w := r.tests[s.Test]
	if w != nil && !w.gone {
		s.Record = w.last
	}
	switch {
	case w == nil:
		s.Theft = "no test is known that sends it"
	case s.Kind == lifecycle.RequestCreate:
		s.Earlier = r.earlier(w)
	default:
		s.Theft = r.theft(w, s.Workspace)
	}
	r.history.Sent = append(r.history.Sent, s)
}

// earlier says why an earlier create can still take effect or has done so. A workspace
// that was renamed and then deleted does not count: no read can find it, and nothing is
// left of it.
func (r *recorder) earlier(w *witness) string {
	for _, id := range w.made {
		if r.world.Lives(id) || r.world.NameOf(id) == core.WorkspaceName(w.id) {
			return "an earlier one made workspace " + id.String()
		}
	}
	for _, until := range w.underWay {
		if until > r.clock.Monotonic() {
			return "an earlier one takes effect at " + clockTime(until)
		}
	}
	return ""
}

// theft says why a workspace is not the test's.
func (r *recorder) theft(w *witness, workspace uuid.UUID) string {
	if r.maker[workspace] == w.id {
		return ""
	}
	if first := r.world.FirstBuild(workspace); first != nil && w.last != nil {
		pins := &w.last.Status.Pins
		if first.Transition == core.TransitionStart && first.Initiator.ID == pins.OperatorUserID && first.Version == pins.TemplateVersionID &&
			first.Owner.ID == pins.OwnerID {
			return "" // a lost record: proven provenance
		}
	}
	return fmt.Sprintf("workspace %s was not made by this test", workspace)
}

// called notes a call of a port by the step under way, and has what happens around it
// not count as the step's own time.
func (r *recorder) called(call faults.Call, fault faults.Fault) faults.Fault {
	if len(r.running) == 0 {
		return fault
	}
	index := r.running[len(r.running)-1]
	if coderCalls[call.Op] {
		r.history.Steps[index].Calls++
	}
	if call.Op == faults.CreateWorkspace && (fault.Kind == faults.Late || fault.Kind == faults.Duplicate) {
		if w := r.tests[r.history.Steps[index].Test]; w != nil {
			w.underWay = append(w.underWay, r.clock.Monotonic()+fault.Delay)
		}
	}
	around := func(what func()) func() {
		if what == nil {
			return nil
		}
		return func() {
			began := r.clock.Monotonic()
			defer func() { r.history.Steps[index].Delayed += r.clock.Monotonic() - began }()
			what()
		}
	}
	fault.Meanwhile, fault.Afterwards = around(fault.Meanwhile), around(fault.Afterwards)
	return fault
}

// coderCalls are the operations that are requests to Coder.
var coderCalls = map[string]bool{
	faults.ReadDeployment: true, faults.ReadOperator: true, faults.ReadOwner: true, faults.FindOrganization: true,
	faults.FindTemplate: true, faults.FindVersion: true, faults.ReadVersion: true, faults.CheckParameters: true,
	faults.ReadExternalAuth: true, faults.FindWorkspace: true, faults.ReadWorkspace: true, faults.ListBuilds: true,
	faults.ListWorkspaces: true, faults.CheckRights: true, faults.CreateWorkspace: true, faults.CancelBuild: true,
	faults.DeleteWorkspace: true, faults.ReadBuildLog: true, faults.ReadAgentLogs: true,
}

// step does a step and notes it.
func (r *recorder) step(test uuid.UUID, do func() (lifecycle.Next, error)) (next lifecycle.Next, err error) {
	index := len(r.history.Steps)
	r.history.Steps = append(r.history.Steps, Step{Test: test, Began: r.clock.Monotonic(), Crashed: true})
	r.running = append(r.running, index)
	defer func() {
		r.running = r.running[:len(r.running)-1]
		r.writing = false
		s := &r.history.Steps[index]
		s.Ended = r.clock.Monotonic()
		if w := r.tests[test]; w != nil && !w.gone {
			s.After, s.LeftToRun = w.last, w.last.Deadline().Sub(r.clock.Now())
		}
	}()
	next, err = do()
	s := &r.history.Steps[index]
	s.Crashed, s.Next, s.Err = false, next, err
	if err != nil {
		s.Injected = strings.Contains(err.Error(), faults.Sentinel)
		r.said("error", err.Error())
	}
	return next, err
}

func (r *recorder) said(where, text string) {
	r.history.Texts = append(r.history.Texts, Text{At: r.clock.Monotonic(), Where: where, Text: text})
}

// look fills in what the deployment says about the end of a test.
func (r *recorder) look(end *End) {
	w := r.tests[end.Test]
	pins := &w.last.Status.Pins
	for _, ws := range r.world.EveryLive() {
		ours := r.maker[ws.ID] == w.id
		named := ws.Name == core.WorkspaceName(w.id)
		switch {
		case ours:
			end.Live = append(end.Live, ws.ID)
			end.LookAlike = end.LookAlike || !named
		case ws.Owner.ID != pins.OwnerID:
		case named:
			end.NameTaken = true
		case ws.Template.ID == pins.TemplateID && r.theft(w, ws.ID) == "":
			end.LookAlike = true
		}
	}
}
