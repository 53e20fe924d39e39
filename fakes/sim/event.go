package sim

import (
	"fmt"
	"time"

	"github.com/assay-dev/assay/fakes/faults"
)

// Event is one thing that goes wrong or that somebody does.
type Event struct {
	At   time.Duration
	What string
	// Test is the number of the test that it is about, where it is about one.
	Test int
	// For is how long it lasts or how late it is.
	For time.Duration
	// Op and Kind are for the fault of one call: the first of the operation that comes
	// after At and Skip others.
	Op   string
	Kind faults.Kind
	Skip int
	// Status is the status code for a fault in which Coder refuses, or with Proxy
	// something on the way there; Effect tells that a copy of the request had its effect.
	Status        int
	Proxy, Effect bool
}

// String is the event for a trail.
func (e Event) String() string {
	text := e.What
	if e.Op != "" {
		text += fmt.Sprintf(" %s (skip %d)", e.Op, e.Skip)
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" answers %d proxy=%t effect=%t", e.Status, e.Proxy, e.Effect)
	} else if name, ok := kindNames[e.Kind]; ok && e.Op != "" {
		text += " " + name
	}
	if e.For != 0 {
		text += " " + e.For.String()
	}
	return fmt.Sprintf("%s [test %d]", text, e.Test)
}

var kindNames = map[faults.Kind]string{
	faults.Fail: "fails", faults.Refuse: "is not sent", faults.Lose: "is lost", faults.Hang: "hangs", faults.HangLose: "hangs after its effect",
	faults.Late: "comes late", faults.Duplicate: "is sent twice", faults.Stale: "is stale", faults.Mismatch: "answers about something else", faults.RateLimit: "answers 429",
	faults.Unauthorized: "answers 401", faults.Conflict: "conflicts", faults.CrashBefore: "crashes the engine before",
	faults.CrashAfter: "crashes the engine after",
}

// The kinds of events that are not the fault of one call. Each is carried out by
// run.happen.
const (
	callFault      = "call"
	outage         = "outage"
	editBefore     = "somebody edits the record before"
	deleteBefore   = "somebody asks the test to go before"
	rivalBefore    = "a second engine steps before"
	slowCall       = "time passes before"
	rivalEngine    = "a second engine works as well"
	engineRestarts = "the engine restarts"
	clockJumps     = "the wall clock jumps"
	storeLags      = "cached records lag"
	planeLags      = "the cached control plane lags"
	planeUnready   = "the control plane is not ready"
	planeNoAccess  = "the control plane has no access"
	planeUnread    = "the control plane cannot be read"
	planeLeaves    = "the control plane is about to go"
	planeGone      = "the control plane goes"
	planeReturns   = "a control plane of the same name comes"
	planeRotates   = "the token is renewed"
	planeOther     = "the token becomes another user's"
	planeOwner     = "the control plane names another owner"
	allowRetain    = "retain is allowed"
	forbidRetain   = "retain is forbidden"
	wantRetain     = "somebody asks to retain"
	wantDelete     = "somebody asks to delete"
	askToGo        = "somebody asks the test to go"
	edits          = "somebody edits the record"
	removeHold     = "somebody removes the hold"
	deletesIt      = "somebody deletes the workspace"
	stopsIt        = "somebody stops the workspace"
	startsIt       = "somebody starts the workspace"
	cancelsIt      = "somebody cancels the build"
	renamesIt      = "somebody renames the workspace"
	takesName      = "somebody takes the name"
	freesName      = "somebody deletes what has the name"
	claimsName     = "somebody claims a prebuilt workspace under the name"
	bystander      = "the owner makes another workspace"
	renamesUser    = "somebody renames the owner"
	renamesOthers  = "somebody renames the template and the organization"
	suspendsOwner  = "somebody suspends the owner"
	promotesOwner  = "the owner gets a site role"
	expelsOwner    = "the owner leaves the organization"
	linksAuth      = "the owner links its external account"
	losesRights    = "the operator user loses its rights"
	losesToken     = "the token ends"
	deprecates     = "somebody deprecates the template"
	archives       = "somebody archives the version"
	promotes       = "somebody promotes another version"
	swaps          = "another deployment answers"
)

