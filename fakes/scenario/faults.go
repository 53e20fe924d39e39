package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/faults"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/ports"
)

// The statements of the keyword fault are "OPERATION WHICH WHAT": WHICH is the number
// of the call, a range such as 2-4, or * for every call. The last reads of a step that
// crashed are not counted: the next engine repeats them. WHAT is
//
//	fails                    no effect, and no answer that says so
//	not sent                 no effect, and it is known
//	lost                     the effect, and no answer
//	hangs                    no effect, after the request's timeout
//	late D                   no answer, and the effect D later
//	mismatch                 the effect, and an answer about something else
//	answers CODE [D] [after] Coder refuses, D is its Retry-After; with after, another
//	                         copy of the request had its effect
//	answers no               for may-read
//	conflict                 for a store operation
//	crash before|after       the engine dies, before or after the effect
//	takes D                  the clock advances by D before the call; for the
//	                         operation sink: while the transition is told
//	preceded by STATEMENT    what people do just before the call
//	followed by STATEMENT    what people do just after it
var operations = map[string]string{
	"deployment": faults.ReadDeployment, "operator": faults.ReadOperator, "owner": faults.ReadOwner,
	"organization": faults.FindOrganization, "template": faults.FindTemplate, "version": faults.ReadVersion,
	"parameters": faults.CheckParameters, "external-auth": faults.ReadExternalAuth, "name": faults.FindWorkspace,
	"workspace": faults.ReadWorkspace, "builds": faults.ListBuilds, "owned": faults.ListWorkspaces,
	"may-read": faults.CheckRights, "create": faults.CreateWorkspace, "cancel": faults.CancelBuild,
	"delete": faults.DeleteWorkspace, "load": faults.LoadRecord, "save": faults.SaveRecord, "sink": faults.TellTransition,
}

// faultPlan is the faults of a story, and the record of its changing requests.
type faultPlan struct {
	run      *run
	injector *faults.Injector
	rules    []faultRule
	// reads counts the reads of the step under way since its last change, and repeated
	// those of steps that crashed, by operation.
	reads, repeated map[string]int
}

type faultRule struct {
	op          string
	first, last int
	what        statement
}

func newFaultPlan(r *run, statements []statement) (*faultPlan, error) {
	plan := &faultPlan{run: r, reads: map[string]int{}, repeated: map[string]int{}}
	for _, st := range statements {
		if len(st.words) < 3 {
			return nil, st.errorf("needs an operation, which calls, and what")
		}
		op, known := operations[st.words[0]]
		if !known {
			return nil, st.errorf("unknown operation")
		}
		rule := faultRule{op: op, first: 1, last: faults.Always, what: st}
		if which := st.words[1]; which != "*" {
			first, last, isRange := strings.Cut(which, "-")
			var err1, err2 error
			rule.first, err1 = strconv.Atoi(first)
			rule.last = rule.first
			if isRange {
				rule.last, err2 = strconv.Atoi(last)
			}
			if err := errors.Join(err1, err2); err != nil {
				return nil, st.errorf("%v", err)
			}
		}
		rule.what.words = st.words[2:]
		plan.rules = append(plan.rules, rule)
	}
	plan.injector = faults.New(r.clock, plan.hook)
	return plan, nil
}

// hook adds up what the rules say about a call.
func (p *faultPlan) hook(call faults.Call) faults.Fault {
	var fault faults.Fault
	if call.Changes {
		clear(p.reads) // what came of them is stored now, or known to Coder
	} else {
		p.reads[call.Op]++
	}
	n := call.N - p.repeated[call.Op]
	for _, rule := range p.rules {
		if rule.op != call.Op || n < rule.first || n > rule.last || rule.what.rest(0) == denied {
			continue
		}
		if err := p.add(&fault, call, rule.what); err != nil {
			panic(err) // a scenario file that cannot be read
		}
	}
	if p.run.options.Fault != nil {
		fault = p.run.options.Fault(call, fault)
	}
	return fault
}

func (p *faultPlan) add(fault *faults.Fault, call faults.Call, st statement) error {
	kinds := map[string]faults.Kind{
		"fails": faults.Fail, "not sent": faults.Refuse, "lost": faults.Lose, "hangs": faults.Hang,
		"mismatch": faults.Mismatch, "conflict": faults.Conflict, "crash before": faults.CrashBefore, "crash after": faults.CrashAfter,
	}
	if kind, ok := kinds[st.rest(0)]; ok {
		fault.Kind = kind
		return nil
	}
	switch st.words[0] {
	case "late", "takes":
		d, err := time.ParseDuration(st.word(1))
		if err != nil {
			return st.errorf("%v", err)
		}
		switch pass := func() { p.run.clock.Advance(d) }; {
		case st.words[0] == "takes" && call.Op == faults.TellTransition:
			fault.Afterwards = pass
			return nil
		case st.words[0] == "takes":
			fault.Meanwhile = pass
			return nil
		}
		fault.Kind, fault.Delay = faults.Late, d
		return nil
	case "preceded":
		fault.Meanwhile = p.people(st)
		return nil
	case "followed":
		fault.Afterwards = p.people(st)
		return nil
	case "answers":
		return p.answers(fault, call, st)
	default:
		return st.errorf("unknown fault")
	}
}

