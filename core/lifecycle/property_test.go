package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/assay-dev/assay/core"
)

// TestDecideKeepsItsPromises lives through random tests: every read is answered by
// chance, every request too, people and time interfere, and after each decision
// everything must hold that holds for every decision.
func TestDecideKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life := newLife(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			life.meanwhile()
			if !life.step() {
				return
			}
		}
	})
}

// life is one test whose surroundings are drawn.
type life struct {
	*rapid.T
	record core.Record
	now    time.Time
	// first is the result that the record got first: it never changes.
	first core.Status
	// creates counts the create requests that may still take effect.
	creates int
}

func newLife(t *rapid.T) *life {
	in := rapid.SampledFrom([]func() Input{fresh, pending, marked, awaiting, ready, failed, unanswered}).Draw(t, "record")()
	l := &life{T: t, record: in.Record, now: in.Now}
	l.record.DeletionPolicy = rapid.SampledFrom([]string{"", "", "retain", "delete", "Retain"}).Draw(t, "policy")
	if l.chance("a TTL", 3) {
		ttl := 30
		l.record.Spec.TTLSecondsAfterFinished = &ttl
	}
	if l.chance("an inputs timeout", 3) {
		l.record.Spec.InputsTimeoutSeconds = 30
	}
	if l.record.Status.HasMarker() && l.record.Status.WorkspaceID == uuid.Nil && l.chance("a refusal noted", 3) {
		l.record.Status.CreateAnswer = &core.CreateAnswer{Status: rapid.SampledFrom([]int{400, 401, 403, 406, 409, 429}).Draw(t, "noted")}
	}
	return l
}

func (l *life) chance(label string, oneIn int) bool {
	return rapid.IntRange(1, oneIn).Draw(l.T, label) == 1
}

// meanwhile lets time pass and people interfere between two steps.
func (l *life) meanwhile() {
	l.now = l.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 20 * time.Second, 5 * time.Minute, time.Hour}).Draw(l.T, "passes"))
	if l.chance("deletion requested", 10) && l.record.Held {
		l.record.DeletionRequestedAt = l.now
	}
	if l.chance("the hold removed by hand", 30) && !l.record.DeletionRequested() {
		l.record.Held = false
	}
}

// step does what the engine does; false when the record is gone.
func (l *life) step() bool {
	in := Input{Began: l.now, Record: l.record, Options: Options{}.WithDefaults(), RateLimit: RateLimit{Count: 1, Jitter: 0.5}}
	sent := 0
	for range 100 {
		l.now = l.now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, 30 * time.Second}).Draw(l.T, "the read took"))
		in.Now = l.now
		before := encode(l, in)
		d := Decide(in)
		if encode(l, in) != before {
			l.Fatalf("Decide changed its input")
		}
		for _, problem := range problems(&in, &d) {
			l.Fatalf("%s\n%s", problem, summary(d))
		}
		l.judge(&in, &d)
		if d.Read.Kind != ReadNothing {
			l.observe(&in, d.Read)
			continue
		}
		if d.Expire {
			return false
		}
		l.store(&in, &d)
		if l.record.DeletionRequested() && !l.record.Held {
			return false
		}
		switch {
		case d.Request != nil:
			if sent++; sent > 1 {
				l.Fatalf("a step sent two requests")
			}
			l.send(&in, d.Request)
		case !d.Continue:
			return true
		}
	}
	l.Fatalf("a step does not end")
	return false
}

// judge checks what problems cannot: it needs the life so far.
func (l *life) judge(in *Input, d *Decision) {
	if d.Err != nil {
		l.Fatalf("a record that the lifecycle wrote breaks its assertion: %v", d.Err)
	}
	if d.Read.Kind != ReadNothing {
		return
	}
	st := &d.Record.Status
	if first := &l.first; first.Phase.Final() && (st.Phase != first.Phase || st.Reason != first.Reason || st.OutcomeClass != first.OutcomeClass) {
		l.Fatalf("the result %s %s became %s %s", first.Phase, first.Reason, st.Phase, st.Reason)
	}
	if st.Phase == core.PhaseSucceeded && !in.Record.Status.Phase.Final() {
		w := in.Seen.Workspaces[st.WorkspaceID].Value.Latest
		if w.Transition != core.TransitionDelete || w.Job.Status != core.JobSucceeded {
			l.Fatalf("a pass without a delete build that succeeded")
		}
	}
	c := st.Condition(core.ConditionWorkspaceDeleted)
	if d.Hold == HoldRelease && c.Status != core.ConditionTrue && c.Reason != core.ReasonControlPlaneGone &&
		(c.Reason != core.ReasonRetained || !in.Record.DeletionRequested()) {
		l.Fatalf("the hold is released although a workspace can exist: %s/%s", c.Status, c.Reason)
	}
	if d.Expire && (c.Status != core.ConditionTrue || in.Record.Held || !st.Phase.Final()) {
		l.Fatalf("the record expires: %s", summary(*d))
	}
	if !st.Phase.Final() && st.Phase != "" && !in.Record.DeletionRequested() && !d.Done && d.Request == nil {
		if left := in.Record.Deadline().Sub(in.Now); d.After > max(0, left) && !in.Record.Status.StartTime.IsZero() {
			l.Fatalf("a wait of %s sleeps past the deadline in %s", d.After, left)
		}
	}
	if d.Request != nil && d.Request.Kind == RequestCreate {
		if l.creates > 0 {
			l.Fatalf("a create is sent while an earlier one can still take effect")
		}
	}
}

