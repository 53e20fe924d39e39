package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/sink"
	"github.com/assay-dev/assay/fakes/store"
	"github.com/assay-dev/assay/ports"
)

// rig is an engine whose every I/O is written down, in its order.
type rig struct {
	*testing.T
	clock  *clock.Clock
	store  *spiedStore
	planes *planes.Planes
	coder  *coder
	sink   *sink.Sink
	log    bytes.Buffer
	engine *Engine
	// trail is the I/O since the last call of io.
	trail []string
}

// newRig puts the input's record and control plane where the engine finds them.
func newRig(t *testing.T, in Input, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{T: t, clock: clock.New(in.Now)}
	plane := connected().Seen.ControlPlane.Value
	if in.Seen.ControlPlane.Done {
		plane = in.Seen.ControlPlane.Value
	}
	r.planes = planes.New(plane)
	r.store = &spiedStore{Store: store.New(r.clock), rig: r}
	r.coder = &coder{rig: r, workspace: ours(), build: build(core.TransitionDelete, core.JobPending)}
	r.sink = sink.New(nil)
	config := Config{
		Store: r.store, ControlPlanes: spiedPlanes{r}, Clock: r.clock, Sink: r.sink,
		Dial:   func(core.Connection) (ports.CodeRunner, error) { return r.coder, nil },
		Random: rand.NewChaCha8([32]byte{1}),
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)),
	}
	for _, edit := range change {
		edit(&config)
	}
	engine, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	r.engine = engine
	r.put(in.Record)
	return r
}