// lasting are the events that end by themselves after For.
var lasting = []string{
	rivalEngine, storeLags, planeLags, planeUnready, planeNoAccess, planeLeaves, planeUnread, suspendsOwner, promotesOwner, expelsOwner,
	losesRights, losesToken, swaps,
}

// sudden are the others that need nothing more than a moment and a test.
var sudden = []string{
	engineRestarts, engineRestarts, planeRotates, planeOther, planeOwner, allowRetain, forbidRetain, wantRetain, wantDelete,
	askToGo, askToGo, askToGo, edits, deletesIt, deletesIt, stopsIt, startsIt, cancelsIt, renamesIt, renamesIt, takesName, freesName,
	claimsName, bystander, renamesUser, renamesOthers, deprecates, archives, promotes, linksAuth,
}

// Operations by what can happen to them.
var (
	reads = []string{
		faults.ReadDeployment, faults.ReadOperator, faults.ReadOwner, faults.FindTemplate, faults.ReadVersion, faults.CheckParameters,
		faults.ReadExternalAuth, faults.FindWorkspace, faults.FindWorkspace, faults.ReadWorkspace, faults.ReadWorkspace, faults.ListBuilds,
		faults.ListWorkspaces, faults.CheckRights,
	}
	changes = []string{
		faults.CreateWorkspace, faults.CreateWorkspace, faults.CreateWorkspace, faults.CreateWorkspace, faults.CancelBuild,
		faults.DeleteWorkspace, faults.DeleteWorkspace,
	}
	storing = []string{faults.SaveRecord, faults.SaveRecord, faults.SaveRecord, faults.SaveRecord, faults.TakeHold, faults.ReleaseHold, faults.DeleteRecord}
	// proxied are what a proxy answers instead of Coder.
	proxied = []int{400, 401, 403, 404, 407, 409, 410, 413, 429, 503}
	// canBeStale are reads whose old answers are survived: not those that are the last
	// proof of absence.
	canBeStale = []string{faults.ReadWorkspace, faults.ReadWorkspace, faults.ListBuilds, faults.ReadVersion, faults.FindTemplate}
)

// event draws one event.
func (d *dice) event(p *Plan) Event {
	e := Event{At: d.upTo(one(d, 20*time.Second, 90*time.Second, 90*time.Second, 5*time.Minute)), Test: d.IntN(len(p.Tests))}
	switch d.IntN(16) {
	case 0, 1, 2:
		d.changeFault(&e)
	case 3, 4:
		d.readFault(&e)
	case 5, 6:
		d.storeFault(&e)
	case 7:
		e.What, e.For = outage, one(d, d.upTo(20*time.Second), d.upTo(3*time.Minute))
		e.Kind = one(d, faults.Fail, faults.Refuse, faults.Hang, faults.RateLimit, faults.Unauthorized, faults.Mismatch, faults.HangLose)
	case 8, 9:
		e.What, e.For = one(d, lasting...), one(d, d.upTo(20*time.Second), d.upTo(2*time.Minute), d.upTo(5*time.Minute))
		if e.What == storeLags || e.What == rivalEngine {
			e.For = d.upTo(20 * time.Second)
		}
	case 10:
		e.What, e.For = clockJumps, one(d, -time.Hour, -time.Minute, 3*time.Second, time.Minute, time.Hour)
	case 11:
		e.What = one(d, editBefore, deleteBefore, rivalBefore, rivalBefore, rivalBefore, slowCall)
		e.Op, e.Skip = one(d, faults.SaveRecord, faults.SaveRecord, faults.CreateWorkspace, faults.DeleteWorkspace, faults.LoadRecord,
			faults.FindWorkspace, faults.ReadWorkspace, faults.ReleaseHold, faults.ReadControlPlane), d.IntN(4)
		if e.What == slowCall {
			e.For = d.upTo(50 * time.Second)
		}
	case 12:
		e.What = one(d, planeGone, planeReturns, removeHold, edits, edits, edits, askToGo)
	default:
		e.What = one(d, sudden...)
	}
	return e
}

