package sim

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// asking is the wrapper above the faults.
type asking struct {
	ports.CodeRunner
	recorder *recorder
}

func (r *recorder) above(inner ports.CodeRunner) ports.CodeRunner { return &asking{inner, r} }

func (a *asking) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	a.recorder.sent(Sent{Kind: lifecycle.RequestCreate})
	workspace, err := a.CodeRunner.CreateWorkspace(ctx, request)
	a.recorder.answered("create ", request.Name, err)
	return workspace, err
}

func (a *asking) CancelBuild(ctx context.Context, build uuid.UUID, expected core.JobStatus) error {
	a.recorder.sent(Sent{Kind: lifecycle.RequestCancel, Build: build, Workspace: a.recorder.world.WorkspaceOf(build)})
	err := a.CodeRunner.CancelBuild(ctx, build, expected)
	a.recorder.answered("cancel, expecting ", string(expected), err)
	return err
}

func (a *asking) DeleteWorkspace(ctx context.Context, workspace uuid.UUID) (core.Build, error) {
	a.recorder.sent(Sent{Kind: lifecycle.RequestDelete, Workspace: workspace})
	build, err := a.CodeRunner.DeleteWorkspace(ctx, workspace)
	if a.recorder.note != nil {
		a.recorder.answered("delete ", workspace.String(), err)
	}
	return build, err
}

// answered writes a request that did not crash into the trail.
func (r *recorder) answered(what, about string, err error) {
	if r.note == nil {
		return
	}
	what += about
	if err != nil {
		what += ": " + err.Error()
	}
	r.note(r.current(), ">", what)
}

// current is the test of the step under way, or uuid.Nil.
func (r *recorder) current() uuid.UUID {
	if len(r.running) == 0 {
		return uuid.Nil
	}
	return r.history.Steps[r.running[len(r.running)-1]].Test
}

// taking is the wrapper below the faults.
type taking struct {
	ports.CodeRunner
	recorder *recorder
}

func (r *recorder) beneath(inner ports.CodeRunner) ports.CodeRunner { return &taking{inner, r} }

func (t *taking) CreateWorkspace(ctx context.Context, request core.CreateRequest) (core.Workspace, error) {
	workspace, err := t.CodeRunner.CreateWorkspace(ctx, request)
	if err != nil {
		return workspace, err
	}
	r := t.recorder
	if w := r.byName[request.Name]; w != nil {
		r.excuseLate(w)
		w.made = append(w.made, workspace.ID)
		r.maker[workspace.ID] = w.id
		r.history.Made = append(r.history.Made, Made{At: r.clock.Monotonic(), Test: w.id, Workspace: workspace.ID})
	}
	return workspace, nil
}

// excuseLate excuses a test whose create takes effect after the settle window.
func (r *recorder) excuseLate(w *witness) {
	if r.settleWindow == 0 || w.last == nil || !w.last.Status.HasMarker() {
		return
	}
	if r.world.ServerTime().Sub(w.last.Status.CreateAttemptTime) >= r.settleWindow-time.Second {
		r.history.Excuse(w.id, "its create took effect after the settle window")
	}
}

// writes marks the changes of a store that come from an engine.
type writes struct {
	ports.WorkspaceStore
	recorder *recorder
}

func (r *recorder) store(inner ports.WorkspaceStore) ports.WorkspaceStore { return &writes{inner, r} }

func (w *writes) Save(ctx context.Context, record core.Record) (core.Record, error) {
	defer w.begin()()
	return w.WorkspaceStore.Save(ctx, record)
}

func (w *writes) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	defer w.begin()()
	return w.WorkspaceStore.TakeHold(ctx, record)
}

func (w *writes) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	defer w.begin()()
	return w.WorkspaceStore.ReleaseHold(ctx, record)
}

func (w *writes) Delete(ctx context.Context, record core.Record) error {
	defer w.begin()()
	return w.WorkspaceStore.Delete(ctx, record)
}

func (w *writes) begin() (end func()) {
	w.recorder.writing = true
	return func() { w.recorder.writing = false }
}