func (l *life) store(in *Input, d *Decision) {
	before := l.record.Status.CreateAttemptID
	l.record.Status = d.Record.Status
	switch d.Hold {
	case HoldTake:
		l.record.Held = true
	case HoldRelease:
		l.record.Held = false
	}
	st := &l.record.Status
	if st.CreateAttemptID != before && st.HasMarker() && st.WorkspaceID == uuid.Nil {
		age := rapid.SampledFrom([]time.Duration{0, 30 * time.Second, 31 * time.Second}).Draw(l.T, "the store took")
		l.now = l.now.Add(age)
		in.Seen.OwnMarker = &OwnMarker{AttemptID: st.CreateAttemptID, Age: age}
	}
	if !st.HasMarker() {
		l.creates = 0 // every rule that clears a marker claims this
	}
	if st.Phase.Final() && !l.first.Phase.Final() {
		l.first = *st
	}
	in.Record = l.record
}

func (l *life) send(in *Input, r *Request) {
	a := &Answer{Request: *r, Failure: l.failure("answer", 2)}
	if r.Kind == RequestCreate {
		if a.Failure == nil || a.Failure.Class == core.FailureUncertain || a.Failure.Class == core.FailureUnavailable {
			l.creates++
		}
		a.Workspace = l.workspace("created")
	}
	a.Build = build(core.TransitionDelete, core.JobPending)
	a.Build.WorkspaceID = in.Record.Status.WorkspaceID
	l.now = l.now.Add(rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(l.T, "the answer took"))
	in.Seen.forgetWorkspaces()
	in.Seen.Answer = a
}

// failure draws none, or one of any class whose message is as hostile as can be.
func (l *life) failure(what string, oneIn int) *core.Failure {
	if !l.chance(what+" fails", oneIn) {
		return nil
	}
	kinds := []*core.Failure{
		unavailable, uncertain, noEffect, unauthorized, notFound, gone, conflict, importing, forbidden, rejected, mismatch, limited,
	}
	f := *rapid.SampledFrom(kinds).Draw(l.T, what)
	f.Message = strings.Repeat("ü\xff🐢", rapid.IntRange(0, 60).Draw(l.T, "length"))
	return &f
}

func drawn[T any](l *life, what string, value func() T) Result[T] {
	if f := l.failure(what, 8); f != nil {
		return failing[T](f)
	}
	return done(value())
}

