package publish_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/publish"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/runner"
	"github.com/assay-dev/assay/fakes/world"
)

// fixture is a deployment with a template whose version v1 is active, and a Publisher
// for it. It lives in a synctest bubble: time passes when everybody waits.
type fixture struct {
	*world.World
	t        *testing.T
	clock    *clock.Clock
	admin    world.User
	template world.Template
	v1       world.TemplateVersion
	coder    *door
	said     strings.Builder
	logged   []string
	// ctx is of each call; cancel ends it in the middle of one.
	ctx    context.Context
	cancel context.CancelFunc
}

// door is the way to Coder, on which answers can get lost.
type door struct {
	*runner.Runner
	// create and promote take the next request instead of Coder; send has Coder get it.
	create  []func(send func() (core.PublishedVersion, error)) (core.PublishedVersion, error)
	promote []func(send func() error) error
	// beforePromote is called once, before a request to promote leaves.
	beforePromote func()
	creates       int
	promotes      int
	// blind, once set, answers every look for the effect of a change, and each cancel.
	blind error
}

func (d *door) VersionByName(ctx context.Context, template uuid.UUID, name string) (core.TemplateVersion, error) {
	if d.blind != nil {
		return core.TemplateVersion{}, d.blind
	}
	return d.Runner.VersionByName(ctx, template, name)
}

func (d *door) Template(ctx context.Context, organization uuid.UUID, name string) (core.Template, error) {
	if d.blind != nil {
		return core.Template{}, d.blind
	}
	return d.Runner.Template(ctx, organization, name)
}

func (d *door) CancelImport(ctx context.Context, version uuid.UUID) error {
	if d.blind != nil {
		return d.blind
	}
	return d.Runner.CancelImport(ctx, version)
}

func (d *door) CreateVersion(ctx context.Context, asked core.NewVersion) (core.PublishedVersion, error) {
	d.creates++
	send := func() (core.PublishedVersion, error) { return d.Runner.CreateVersion(ctx, asked) }
	if len(d.create) == 0 {
		return send()
	}
	next := d.create[0]
	d.create = d.create[1:]
	return next(send)
}

func (d *door) Promote(ctx context.Context, template, version uuid.UUID) error {
	d.promotes++
	if d.beforePromote != nil {
		d.beforePromote()
		d.beforePromote = nil
	}
	send := func() error { return d.Runner.Promote(ctx, template, version) }
	if len(d.promote) == 0 {
		return send()
	}
	next := d.promote[0]
	d.promote = d.promote[1:]
	return next(send)
}

var errLost = &core.Failure{Class: core.FailureUncertain, Op: "change", Message: "no answer in time"}

func inWorld(t *testing.T, f func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		virtual := clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		fx := &fixture{t: t, clock: virtual, World: world.New(virtual)}
		fx.admin = fx.AddUser(world.UserSpec{Username: "pusher", SiteRoles: []string{"template-admin"}})
		fx.template = fx.AddTemplate(world.TemplateSpec{Organization: fx.admin.Memberships[0].Organization.ID, Name: "docker"})
		fx.v1 = fx.AddVersion(world.VersionSpec{Template: fx.template.ID, Name: "v1", Active: true})
		fx.coder = &door{Runner: runner.New(fx.World, fx.admin.ID)}
		fx.ctx, fx.cancel = context.WithCancel(t.Context())
		defer fx.cancel()
		f(t, fx)
	})
}

func (f *fixture) publisher() *publish.Publisher {
	return &publish.Publisher{
		Coder: f.coder, Clock: f.clock,
		Say: func(line string) { f.said.WriteString(line + "\n") },
		Log: func(line core.LogLine) { f.logged = append(f.logged, line.Text) },
	}
}

// play runs f to its end and lets time pass whenever it waits.
func (f *fixture) play(call func()) {
	f.t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	for {
		synctest.Wait()
		select {
		case <-done:
			return
		default:
		}
		next, ok := f.clock.NextTimer()
		if !ok || f.clock.Monotonic() > 24*time.Hour {
			f.t.Fatalf("it does not end; said:\n%s", f.said.String())
		}
		f.clock.AdvanceTo(next)
	}
}

func asked(change func(*publish.Request)) publish.Request {
	request := publish.Request{
		Template: core.TemplateRef{Organization: "coder", Template: "docker"}, Archive: []byte("a tar"),
		Name: publish.Name{Base: "3f2c1ab"}, Message: "Use another image", Timeout: 15 * time.Minute,
	}
	if change != nil {
		change(&request)
	}
	return request
}

func (f *fixture) push(request publish.Request) (pushed publish.Pushed, err error) {
	f.t.Helper()
	f.play(func() { pushed, err = f.publisher().Push(f.ctx, request) })
	return pushed, err
}

func (f *fixture) promote(version, expected uuid.UUID) (promotion publish.Promotion, err error) {
	f.t.Helper()
	template := core.Template{ID: f.template.ID, Name: f.template.Name, OrganizationID: f.template.Organization.ID}
	f.play(func() { promotion, err = f.publisher().Promote(f.ctx, template, version, expected) })
	return promotion, err
}

// active is the name of the active version.
func (f *fixture) active() string {
	f.t.Helper()
	template, err := f.World.Template(f.admin.ID, f.template.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	version, err := f.TemplateVersion(f.admin.ID, template.ActiveVersion)
	if err != nil {
		f.t.Fatal(err)
	}
	return version.Name
}

// versions are the names of the template's versions, oldest first.
func (f *fixture) versions() []string {
	f.t.Helper()
	all, err := f.Versions(f.admin.ID, f.template.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, version := range all {
		names = append(names, version.Name)
	}
	return names
}

// add makes a version by somebody else.
func (f *fixture) add(name string, more ...func(*world.VersionSpec)) world.TemplateVersion {
	spec := world.VersionSpec{Template: f.template.ID, Name: name}
	for _, change := range more {
		change(&spec)
	}
	return f.AddVersion(spec)
}
