package main

import (
	"encoding/json"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// bare is a run for an owner that is given by its ID: nobody has to be asked for it
// before there is a test.
func (tr *trial) bare(more ...string) []string {
	tester, _ := tr.world.UserNamed("tester")
	return testActive(append([]string{"--owner", tester.ID.String()}, more...)...)
}

// TestNobodyAnswers has a deployment that is down all the time.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	t.Run("before there is a test", func(t *testing.T) {
		t.Parallel()
		tr := newTrial(t)
		tr.newDoor(tr.coder())
		tr.run(testActive("--inputs-timeout", "1s")...).want(t, 3,
			"nothing was started: Coder cannot be reached: dial tcp 127.0.0.1:", "connection refused", "check the address (--url, CODER_URL) and the network")
		tr.storedNothing()
	})
	t.Run("when there is a test", func(t *testing.T) {
		t.Parallel()
		tr := newTrial(t)
		tr.newDoor(tr.coder())
		tr.run(tr.bare("--inputs-timeout", "3s")...).want(t, 3, "DeadlineExceeded", "CoderUnavailable", "connection refused")
		tr.created(0)
	})
}

// TestOutages has Coder be away for a while, or answer badly. The test passes all the
// same, with one create request.
func TestOutages(t *testing.T) {
	t.Parallel()
	// away refuses connections until the standard error tells of it.
	away := func(tr *trial, d *door) { tr.alerts["connection refused"] = func(*os.Process) { d.open() } }
	// closed ends streams as soon as they are open.
	closed := func(w http.ResponseWriter, r *http.Request) {
		asCoder(page(http.StatusOK, "text/event-stream", "event: ping\ndata: null\n\n")).ServeHTTP(w, r)
	}
	type row struct {
		why   string
		begin func(tr *trial) (args []string)
		says  []string
	}
	served := func(all ...between) func(*trial) []string {
		return func(tr *trial) []string { tr.serve(tr.coder(all...)); return testActive() }
	}
	inParallel(t, []row{
		{"down when it is asked for the token's user", func(tr *trial) []string {
			timer := time.AfterFunc(time.Second, tr.newDoor(tr.coder()).open)
			tr.t.Cleanup(func() { timer.Stop() })
			return testActive()
		}, nil},
		{"a proxy's 502 pages but for the last time that it is asked for the token's user", func(tr *trial) []string {
			// It is asked at once, after 2 s, after 4 s, and at the end.
			tr.serve(tr.coder(instead(3, asks("/users/me"), page(502, htmlKind, html))))
			return testActive("--inputs-timeout", "5s")
		}, nil},
		{"down when the test begins", func(tr *trial) []string {
			away(tr, tr.newDoor(tr.coder()))
			return tr.bare()
		}, []string{"CoderUnavailable", "connection refused"}},
		{"away from when the workspace was made", func(tr *trial) []string {
			var d *door
			shut := make(chan struct{})
			d = tr.newDoor(tr.coder(once(isLook, func() { go func() { d.shut(); close(shut) }(); <-shut })))
			d.open()
			away(tr, d)
			return testActive()
		}, []string{"CoderUnavailable", "connection refused"}},
		{"a proxy's 502 pages for what was made", served(instead(6, isLook, page(502, htmlKind, html))), []string{"CoderUnavailable", "HTTP 502"}},
		{"a proxy's 404 pages for what was made", served(instead(6, isLook, page(404, htmlKind, html))), []string{"CoderUnavailable", "HTTP 404"}},
		{"a login page for what was made", served(instead(6, isLook, http.RedirectHandler("/login", http.StatusFound))), []string{"CoderUnavailable", "HTTP 302"}},
		{"slow answers", served(slow), nil},
		{"streams that end at once", served(instead(1<<30, asks("/watch"), http.HandlerFunc(closed))), nil},
		{"streams that are refused", served(instead(1<<30, asks("/watch"), page(502, htmlKind, html))), nil},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.program = impatient
		tr.run(row.begin(tr)...).want(t, 0, append(row.says, "PASSED")...)
		tr.created(1)
	})
}

// TestAnswersToACreate has a proxy answer the create request. Whether Coder got it or
// not, no second one is sent until the first one is settled.
func TestAnswersToACreate(t *testing.T) {
	t.Parallel()
	type row struct {
		why    string
		answer http.Handler
		// got tells that Coder got the request all the same.
		got bool
	}
	looksLikeCoder := page(409, jsonKind, `{"message":"conflict"}`)
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	inParallel(t, []row{
		{"a 409 page, and Coder made it", page(409, htmlKind, html), true},
		{"JSON that looks like Coder's 409, and Coder made it", looksLikeCoder, true},
		{"no answer, and Coder made it", nothing, true},
		{"a 502 page", page(502, htmlKind, html), false},
		{"JSON that looks like Coder's 409", looksLikeCoder, false},
		{"no answer", nothing, false},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.program = impatient
		if row.got {
			tr.serve(tr.coder(losing(isCreate, row.answer)))
			tr.run(testActive()...).want(t, 0, "PASSED", "ConfirmingCreate")
		} else {
			tr.serve(tr.coder(instead(1, isCreate, row.answer)))
			tr.run(testActive()...).want(t, 3, "ConfirmingCreate", "CreateOutcomeUnknown", ": none")
			if len(tr.world.All()) > 0 {
				t.Error("a workspace was made")
			}
		}
		tr.created(1)
	})
}

