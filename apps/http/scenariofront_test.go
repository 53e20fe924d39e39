package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/sqlstore"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/api"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/driver"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/fakes/planes"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/ports"
)

// storyHolder has the lease of a story's test, in each process of it.
const storyHolder = "server"

// front tells a story through the server: people use its API, and its driver runs the test
// from its store, which takes nothing without the test's lease. It lives in a synctest
// bubble, whose time is the driver's, and passes as the story's does.
type front struct {
	t       *testing.T
	records *records
	planes  *namedPlanes
	process *serverRun
	// first is the step that a process wants as it starts.
	first *scenario.Asked
}

var _ scenario.Front = (*front)(nil)

// serverRun is a run of the server.
type serverRun struct {
	stop   context.CancelFunc
	ended  sync.WaitGroup
	driver *driver.Driver
	asks   chan *scenario.Asked
}

// namedPlanes are control planes that can be listed.
type namedPlanes struct{ *planes.Planes }

// Names implements service.Planes.
func (p *namedPlanes) Names() []string { return []string{"main"} }

func newFront(t *testing.T, store *sqlstore.Store, changes func(ctx context.Context, on func(uuid.UUID)) error) *front {
	t.Helper()
	f := &front{t: t, planes: &namedPlanes{planes.New()}}
	f.records = &records{TestRegistry: store.FencedBy(storyHolder), store: store, listen: changes, changed: make(chan uuid.UUID, 1)}
	keeper, err := driver.NewKeeper(store, systemclock.New(), storyHolder, nil)
	if err != nil {
		t.Fatal(err)
	}
	work, err := service.New(service.Config{
		Store: store, Planes: f.planes, Runner: &storyRunner{front: f, keeper: keeper}, Feed: service.NewFeed(store, systemclock.New(), slog.New(slog.DiscardHandler)),
		Dial:  func(core.Connection) (ports.CodeRunner, error) { panic("nothing is asked of Coder") },
		Clock: systemclock.New(), Random: bytes.NewReader(scenario.TestID[:]),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.records.api = http.NewServeMux()
	api.Register(f.records.api, api.Config{Service: work, Clock: systemclock.New(), Logger: slog.New(slog.DiscardHandler)})
	f.records.take = func(ctx context.Context, test uuid.UUID) error { _, err := keeper.Take(ctx, test); return err }
	return f
}

// storyRunner gives tests to the process that there is.
type storyRunner struct {
	front  *front
	keeper *driver.Keeper
}

// Take implements service.Runner.
func (r *storyRunner) Take(ctx context.Context, test uuid.UUID) error {
	_, err := r.keeper.Take(ctx, test)
	return err
}

// Drop implements service.Runner.
func (r *storyRunner) Drop(ctx context.Context, test uuid.UUID) { r.keeper.Release(ctx, test) }

// Drive implements service.Runner. A process drives the test from its start on.
func (r *storyRunner) Drive(test uuid.UUID) {
	if r.front.process != nil {
		r.front.process.driver.Add(test)
	}
}

// Records implements scenario.Front.
func (f *front) Records() scenario.Records { return f.records }

// Planes implements scenario.Front.
func (f *front) Planes() scenario.Planes { return f.planes }

// Start implements scenario.Front. No time of the story passes meanwhile.
func (f *front) Start(engine *lifecycle.Engine) error {
	f.kill()
	ctx, stop := context.WithCancel(f.t.Context())
	p := &serverRun{stop: stop, asks: make(chan *scenario.Asked)}
	d, err := driver.New(driver.Config{Engine: &asking{Engine: engine, asks: p.asks}, Records: f.records, Clock: systemclock.New()})
	if err != nil {
		stop()
		return err
	}
	p.driver, f.process = d, p
	p.ended.Go(func() { _ = d.Run(ctx) })
	synctest.Wait()
	d.Add(scenario.TestID)
	_, f.first = f.Wait(0)
	return nil
}

// kill ends the process: what it was told and asked for is lost.
func (f *front) kill() {
	if f.process == nil {
		return
	}
	f.process.stop()
	f.process.ended.Wait()
	f.process, f.first = nil, nil
}

// Wait implements scenario.Front.
func (f *front) Wait(d time.Duration) (passed time.Duration, asked *scenario.Asked) {
	if f.first != nil {
		asked, f.first = f.first, nil
		return 0, asked
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	// What is under way ends before time passes; only then nothing is left to chance.
	synctest.Wait()
	select {
	case asked = <-f.process.asks:
	case <-timer.C:
		synctest.Wait()
		select {
		case asked = <-f.process.asks:
		default:
		}
	}
	return time.Since(began), asked
}

// Wake implements scenario.Front.
func (f *front) Wake() { f.process.driver.Add(scenario.TestID) }

// asking is an engine whose steps the story does.
type asking struct {
	*lifecycle.Engine
	asks chan<- *scenario.Asked
}

type stepAnswer struct {
	next lifecycle.Next
	err  error
}

// Step implements driver.Engine.
func (a *asking) Step(ctx context.Context, _ uuid.UUID, seen *core.Workspace) (lifecycle.Next, error) {
	answers := make(chan stepAnswer)
	asked := &scenario.Asked{Seen: seen, Answer: func(took time.Duration, next lifecycle.Next, err error) {
		<-time.After(took)
		select {
		case answers <- stepAnswer{next, err}:
		case <-ctx.Done():
		}
		synctest.Wait()
	}}
	select {
	case a.asks <- asked:
	case <-ctx.Done():
		return lifecycle.Next{}, ctx.Err()
	}
	select {
	case got := <-answers:
		return got.next, got.err
	case <-ctx.Done():
		return lifecycle.Next{}, ctx.Err()
	}
}

// records is the server's store; what people want goes through its API wherever that
// takes it.
type records struct {
	// TestRegistry takes nothing without the test's lease.
	ports.TestRegistry
	store *sqlstore.Store
	api   *http.ServeMux
	take  func(ctx context.Context, test uuid.UUID) error
	// listen tells of changes; without it changed does.
	listen  func(ctx context.Context, on func(uuid.UUID)) error
	changed chan uuid.UUID
}

// Changes implements ports.TestRegistry.
func (r *records) Changes(ctx context.Context, on func(uuid.UUID)) error {
	if r.listen != nil {
		return r.listen(ctx, on)
	}
	for {
		select {
		case id := <-r.changed:
			on(id)
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *records) told(id uuid.UUID) {
	select {
	case r.changed <- id:
	default:
	}
}

// asks sends a request and reports whether it was done.
func (r *records) asks(method, path string, body any) bool {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(method, api.Prefix+path, bytes.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	caller := access.Caller{Name: "people", Roles: map[string]access.Role{access.EveryPlane: access.Admin}}
	answer := httptest.NewRecorder()
	r.api.ServeHTTP(answer, request.WithContext(access.WithCaller(request.Context(), caller)))
	r.told(scenario.TestID)
	return answer.Code < 300
}

// Create implements scenario.Records.
func (r *records) Create(ctx context.Context, record core.Record) (core.Record, error) {
	done := r.asks(http.MethodPost, "/tests", map[string]any{
		"template": record.Spec.Template, "version": record.Spec.Version, "parameters": record.Spec.Parameters, "preset": record.Spec.Preset,
		"timeoutSeconds": record.Spec.TimeoutSeconds, "controlPlaneRef": record.Spec.ControlPlaneRef,
		"inputsTimeoutSeconds": max(record.Spec.InputsTimeoutSeconds, 0), "ttlSecondsAfterFinished": record.Spec.TTLSecondsAfterFinished,
	})
	if done {
		return r.Load(ctx, record.ID, ports.Live)
	}
	// A story whose control plane is missing at its beginning.
	if err := r.take(ctx, record.ID); err != nil {
		return core.Record{}, err
	}
	return r.store.Create(ctx, record)
}

// RequestDeletion implements scenario.Records.
func (r *records) RequestDeletion(ctx context.Context, test uuid.UUID) error {
	if r.asks(http.MethodDelete, "/tests/"+test.String(), nil) {
		return nil
	}
	return r.store.RequestDeletion(ctx, test)
}

// SetDeletionPolicy implements scenario.Records. The API refuses what is not allowed; what
// comes of it all the same is the story's question.
func (r *records) SetDeletionPolicy(ctx context.Context, test uuid.UUID, policy string) error {
	if r.asks(http.MethodPut, "/tests/"+test.String()+"/deletion-policy", map[string]string{"deletionPolicy": policy}) {
		return nil
	}
	err := r.store.SetDeletionPolicy(ctx, test, policy)
	r.told(test)
	return err
}