// put stores the record as it is, hold and deletion request included.
func (r *rig) put(record core.Record) {
	r.Helper()
	ctx := context.Background()
	requested := record.DeletionRequested()
	record.DeletionRequestedAt = time.Time{} // without its hold it would disappear at once
	stored, err := r.store.Create(ctx, record)
	if err == nil && record.Held {
		stored, err = r.store.Store.TakeHold(ctx, stored)
	}
	if err == nil && requested {
		err = r.store.RequestDeletion(ctx, stored.ID)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// step does one step that must not fail.
func (r *rig) step(seen ...core.Workspace) Next {
	r.Helper()
	var streamed *core.Workspace
	if len(seen) > 0 {
		streamed = &seen[0]
	}
	next, err := r.engine.Step(context.Background(), testID, streamed)
	if err != nil {
		r.Fatalf("step: %v", err)
	}
	return next
}

// record is what is stored now.
func (r *rig) record() core.Record {
	r.Helper()
	record, err := r.store.Store.Load(context.Background(), testID, ports.Live)
	if err != nil {
		r.Fatal(err)
	}
	return record
}

// is checks what is stored, in the words of summary.
func (r *rig) is(want string) {
	r.Helper()
	d := Decision{Record: r.record()}
	if got := summary(d); got != want+" after 0s" {
		r.Errorf("\nstored: %s\n  want: %s\nmessage: %s", got, want, explanation(&d))
	}
}

// did checks the I/O since the last call.
func (r *rig) did(want ...string) {
	r.Helper()
	if diff := cmp.Diff(want, r.trail); diff != "" {
		r.Errorf("I/O (-want +got):\n%s", diff)
	}
	r.trail = nil
}

func (r *rig) note(format string, args ...any) {
	r.trail = append(r.trail, fmt.Sprintf(format, args...))
}

var freshness = map[ports.Freshness]string{ports.Cached: "cached", ports.Live: "live"}

// spiedStore is the in-memory store whose writes can be disturbed.
type spiedStore struct {
	*store.Store
	*rig
	// stale is what cached loads return, when it is set.
	stale *core.Record
	// before runs once, before the next write.
	before func()
	// fail is what the next write after skip others ends with; its effect is lost.
	fail error
	skip int
	// holder is what HolderOf fails with.
	holder error
}

func (s *spiedStore) Load(ctx context.Context, id uuid.UUID, fresh ports.Freshness) (core.Record, error) {
	s.note("load %s", freshness[fresh])
	if fresh == ports.Cached && s.stale != nil {
		return *s.stale, nil
	}
	return s.Store.Load(ctx, id, fresh)
}

func (s *spiedStore) disturb() error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	if s.fail == nil {
		return nil
	}
	if s.skip--; s.skip >= 0 {
		return nil
	}
	err := s.fail
	s.fail = nil
	return err
}

func (s *spiedStore) Save(ctx context.Context, record core.Record) (core.Record, error) {
	s.note("save %s", record.Status.Reason)
	if err := s.disturb(); err != nil {
		return core.Record{}, err
	}
	return s.Store.Save(ctx, record)
}

func (s *spiedStore) TakeHold(ctx context.Context, record core.Record) (core.Record, error) {
	s.note("take hold")
	if err := s.disturb(); err != nil {
		return core.Record{}, err
	}
	return s.Store.TakeHold(ctx, record)
}

func (s *spiedStore) ReleaseHold(ctx context.Context, record core.Record) (core.Record, error) {
	s.note("release hold")
	if err := s.disturb(); err != nil {
		return core.Record{}, err
	}
	return s.Store.ReleaseHold(ctx, record)
}

func (s *spiedStore) Delete(ctx context.Context, record core.Record) error {
	s.note("expire")
	if err := s.disturb(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, record)
}

func (s *spiedStore) HolderOf(ctx context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	s.note("holder")
	if s.holder != nil {
		return uuid.Nil, s.holder
	}
	return s.Store.HolderOf(ctx, workspace)
}

type spiedPlanes struct{ *rig }

func (p spiedPlanes) ControlPlane(ctx context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	p.note("plane %s", freshness[fresh])
	return p.planes.ControlPlane(ctx, ref, fresh)
}

// coder is a deployment that answers everything, in the way of the given values.
type coder struct {
	*rig
	// workspace is what is read by ID and what a create makes; named is what the
	// owner has under our name.
	workspace core.Workspace
	named     *core.Workspace
	owned     []core.Workspace
	build     core.Build
	// fail has the named call end with an error.
	fail map[string]error
	// during runs inside the named call.
	during map[string]func()
	// created is the last create request.
	created core.CreateRequest
	// limits are the bounds that log reads were asked for.
	limits []int
}

var _ ports.CodeRunner = (*coder)(nil)

func (c *coder) call(name string) error {
	c.note("%s", name)
	if during := c.during[name]; during != nil {
		during()
	}
	return c.fail[name]
}

func (c *coder) Deployment(context.Context) (core.Deployment, error) {
	return core.Deployment{ID: deploymentID, Version: coderVersion, ServerTime: c.clock.Now().Truncate(time.Second)}, c.call("deployment")
}

func (c *coder) Operator(context.Context) (core.User, error) {
	return core.User{ID: operatorID}, c.call("operator")
}

func (c *coder) Owner(context.Context, uuid.UUID) (core.User, error) {
	return tester(), c.call("owner")
}

func (c *coder) Organization(context.Context, string) (core.Organization, error) {
	return core.Organization{ID: orgID, Name: "acme"}, c.call("organization")
}

func (c *coder) Template(context.Context, uuid.UUID, string) (core.Template, error) {
	return resolved().Seen.Template.Value, c.call("template")
}

func (c *coder) VersionByName(_ context.Context, _ uuid.UUID, name string) (core.TemplateVersion, error) {
	return resolved().Seen.Version.Value, c.call("version " + name)
}

func (c *coder) Version(_ context.Context, version uuid.UUID) (core.TemplateVersion, error) {
	return resolved().Seen.Version.Value, c.call("version " + map[bool]string{true: "by ID", false: "of nobody"}[version == versionID])
}

func (c *coder) CheckParameters(context.Context, core.ParameterQuery) (core.ParameterReport, error) {
	return core.ParameterReport{}, c.call("parameters")
}

func (c *coder) ExternalAuth(context.Context, uuid.UUID, uuid.UUID) ([]core.ExternalAuth, error) {
	return nil, c.call("external auth")
}

func (c *coder) FindWorkspace(context.Context, uuid.UUID, string) (core.NameLookup, error) {
	return core.NameLookup{Workspace: c.named, ServerTime: c.clock.Now().Truncate(time.Second)}, c.call("find")
}

func (c *coder) Workspace(context.Context, uuid.UUID) (core.Workspace, error) {
	return c.workspace, c.call("workspace")
}

func (c *coder) Builds(context.Context, uuid.UUID) ([]core.Build, error) {
	return []core.Build{build(core.TransitionStart, core.JobSucceeded)}, c.call("builds")
}

func (c *coder) OwnedWorkspaces(context.Context, core.User) ([]core.Workspace, error) {
	return c.owned, c.call("owned")
}

func (c *coder) MayReadWorkspaces(context.Context, uuid.UUID, uuid.UUID) (bool, error) {
	return true, c.call("may read")
}

func (c *coder) CreateWorkspace(_ context.Context, request core.CreateRequest) (core.Workspace, error) {
	c.created = request
	return c.workspace, c.call("> create")
}

func (c *coder) CancelBuild(context.Context, uuid.UUID, core.JobStatus) error {
	return c.call("> cancel")
}

func (c *coder) DeleteWorkspace(context.Context, uuid.UUID) (core.Build, error) {
	return c.build, c.call("> delete")
}

func (c *coder) WatchWorkspace(_ context.Context, _ uuid.UUID, on func(core.Workspace)) error {
	on(c.workspace)
	return c.call("watch")
}

func (c *coder) BuildLog(ctx context.Context, _ uuid.UUID, limit int) (core.Log, error) {
	c.limits = append(c.limits, limit)
	return core.Log{Source: "build", Text: "terraform said"}, errors.Join(c.call("build log"), ctx.Err())
}

func (c *coder) AgentLogs(ctx context.Context, agent uuid.UUID, limit int) ([]core.Log, error) {
	c.limits = append(c.limits, limit)
	return []core.Log{{Source: "Startup Script", AgentID: agent, Text: "the script said"}}, errors.Join(c.call("agent logs"), ctx.Err())
}
