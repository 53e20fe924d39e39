package server_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed"
	"github.com/assay-dev/assay/core"
)

// place is three servers on one PostgreSQL, in front of a real Coder, with a tester of
// their own.
type place struct {
	*setUp
	bed    *testbed.Bed
	door   *testbed.Door
	tester testbed.User
	// creates counts the create requests that servers sent.
	creates atomic.Int32
}

func newPlace(t *testing.T, bed *testbed.Bed, settle time.Duration) *place {
	t.Helper()
	tester, err := bed.CreateUser(t.Context(), testbed.UserOptions{Activate: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{bed: bed, tester: tester, door: testbed.NewDoor(t, bed.URL)}
	door, err := url.Parse(p.door.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward, isCreate := httputil.NewSingleHostReverseProxy(door), testbed.RequestTo(http.MethodPost, "/workspaces")
	forward.ErrorLog = log.New(io.Discard, "", 0) // connections of servers that are killed
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isCreate(r) {
			p.creates.Add(1)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(counting.Close)
	p.setUp = &setUp{
		databaseURL: testbed.RequirePostgres(t), home: t.TempDir(), settle: settle,
		planes: fmt.Sprintf("controlPlanes:\n  main:\n    url: %s\n    tokenFile: %s\n    ownerUserID: %s\n", counting.URL, bed.OwnerTokenFile(), tester.ID),
	}
	return p
}

// requireClean fails the test for a workspace that is left, and unless so many create
// requests were sent.
func (p *place) requireClean(t *testing.T, creates int) {
	t.Helper()
	live, err := p.bed.LiveWorkspaces(t.Context(), p.tester)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range live {
		t.Errorf("workspace %s is left, its latest build %s/%s", w.Name, w.LatestBuild.Transition, w.LatestBuild.Job.Status)
	}
	if sent := int(p.creates.Load()); sent != creates {
		t.Errorf("%d create requests were sent, want %d", sent, creates)
	}
}

// stage is a moment of a test on a real Coder at which its server is lost.
type stage struct {
	name, template string
	// Either a request is held, or a transition has the reason.
	at      testbed.Moment
	held    func(*http.Request) bool
	reason  core.Reason
	slow    bool
	settle  time.Duration
	verdict core.Reason
}

func stages() []stage {
	read := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v2/organizations/")
	}
	create, remove := testbed.RequestTo(http.MethodPost, "/workspaces"), testbed.RequestTo(http.MethodPost, "/builds")
	return []stage{
		{name: "reading the inputs", template: "passing", held: read, verdict: core.ReasonSucceeded},
		{
			name: "create sent, never arrived", template: "passing", held: create, settle: 3 * time.Second,
			verdict: core.ReasonCreateOutcomeUnknown,
		},
		{name: "create arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: create, verdict: core.ReasonSucceeded},
		{name: "building", template: "slow-build", slow: true, reason: core.ReasonWaitingForBuild, verdict: core.ReasonSucceeded},
		{name: "agents starting", template: "slow-startup", slow: true, reason: core.ReasonWaitingForAgents, verdict: core.ReasonSucceeded},
		{name: "delete sent, never arrived", template: "passing", held: remove, verdict: core.ReasonSucceeded},
		{name: "delete arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: remove, verdict: core.ReasonSucceeded},
		{name: "deleting", template: "passing", reason: core.ReasonDeletingWorkspace, verdict: core.ReasonSucceeded},
		{name: "cleaning up after a failure", template: "startup-fails", reason: core.ReasonAgentStartError, verdict: core.ReasonAgentStartError},
	}
}

// pushTemplates pushes the templates of the stages under names of their own.
func pushTemplates(t *testing.T, bed *testbed.Bed) map[string]string {
	t.Helper()
	slowBuild := testbed.Passing()
	for name, content := range testbed.SlowBuild().Files {
		slowBuild = slowBuild.With(name, content)
	}
	names := map[string]string{}
	for name, template := range map[string]testbed.Template{
		"passing": testbed.Passing(), "slow-build": slowBuild, "slow-startup": testbed.SlowStartup(), "startup-fails": testbed.StartupFails(),
	} {
		pushed, err := bed.PushTemplate(t.Context(), testbed.UniqueName(name), template)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = "coder." + pushed.TemplateName
	}
	return names
}

// TestAServerIsKilledInEachStage kills the server of a test in each of its stages: one of
// the two others finishes it.
func TestAServerIsKilledInEachStage(t *testing.T) {
	bed := testbed.Require(t)
	templates := pushTemplates(t, bed)
	for _, s := range stages() {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, bed, s.settle)
			first, others := p.setUp.start(t), []*process{p.setUp.start(t), p.setUp.start(t)}
			begun, held := s.reach(t, p, first, templates)
			first.kill()
			if held != nil {
				held.Drop()
			}
			ended := others[0].awaitEnd(begun)
			if ended.Reason != s.verdict || ended.LeakRisk {
				t.Errorf("the test ended %s %s, leak risk %v; want %s\n%s\n%s", ended.Phase, ended.Reason, ended.LeakRisk, s.verdict, others[0].log.String(), others[1].log.String())
			}
			p.requireClean(t, 1)
			for _, other := range others {
				if code := other.stop(); code != 0 {
					t.Errorf("a server that was asked to end did so with exit code %d:\n%s", code, other.log.String())
				}
			}
		})
	}
}

// reach begins a test on the server and waits for the stage. The gate is nil where no
// request is held.
func (s stage) reach(t *testing.T, p *place, on *process, templates map[string]string) (id string, held *testbed.Gate) {
	t.Helper()
	if s.held != nil {
		held = p.door.Hold(s.at, s.held)
	}
	var parameters map[string]string
	if s.slow {
		parameters = map[string]string{"seconds": "6"}
	}
	id = on.begin(templates[s.template], parameters).ID
	if held != nil {
		select {
		case <-held.Reached:
		case <-time.After(patience):
			t.Fatalf("the request is never sent:\n%s", on.log.String())
		}
		return id, held
	}
	err := on.watch(t.Context(), "/api/v1/tests/"+id+"/events", -1, func(_ string, transition core.TestTransition) error {
		if transition.Reason == s.reason {
			return errStop
		}
		return nil
	})
	if err != errStop { //nolint:errorlint // it is returned as it is
		t.Fatalf("the test never says %s: %v\n%s", s.reason, err, on.log.String())
	}
	return id, nil
}

// TestAServerThatWasAwayStoresNothing stops a server in the middle of a test, as a machine
// that is suspended, until another one has finished the test; then it goes on.
func TestAServerThatWasAwayStoresNothing(t *testing.T) {
	bed := testbed.Require(t)
	templates := pushTemplates(t, bed)
	p := newPlace(t, bed, 0)
	away, other := p.setUp.start(t), p.setUp.start(t)
	held := p.door.Hold(testbed.AfterEffect, testbed.RequestTo(http.MethodPost, "/workspaces"))
	id := away.begin(templates["passing"], nil).ID
	select {
	case <-held.Reached:
	case <-time.After(patience):
		t.Fatal("the create request is never sent")
	}
	away.signal(syscall.SIGSTOP)
	held.Open() // the answer waits for the server that is away
	ended := other.awaitEnd(id)
	if ended.Reason != core.ReasonSucceeded {
		t.Errorf("the test ended %s %s, want Succeeded\n%s", ended.Phase, ended.Reason, other.log.String())
	}
	before := transitionsOf(other, id)
	away.signal(syscall.SIGCONT)
	// It answers requests again, so it had its turn.
	var seen test
	if status, problem := away.call(http.MethodGet, "/api/v1/tests/"+id, nil, &seen); status != http.StatusOK || seen.Reason != core.ReasonSucceeded {
		t.Errorf("the server that was away says %d %s %s", status, seen.Reason, problem)
	}
	away.stop()
	if after := transitionsOf(other, id); after != before {
		t.Errorf("%d transitions are stored, were %d before the server came back", after, before)
	}
	p.requireClean(t, 1)
}

func transitionsOf(p *process, id string) int {
	p.t.Helper()
	var found struct{ Transitions []core.TestTransition }
	if status, problem := p.call(http.MethodGet, "/api/v1/tests/"+id+"/transitions", nil, &found); status != http.StatusOK {
		p.t.Fatalf("transitions: %d: %s", status, problem)
	}
	return len(found.Transitions)
}

// TestTenTests starts ten tests, of which three fail, and watches them all on one stream.
func TestTenTests(t *testing.T) {
	bed := testbed.Require(t)
	templates := pushTemplates(t, bed)
	p := newPlace(t, bed, 0)
	servers := []*process{p.setUp.start(t), p.setUp.start(t), p.setUp.start(t)}
	watching := make(chan error, 1)
	wanted, done := map[uuid.UUID]core.Reason{}, map[uuid.UUID]core.Reason{}
	ready := make(chan struct{})
	go func() {
		<-ready
		watching <- servers[2].watch(t.Context(), "/api/v1/events", 0, func(_ string, transition core.TestTransition) error {
			if transition.Stage == core.StageDone.String() {
				done[transition.Test] = transition.Reason
			}
			if len(done) == len(wanted) {
				return errStop
			}
			return nil
		})
	}()
	for i := range 10 {
		template, want := "passing", core.ReasonSucceeded
		if i%3 == 2 {
			template, want = "startup-fails", core.ReasonAgentStartError
		}
		wanted[uuid.MustParse(servers[i%2].begin(templates[template], nil).ID)] = want
	}
	close(ready)
	select {
	case err := <-watching:
		if err != errStop { //nolint:errorlint // it is returned as it is
			t.Fatalf("the stream ended: %v\n%s", err, servers[2].log.String())
		}
	case <-time.After(2 * patience):
		t.Fatalf("after a long time there are verdicts of %d tests", len(done))
	}
	for id, want := range wanted {
		if done[id] != want {
			t.Errorf("test %s: %s, want %s", id, done[id], want)
		}
	}
	for id, want := range wanted {
		if want == core.ReasonSucceeded {
			continue
		}
		var evidence core.StoredEvidence
		if status, problem := servers[0].call(http.MethodGet, "/api/v1/tests/"+id.String()+"/evidence", nil, &evidence); status != http.StatusOK {
			t.Errorf("evidence of %s: %d: %s", id, status, problem)
		}
		if text := fmt.Sprint(evidence.Logs); !strings.Contains(text, testbed.StartupFailureLine) {
			t.Errorf("the evidence of %s lacks what the start script printed: %s", id, text)
		}
	}
	p.requireClean(t, 10)
}
