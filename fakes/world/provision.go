package world

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// addBuild makes a build and starts to play its plan.
func (w *World) addBuild(ws *workspace, v *version, transition core.Transition, initiator uuid.UUID, parameters []ParameterValue) *build {
	plan := w.planFor(ws, v, transition, parameters)
	b := &build{
		id: w.newID(idBuild), workspace: ws, number: len(ws.builds) + 1, transition: transition, initiator: initiator,
		version: v, parameters: parameters, plan: plan, created: w.stamp(),
	}
	tags := maps.Clone(v.tags)
	if tags == nil {
		tags = map[string]string{}
	}
	if count, _ := w.matched(ws.organization, coderTags(ws.owner, tags)); count == 0 {
		plan.NoProvisioners = true
		b.plan = plan
	}
	maps.Copy(tags, plan.Tags)
	b.job = w.newJob(coderTags(ws.owner, tags))
	if plan.NoProvisioners {
		b.job.provisioners = 0
	}
	ws.builds = append(ws.builds, b)
	w.buildByID[b.id] = b
	w.touch(ws)
	if plan.Outcome == NeverPickedUp || plan.NoProvisioners {
		b.next = w.in(ReapPending, func() { w.reap(b, "pending", ReapPending) })
	} else {
		b.next = w.in(plan.Queue, func() { w.pickUp(b) })
	}
	return b
}

func (w *World) newJob(tags map[string]string) *job {
	return &job{id: w.newID(idJob), created: w.stamp(), updated: w.stamp(), provisioners: 1, tags: tags, tagList: tagList(tags)}
}

// pickUp is a provisioner taking the job. It gets the owner's session token for a start
// build, and the token goes with the others (source).
func (w *World) pickUp(b *build) {
	b.job.started, b.job.updated = w.stamp(), w.stamp()
	if b.transition == core.TransitionStart {
		w.sessions[b.workspace.id] = b.workspace.owner
	} else {
		delete(w.sessions, b.workspace.id)
	}
	b.say(w.stamp(), "Starting "+string(b.transition)+"...")
	w.touch(b.workspace)
	switch b.plan.Outcome {
	case Hangs:
		b.next = w.in(ReapHung, func() { w.reap(b, "hung", ReapHung) })
	case RunsForever:
		b.next = nil
	default:
		b.next = w.in(b.plan.Run, func() { w.complete(b) })
	}
}

// complete is the planned end of a job.
func (w *World) complete(b *build) {
	b.say(w.stamp(), b.plan.Log)
	if b.plan.Outcome == Fails {
		w.end(b, orElse(b.plan.Error, "terraform apply: exit status 1"), b.plan.ErrorCode)
		return
	}
	w.end(b, "", "")
}

// end ends a job, well without an error text, and lets its consequences happen.
func (w *World) end(b *build, errorText, errorCode string) {
	b.next = nil
	b.job.errorText, b.job.errorCode = errorText, errorCode
	b.job.completed, b.job.updated = w.stamp(), w.stamp()
	w.touch(b.workspace)
	if b.job.status() != core.JobSucceeded {
		return
	}
	switch b.transition {
	case core.TransitionStart:
		b.resource = w.newID(idResource)
		w.addAgents(b, b.plan.Agents, nil)
		w.planAutostop(b)
	case core.TransitionDelete:
		b.workspace.deleted = true
		for _, earlier := range b.workspace.builds {
			for _, a := range earlier.agents {
				delete(w.agentByID, a.id)
			}
		}
	}
}

// reap is Coder ending a job that hung or that nobody took (source).
func (w *World) reap(b *build, what string, after time.Duration) {
	if b.job.started.IsZero() {
		b.job.started = w.stamp()
	}
	b.say(w.stamp(), fmt.Sprintf("Coder: Build has been detected as %s for %.0f minutes and will be terminated.", what, after.Minutes()))
	w.end(b, fmt.Sprintf("Coder: Build has been detected as %s for %.0f minutes and has been terminated by the reaper.", what, after.Minutes()), "")
}

// cancelJob marks a job as canceled. One that nobody took has ended with that.
func (w *World) cancelJob(b *build) {
	b.job.canceled, b.job.updated = w.stamp(), w.stamp()
	if b.next != nil {
		b.next.off = true
	}
	w.touch(b.workspace)
	if b.job.started.IsZero() {
		w.end(b, "", "")
		return
	}
	switch b.plan.CanceledAs {
	case CancelHangs:
		b.next = w.in(ReapHung, func() { w.reap(b, "hung", ReapHung) })
	case CancelFails:
		b.next = w.in(b.plan.Cancel, func() { w.end(b, "terraform apply: signal: interrupt", "") })
	default:
		b.next = w.in(b.plan.Cancel, func() { w.end(b, "", "") })
	}
}

// planAutostop stops the workspace once its time to live is over; it never deletes it
// (seen).
func (w *World) planAutostop(b *build) {
	ws := b.workspace
	if ws.ttl == 0 {
		return
	}
	w.in(ws.ttl, func() {
		if ws.latest() == b && !ws.deleted {
			w.addBuild(ws, b.version, core.TransitionStop, ws.owner, b.parameters).automatic = true
		}
	})
}

// say adds lines to a build's log.
func (b *build) say(at time.Time, text string) {
	for line := range strings.Lines(text) {
		b.logs = append(b.logs, LogLine{At: at, Text: strings.TrimSuffix(line, "\n")})
	}
}