// conspiracy draws events that together do what chance seldom does: the outcome of a
// create stays unknown, and until the settle window is over something else keeps it from
// being found out.
func (d *dice) conspiracy(p *Plan) []Event {
	create := Event{Test: d.IntN(len(p.Tests)), What: callFault, Op: faults.CreateWorkspace}
	create.Kind = one(d, faults.Lose, faults.HangLose, faults.CrashAfter, faults.Late, faults.Fail, faults.CrashBefore)
	if create.Kind == faults.Late {
		create.For = d.upTo(time.Minute)
	}
	if d.oneIn(4) {
		create.Kind, create.For = faults.None, 0
		create.Status, create.Effect = one(d, 400, 401, 403, 406, 409, 429), d.oneIn(2)
	}
	unread := Event{What: callFault, Op: faults.FindWorkspace, Kind: faults.Fail, Skip: 1}
	also := Event{
		At: p.Tests[create.Test].Arrives + d.upTo(20*time.Second), Test: create.Test,
		What: one(d, losesRights, losesRights, swaps, swaps, renamesIt, renamesIt, suspendsOwner, losesToken, planeUnready, deletesIt, askToGo,
			rivalEngine, clockJumps, takesName, planeOther, bystander),
		For: d.upTo(9 * time.Minute),
	}
	return []Event{create, unread, also}
}

func (d *dice) changeFault(e *Event) {
	e.What, e.Op = callFault, one(d, changes...)
	switch d.IntN(6) {
	case 0:
		e.Status, e.Effect = one(d, 400, 401, 403, 404, 406, 409, 409, 429, 502), d.oneIn(2)
	case 1:
		e.Kind, e.For = faults.Late, d.upTo(time.Minute)
		if e.Op != faults.CreateWorkspace && d.oneIn(2) {
			e.Kind = faults.Duplicate
		}
	case 2:
		e.Status, e.Proxy, e.Effect = one(d, proxied...), true, d.oneIn(2)
	default:
		e.Kind = one(d, faults.Fail, faults.Lose, faults.Lose, faults.Refuse, faults.Hang, faults.HangLose, faults.Mismatch, faults.RateLimit,
			faults.RateLimit, faults.Unauthorized, faults.CrashBefore, faults.CrashAfter, faults.CrashAfter)
		if e.Kind == faults.RateLimit && d.oneIn(2) {
			e.For = d.upTo(3 * time.Minute)
		}
	}
}

func (d *dice) readFault(e *Event) {
	e.What, e.Op, e.Skip = callFault, one(d, reads...), d.IntN(4)
	switch d.IntN(5) {
	case 0:
		e.Op, e.Kind = one(d, canBeStale...), faults.Stale
	case 1:
		e.Status, e.Proxy = one(d, proxied...), true
	case 2:
		// A 404 only where it says nothing about workspaces.
		e.Status = one(d, 403, 404, 429, 500, 502)
		if e.Status == 404 && e.Op == faults.FindWorkspace {
			e.Status = 502
		}
	default:
		e.Kind = one(d, faults.Fail, faults.Hang, faults.Mismatch, faults.RateLimit, faults.Unauthorized, faults.CrashBefore, faults.CrashAfter)
	}
}

func (d *dice) storeFault(e *Event) {
	e.What, e.Op, e.Skip = callFault, one(d, storing...), d.IntN(5)
	e.Kind = one(d, faults.Fail, faults.Lose, faults.Lose, faults.Conflict, faults.CrashBefore, faults.CrashAfter, faults.CrashAfter)
	if d.oneIn(4) {
		e.Op = one(d, faults.LoadRecord, faults.ReadControlPlane, faults.FindHolder, faults.TellTransition, faults.TakeEvidence)
		e.Kind = one(d, faults.Fail, faults.CrashBefore, faults.CrashAfter)
	}
}
