package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// storeResult is what became of the writing part of a decision.
type storeResult int

const (
	// recordStored: it is stored, or there was nothing to store.
	recordStored storeResult = iota
	// recordMoved: the record changed meanwhile; nothing was stored.
	recordMoved
	// recordGone: there is no record any more.
	recordGone
)

// store carries out the writing part of a decision.
func (r *stepRun) store(ctx context.Context, d *Decision) (storeResult, error) {
	before, store := r.in.Record, r.config.Store
	var after core.Record
	var err error
	switch {
	case d.Expire:
		if err = store.Delete(ctx, before); err == nil {
			return recordGone, nil
		}
	case d.Hold == HoldTake:
		after, err = store.TakeHold(ctx, before)
	case d.Hold == HoldRelease:
		after, err = store.ReleaseHold(ctx, before)
	case sameStatus(&d.Record.Status, &before.Status):
		return recordStored, nil
	default:
		after, err = store.Save(ctx, d.Record)
	}
	switch {
	case err == nil:
		r.stored(before, after)
		return recordStored, nil
	case errors.Is(err, ports.ErrNotFound):
		if d.Fact {
			r.logLostFact(ctx, d)
		}
		return recordGone, nil
	case errors.Is(err, ports.ErrConflict):
		return recordMoved, nil
	default:
		return recordStored, fmt.Errorf("store: %w", err)
	}
}

// logLostFact tells of a create whose outcome has no record to be stored in.
func (r *stepRun) logLostFact(ctx context.Context, d *Decision) {
	r.config.Logger.ErrorContext(ctx, "the record disappeared while its create was under way; sweep finds the workspace",
		"test", r.in.Record.ID, "workspace", d.Record.Status.WorkspaceID)
}

// stored goes on with the record as it is stored now, and tells the sink.
func (r *stepRun) stored(before, after core.Record) {
	if after.Status.CreateAttemptID != before.Status.CreateAttemptID && after.Status.HasMarker() && after.Status.WorkspaceID == uuid.Nil {
		r.storedAt = r.config.Clock.Monotonic()
		r.in.Seen.OwnMarker = &OwnMarker{AttemptID: after.Status.CreateAttemptID}
	}
	r.in.Record = after
	r.lastRead = Read{}
	if r.config.Sink != nil {
		r.config.Sink.Transition(core.StoredTransition{
			At: r.config.Clock.Now(), Before: before, After: after, CoderVersion: r.in.Seen.Deployment.Value.Version,
		})
	}
}

// send sends the request; its answer is what Decide sees next.
func (r *stepRun) send(ctx context.Context, request *Request) {
	answer := &Answer{Request: *request}
	entry, err := r.dialed.entry(r.in.Seen.ControlPlane.Value.Connection)
	r.entry = entry
	switch slow := r.slowedDown(); {
	case err != nil:
		answer.Failure = &core.Failure{Class: core.FailureNoEffect, Op: request.Kind.String() + " workspace", Message: err.Error()}
	case slow != nil:
		if request.Kind == RequestCreate {
			// Nothing was sent: the announcement is taken back.
			slow.Class = core.FailureNoEffect
		}
		answer.Failure = slow
	default:
		r.sendNow(ctx, entry.runner, request, answer)
	}
	r.in.Seen.forgetWorkspaces()
	r.in.Seen.Answer = answer
	r.lastRead = Read{}
}

// sendNow sends the request and fills in the answer.
func (r *stepRun) sendNow(ctx context.Context, runner ports.CodeRunner, request *Request, answer *Answer) {
	if request.Evidence {
		r.collectEvidence(ctx, runner)
	}
	var err error
	switch request.Kind {
	case RequestCreate:
		answer.Workspace, err = runner.CreateWorkspace(ctx, request.Create)
	case RequestCancel:
		err = runner.CancelBuild(ctx, request.Build, request.Expected)
	case RequestDelete:
		answer.Build, err = runner.DeleteWorkspace(ctx, request.Workspace)
	}
	if err != nil {
		answer.Failure = changeFailure(err)
		r.noteRateLimit(answer.Failure)
	}
}

// changeFailure classifies the error of a change: one without a class may have
// taken effect.
func changeFailure(err error) *core.Failure {
	var failure *core.Failure
	if errors.As(err, &failure) {
		return failure
	}
	return &core.Failure{Class: core.FailureUncertain, Op: "ask coder", Message: err.Error()}
}

// collectEvidence hands what can be read about a failed test to the sink, once, in
// bounded time and size. Whatever goes wrong is logged and changes nothing.
func (r *stepRun) collectEvidence(ctx context.Context, runner ports.CodeRunner) {
	record := &r.in.Record
	r.mu.Lock()
	again := r.evidenced[record.ID]
	r.evidenced[record.ID] = true
	r.mu.Unlock()
	if r.config.Evidence == nil || again {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := r.config.Clock.AfterFunc(r.config.Options.EvidenceTimeout, cancel)
	defer timer.Stop()

	evidence := core.Evidence{
		TestID: record.ID, Record: *record, CoderVersion: r.in.Seen.Deployment.Value.Version,
		Workspace: r.in.Seen.Workspaces[record.Status.WorkspaceID].Value,
	}
	limit := r.config.Options.EvidenceLogBytes
	if log, err := runner.BuildLog(ctx, record.Status.StartBuildID, limit); err != nil {
		r.config.Logger.WarnContext(ctx, "evidence: build log not read", "test", record.ID, "error", err)
	} else {
		evidence.Logs = append(evidence.Logs, log)
	}
	for _, agent := range evidence.Workspace.Latest.Agents {
		logs, err := runner.AgentLogs(ctx, agent.ID, limit)
		if err != nil {
			r.config.Logger.WarnContext(ctx, "evidence: agent logs not read", "test", record.ID, "agent", agent.ID, "error", err)
			continue
		}
		evidence.Logs = append(evidence.Logs, logs...)
	}
	if err := r.config.Evidence.Evidence(ctx, evidence); err != nil {
		r.config.Logger.WarnContext(ctx, "evidence: not taken", "test", record.ID, "error", err)
	}
}