// people is what somebody does around a call.
func (p *faultPlan) people(st statement) func() {
	return func() {
		st.words = st.words[min(2, len(st.words)):]
		p.run.trail.people(st.rest(0))
		switch err := p.run.people(st); {
		case err != nil && p.run.options.Lenient:
			p.run.trail.people("in vain: " + err.Error())
		case err != nil:
			panic(err)
		}
	}
}

// answers has Coder refuse a call with a status code.
func (p *faultPlan) answers(fault *faults.Fault, call faults.Call, st statement) error {
	code, err := strconv.Atoi(st.word(1))
	if err != nil {
		return st.errorf("%v", err)
	}
	f := faults.Answer(call, code)
	fault.Kind, fault.Error = faults.Fail, f
	for _, word := range st.words[2:] {
		if word == "after" {
			fault.Kind = faults.Lose
			continue
		}
		if f.RetryAfter, err = time.ParseDuration(word); err != nil {
			return st.errorf("%v", err)
		}
	}
	return nil
}

// dial makes the CodeRunner that the engine sees: what it asks for is written down,
// then the faults strike.
func (p *faultPlan) dial(connection core.Connection) (ports.CodeRunner, error) {
	var inner ports.CodeRunner = runner.WithToken(p.run.world, connection.Token)
	if p.run.options.Beneath != nil {
		inner = p.run.options.Beneath(inner)
	}
	var outer ports.CodeRunner = &noted{CodeRunner: p.injector.CodeRunner(&denying{CodeRunner: inner, plan: p}), run: p.run}
	if p.run.options.Above != nil {
		outer = p.run.options.Above(outer)
	}
	return outer, nil
}

var errCrashed = errors.New("the engine crashed")

// guard turns a crash into errCrashed.
func (p *faultPlan) guard(step func() (lifecycle.Next, error)) (next lifecycle.Next, err error) {
	clear(p.reads)
	defer func() {
		switch crash := recover().(type) {
		case nil:
		case faults.Crash:
			err = errCrashed
			for op, n := range p.reads {
				p.repeated[op] += n
			}
		default:
			panic(crash)
		}
	}()
	return step()
}

// injected reports whether an error of a step comes from a fault.
func (p *faultPlan) injected(err error) bool { return strings.Contains(err.Error(), faults.Sentinel) }

// denied is what denying answers.
const denied = "answers no"

// denying lets may-read be answered with no.
type denying struct {
	ports.CodeRunner
	plan  *faultPlan
	calls int
}

func (d *denying) MayReadWorkspaces(ctx context.Context, owner, organization uuid.UUID) (bool, error) {
	d.calls++
	for _, rule := range d.plan.rules {
		if rule.op == faults.CheckRights && rule.what.rest(0) == denied && d.calls >= rule.first && d.calls <= rule.last {
			return false, nil
		}
	}
	return d.CodeRunner.MayReadWorkspaces(ctx, owner, organization)
}

// noted writes every changing request into the trail.
type noted struct {
	ports.CodeRunner
	run *run
}

func (n *noted) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	about := fmt.Sprintf("version %s, owner %s", n.run.stage.versionName(request.VersionID), n.run.stage.userName(request.OwnerID))
	for _, p := range request.Parameters {
		about += fmt.Sprintf(", %s=%s", p.Name, p.Value)
	}
	if request.PresetID != uuid.Nil {
		about += ", preset " + n.run.spec.Preset
	}
	return note(n, "create", about, func() (core.Workspace, error) { return n.CodeRunner.CreateWorkspace(ctx, request) })
}

func (n *noted) CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error {
	_, err := note(n, "cancel", "expecting "+string(expected), func() (struct{}, error) {
		return struct{}{}, n.CodeRunner.CancelBuild(ctx, build, expected)
	})
	return err
}

func (n *noted) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	return note(n, "delete", "", func() (core.Build, error) { return n.CodeRunner.DeleteWorkspace(ctx, workspace) })
}

// WatchWorkspace leaves out how the workspace is at first and what requests of the test do
// to it: a stream may miss that, and the bare engine hears nothing of it either.
func (n *noted) WatchWorkspace(ctx context.Context, workspace uuid.UUID, on func(core.Workspace)) error {
	return n.CodeRunner.WatchWorkspace(ctx, workspace, func(seen core.Workspace) {
		if n.run.options.AllEvents || n.run.passing.Load() {
			on(seen)
		}
	})
}

// note makes a request and then writes it down, before what happens after it; also
// when it crashes.
func note[T any](n *noted, what, about string, send func() (T, error)) (answer T, err error) {
	at := len(n.run.trail.lines)
	defer func() {
		crash := recover()
		if crash != nil {
			err = errCrashed
		}
		n.run.trail.requestAt(at, what, about, err)
		if crash != nil {
			panic(crash)
		}
	}()
	return send()
}