// TestRateLimits has Coder say for how long it does not want to be asked.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	type row struct {
		why     string
		limit   *limit
		creates int64
	}
	inParallel(t, []row{
		{"seconds, when it is asked for the token's user", &limit{matches: asks("/users/me"), after: 3 * time.Second}, 1},
		{"a date, when it is asked for the deployment", &limit{matches: asks("/buildinfo"), after: 2 * time.Second, dated: true}, 1},
		{"seconds, when a workspace is asked for", &limit{matches: isCreate, after: time.Second}, 2},
		{"a date, when a workspace is asked for", &limit{matches: isCreate, after: 2 * time.Second, dated: true}, 2},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.serve(tr.coder(row.limit.between))
		tr.run(testActive()...).want(t, 0, "PASSED")
		tr.created(row.creates)
		if made := len(tr.world.All()); made != 1 {
			t.Errorf("%d workspaces were made", made)
		}
		if early := row.limit.early.Load(); early > 0 {
			t.Errorf("%d requests came before their time", early)
		}
	})
}

// TestALimitThatLastsTooLong is not waited for: the answer is known before.
func TestALimitThatLastsTooLong(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	limit := &limit{matches: asks("/users/me"), after: time.Hour}
	tr.serve(tr.coder(limit.between))
	tr.run(testActive()...).want(t, 3, "nothing was started: Coder limits how often the token's user may ask (HTTP 429: ", "try again")
	tr.storedNothing()
}

// TestAnotherDeployment has another deployment answer at the address once the workspace
// was made, with the same users and without that workspace. That proves nothing: the
// test waits, and a person who ends it is told what may be left.
func TestAnotherDeployment(t *testing.T) {
	t.Parallel()
	const (
		told = "another Coder deployment answers"
		left = "A workspace can still exist: the cleanup took longer than --cleanup-timeout"
	)
	found := func(swap func()) between { return once(isLook, swap) }
	lost := func(swap func()) between {
		return losing(isCreate, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { swap(); panic(http.ErrAbortHandler) }))
	}
	interrupt := func(tr *trial, _ func()) { tr.alerts[told] = func(p *os.Process) { _ = p.Signal(syscall.SIGINT) } }
	type row struct {
		why string
		// takes has the other one take over by a call of swap.
		takes func(swap func()) between
		// then is what is done once the other one is told of.
		then func(tr *trial, swap func())
		args []string
		code int
		says []string
		// kept is what the record says of the workspace; empty for one that is deleted.
		kept string
	}
	inParallel(t, []row{
		{
			"and the first one comes back", found,
			func(tr *trial, swap func()) { tr.alerts[told] = func(*os.Process) { swap() } }, testActive(),
			0,
			[]string{"PASSED", "ControlPlaneNotReady"},
			"",
		},
		{
			"and stays", found,
			interrupt, testActive("--cleanup-timeout", "2s"),
			4,
			[]string{"ControlPlaneNotReady", "ControlPlaneUnavailable", left, "The record of the test is kept"},
			"exists",
		},
		{
			// The cleanup takes longer than an unanswered create may.
			"and stays, and the create's answer was lost", lost,
			interrupt, testActive("--cleanup-timeout", "3s"),
			4,
			[]string{"ControlPlaneNotReady", "ControlPlaneUnavailable", left, "The record of the test is kept"},
			"unknown",
		},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		tr.program = impatient
		tester, _ := tr.world.UserNamed("tester")
		people := tr.world.People(tester.ID)
		var other atomic.Bool
		swap := func() { other.Store(!other.Load()); people.SwapDeployment() }
		var changes atomic.Int64
		strange := func(coder http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet && other.Load() {
					changes.Add(1)
				}
				coder.ServeHTTP(w, r)
			})
		}
		tr.serve(tr.coder(row.takes(swap), strange))
		row.then(tr, swap)
		tr.run(row.args...).want(t, row.code, row.says...)
		tr.created(1)
		if changes.Load() > 0 {
			t.Error("the other deployment was asked to change something")
		}
		if row.kept == "" {
			return
		}
		if live := len(tr.world.EveryLive()); live != 1 {
			t.Fatalf("%d workspaces are left, want the one that could not be reached", live)
		}
		if kept := tr.records(); len(kept) != 1 || !kept[0].LeakRisk || kept[0].Workspace.State != row.kept {
			t.Errorf("the records are %+v, want one whose workspace is %q", kept, row.kept)
		}
		// Once the first one is back, what the record kept is enough to finish.
		swap()
		tr.alerts = nil
		tr.run("resume").want(t, 3, "STOPPED", ": deleted")
		tr.created(1)
	})
}

// record is what "assay list" tells of a test.
type record struct {
	LeakRisk  bool
	Workspace struct{ State string }
}

func (tr *trial) records() []record {
	tr.t.Helper()
	listed := tr.run("list", "--output", "json")
	listed.want(tr.t, 0)
	var records []record
	if err := json.Unmarshal([]byte(listed.Stdout), &records); err != nil {
		tr.t.Fatal(err)
	}
	return records
}