// observe answers a read.
func (l *life) observe(in *Input, want Read) {
	seen := &in.Seen
	what := readNames[want.Kind]
	switch want.Kind {
	case ReadControlPlane:
		seen.ControlPlane = drawn(l, what, l.plane)
	case ReadDeployment:
		seen.Deployment = drawn(l, what, l.deployment)
	case ReadDeploymentAfter:
		seen.DeploymentAfter = drawn(l, what, l.deployment)
	case ReadOperator:
		seen.Operator = drawn(l, what, func() core.User { return core.User{ID: operatorID} })
	case ReadOwner:
		seen.Owner = drawn(l, what, func() core.User {
			u := tester()
			if l.chance("dormant", 10) {
				u.Status = "dormant"
			}
			return u
		})
	case ReadOrganization:
		seen.Organization = drawn(l, what, func() core.Organization { return core.Organization{ID: orgID, Name: "acme"} })
	case ReadTemplate:
		seen.Template = drawn(l, what, func() core.Template { return resolved().Seen.Template.Value })
	case ReadVersion:
		seen.Version = drawn(l, what, func() core.TemplateVersion {
			v := resolved().Seen.Version.Value
			v.Import = rapid.SampledFrom([]core.JobStatus{core.JobSucceeded, core.JobSucceeded, core.JobRunning, core.JobFailed}).Draw(l.T, "import")
			return v
		})
	case ReadParameters:
		seen.Parameters = drawn(l, what, func() core.ParameterReport { return core.ParameterReport{} })
	case ReadExternalAuth:
		seen.ExternalAuth = drawn(l, what, func() []core.ExternalAuth { return nil })
	case ReadAttemptID:
		seen.AttemptID = uuid.UUID{0: byte(rapid.IntRange(1, 255).Draw(l.T, what)), 15: 1}
	case ReadName:
		seen.Name = drawn(l, what, func() core.NameLookup {
			lookup := core.NameLookup{ServerTime: l.now}
			if l.chance("something has our name", 2) {
				w := l.workspace("named")
				lookup.Workspace = &w
			}
			return lookup
		})
	case ReadWorkspace:
		seen.Workspaces = with(seen.Workspaces, want.ID, drawn(l, what, func() core.Workspace {
			w := l.workspace("read")
			w.ID, w.Latest.WorkspaceID = want.ID, want.ID
			return w
		}))
	case ReadBuilds:
		seen.Builds = with(seen.Builds, want.ID, drawn(l, what, func() []core.Build {
			b := build(core.TransitionStart, core.JobSucceeded)
			b.WorkspaceID = want.ID
			b.InitiatorID = rapid.SampledFrom([]uuid.UUID{operatorID, thirdID, core.PrebuildsUserID}).Draw(l.T, "initiator")
			b.CreatedAt = l.now.Add(time.Second)
			return []core.Build{b}
		}))
	case ReadMayRead:
		seen.MayRead = drawn(l, what, func() bool { return l.chance("may", 2) })
	case ReadMayReadAfter:
		seen.MayReadAfter = drawn(l, what, func() bool { return l.chance("may", 2) })
	case ReadOwned:
		seen.Owned = drawn(l, what, func() []core.Workspace {
			if l.chance("nothing owned", 2) {
				return nil
			}
			return []core.Workspace{renamed()}
		})
	case ReadClaimed:
		seen.Claimed = with(seen.Claimed, want.ID, l.chance("claimed", 4))
	default:
		l.Fatalf("read of an unknown kind: %v", want)
	}
}

func (l *life) plane() core.ControlPlane {
	plane := connected().Seen.ControlPlane.Value
	plane.State = rapid.SampledFrom([]core.ControlPlaneState{
		core.ControlPlaneUsable, core.ControlPlaneUsable, core.ControlPlaneUsable, core.ControlPlaneUsable,
		core.ControlPlaneUnready, core.ControlPlaneNoAccess, core.ControlPlaneGone,
	}).Draw(l.T, "plane")
	plane.Policy.AllowRetain = l.chance("retain allowed", 2)
	return plane
}

func (l *life) deployment() core.Deployment {
	d := core.Deployment{ID: deploymentID, ServerTime: l.now}
	if l.chance("another deployment", 10) {
		d.ID = "another"
	}
	return d
}

// workspace draws one in any state.
func (l *life) workspace(what string) core.Workspace {
	w := ours()
	transition := rapid.SampledFrom([]core.Transition{core.TransitionStart, core.TransitionStart, core.TransitionStop, core.TransitionDelete}).Draw(l.T, what)
	status := rapid.SampledFrom([]core.JobStatus{
		core.JobPending, core.JobRunning, core.JobSucceeded, core.JobSucceeded, core.JobCanceling, core.JobCanceled, core.JobFailed, "odd",
	}).Draw(l.T, "status")
	w.Latest = build(transition, status)
	w.Deleted = transition == core.TransitionDelete && status == core.JobSucceeded || l.chance("deleted", 12)
	w.Latest.Agents = []core.Agent{agent(1,
		rapid.SampledFrom([]core.AgentStatus{core.AgentConnected, core.AgentConnected, core.AgentConnecting, core.AgentTimeout}).Draw(l.T, "agent"),
		rapid.SampledFrom([]core.AgentLifecycle{core.AgentReady, core.AgentReady, core.AgentStarting, core.AgentStartError}).Draw(l.T, "lifecycle"))}
	w.Latest.Job.Provisioners = rapid.IntRange(-1, 1).Draw(l.T, "provisioners")
	return w
}

// The same input gives the same decision.
func TestDecideIsAFunction(t *testing.T) {
	for _, base := range []func() Input{fresh, pending, connected, resolved, marked, announced, awaiting, ready, failed, unanswered} {
		in := base()
		a, b := Decide(in), Decide(in)
		if fmt.Sprintf("%+v", a.Record) != fmt.Sprintf("%+v", b.Record) || summary(a) != summary(b) {
			t.Errorf("%s and %s", summary(a), summary(b))
		}
	}
}
