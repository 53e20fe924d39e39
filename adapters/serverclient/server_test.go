package serverclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	some = uuid.MustParse("6f0c2d9e-6c1c-4a52-9b1e-6d3f2f0f7a11")
)

// rushed is a clock on which whatever is waited for comes at once, so that no test waits;
// what only guards against silence never comes.
type rushed struct {
	mu     sync.Mutex
	passed time.Duration
	waits  []time.Duration
}

func (r *rushed) Now() time.Time { return noon.Add(r.Monotonic()) }

func (r *rushed) Monotonic() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed
}

func (r *rushed) AfterFunc(d time.Duration, f func()) ports.Timer {
	if d == 45*time.Second {
		return idle{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed += d
	r.waits = append(r.waits, d)
	go f()
	return idle{}
}

type idle struct{}

func (idle) Stop() bool { return true }

// answers is a server that answers in turn, the last answer again and again, and notes what
// it was asked.
type answers struct {
	*httptest.Server
	clock *rushed

	mu    sync.Mutex
	asked []http.Header
	// told are the failures after which the client tried again.
	told []string
}

func newAnswers(t *testing.T, handlers ...http.HandlerFunc) *answers {
	t.Helper()
	a := &answers{clock: &rushed{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		n := len(a.asked)
		a.asked = append(a.asked, r.Header.Clone())
		a.mu.Unlock()
		handlers[min(n, len(handlers)-1)](w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// requests are the headers of what was asked so far.
func (a *answers) requests() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

func (a *answers) client(t *testing.T) *serverclient.Server {
	t.Helper()
	client, err := serverclient.New(serverclient.Config{URL: a.URL + "/", Token: core.NewSecret("assay_token"), Clock: a.clock, Retrying: func(err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.told = append(a.told, err.Error())
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// status answers with a status and a text.
func status(code int, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// cut ends the connection without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const made = `{"id":"6f0c2d9e-6c1c-4a52-9b1e-6d3f2f0f7a11","template":"coder.docker","version":{"requested":"active"},"phase":"Pending",` +
	`"reason":"","message":"","workspace":{"name":"ktt-1","state":"none"},"timings":{"createdAt":"2026-03-01T12:00:00Z"},"leakRisk":false,` +
	`"controlPlane":"main","timeoutSeconds":900,"stage":"inputs","deletionPolicy":"delete","finished":false}`

var wanted = core.Record{Spec: core.Spec{Template: "coder.docker", Version: core.VersionSelector{Active: true}, ControlPlaneRef: "main"}}

// TestRequestsAreRepeated shows that a test is asked for until the server answers, always
// by the same key.
func TestRequestsAreRepeated(t *testing.T) {
	a := newAnswers(t, cut, status(502, "<html>"), status(429, "{}", "Retry-After", "7"), status(503, "{}"), status(201, made))
	record, err := a.client(t).Create(t.Context(), wanted, "key-1")
	if err != nil || record.ID != some || record.Spec.ControlPlaneRef != "main" {
		t.Fatalf("record %+v, error %v", record, err)
	}
	for i, header := range a.requests() {
		if got := header.Get("Idempotency-Key"); got != "key-1" || header.Get("Authorization") != "Bearer assay_token" {
			t.Errorf("request %d has the key %q", i, got)
		}
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 7 * time.Second, 4 * time.Second}
	if diff := cmp.Diff(want, a.clock.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if len(a.told) != 1 || !strings.Contains(a.told[0], "EOF") {
		t.Errorf("somebody who waits is told %q, want the first failure alone", a.told)
	}
}

func TestWhatIsNotRepeated(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		why    string
	}{
		{"a rule", status(422, `{"detail":"the test breaks rules","errors":[{"location":"body.template","message":"must be <organization>.<template>"}]}`), "the test breaks rules; template: must be <organization>.<template> (HTTP 422)", "it will break it again"},
		{"a proxy's word", status(403, "<html>blocked</html>"), "Forbidden (HTTP 403)", "it is not the server's"},
		{"a terminal's command", status(403, `{"detail":"no\u001b[2J\u202e"}`), "no (HTTP 403)", "it must not be obeyed"},
		{"another server", status(200, "<html>"), "not that of an assay server", "the address is wrong"},
		{"a redirect", status(302, "", "Location", "https://evil.example.com/x?y"), "sends the request on to evil.example.com", "the token would go there"},
		{"no ID", status(201, strings.Replace(made, `"id":"6f0c2d9e-6c1c-4a52-9b1e-6d3f2f0f7a11",`, "", 1)), "has no ID", "it could not be followed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAnswers(t, row.answer)
			_, err := a.client(t).Create(t.Context(), wanted, "key-1")
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "assay_token") {
				t.Errorf("error %v, want %q: %s", err, row.want, row.why)
			}
			if row.name != "a redirect" && len(a.requests()) != 1 {
				t.Errorf("%d requests: %s", len(a.requests()), row.why)
			}
		})
	}
}

func TestAServerThatIsAway(t *testing.T) {
	a := newAnswers(t, cut)
	_, err := a.client(t).Create(t.Context(), wanted, "key-1")
	if !errors.Is(err, serverclient.ErrAway) || a.clock.passed > serverclient.DefaultPatience {
		t.Errorf("after %v: %v", a.clock.passed, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.client(t).Create(ctx, wanted, "key-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever leaves is told %v", err)
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for _, row := range []struct{ url, want, why string }{
		{"https://assay.example.com/below/", "", "the rule"},
		{"http://127.0.0.1:8787", "", "nobody is in between on one machine"},
		{"http://localhost:8787", "", "the same"},
		{"http://assay.example.com", "plain text", "whoever is in between would have the token"},
		{"http://127.0.0.1.example.com", "plain text", "a name that looks like it"},
		{"assay.example.com", "address of a server", "no scheme"},
		{"ftp://assay.example.com", "address of a server", "another protocol"},
		{"https://me:hunter2@assay.example.com", "no password", "arguments can be seen"},
		{"https://assay.example.com/?a=b", "before ?", "it would be lost"},
		{"https://assay example", "address of a server", "no address"},
	} {
		_, err := serverclient.New(serverclient.Config{URL: row.url, Token: core.NewSecret("assay_token"), Clock: &rushed{}})
		if (err != nil) != (row.want != "") || err != nil && (!strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q: %s", row.url, err, row.want, row.why)
		}
	}
}

// events is a stream of transitions with the numbers; 0 stands for a sign of life.
func events(end string, numbers ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, n := range numbers {
			if n == 0 {
				_, _ = io.WriteString(w, ": still here\n\n")
				continue
			}
			_, _ = fmt.Fprintf(w, "event: transition\nid: %d\ndata: {\"seq\":%d,\"phase\":\"Running\"}\n\n", n, n)
		}
		if end == "cut" {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {}\n\n", end)
	}
}

// TestWatching shows that each transition comes once and in order, over lost connections
// and ends.
func TestWatching(t *testing.T) {
	a := newAnswers(t, events("cut", 3, 0, 5), cut, status(503, ""), events("end", 5, 8), events("gone", 9))
	var got []int64
	err := a.client(t).Watch(t.Context(), some, 0, func(transition core.TestTransition) error {
		got = append(got, transition.Seq)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{3, 5, 8, 9}, got); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	var after []string
	for _, header := range a.requests() {
		after = append(after, header.Get("Last-Event-ID"))
	}
	if len(a.told) != 1 {
		t.Errorf("somebody who watches is told %q, want that the stream was lost", a.told)
	}
	if diff := cmp.Diff([]string{"0", "5", "5", "5", "8"}, after); diff != "" {
		t.Errorf("Last-Event-ID (-want +got):\n%s", diff)
	}
}

// TestWatchingFromNowOn shows that a stream which is cut off before its first event goes on
// from where it was.
func TestWatchingFromNowOn(t *testing.T) {
	place := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, ": still here\n\nid: 41\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	a := newAnswers(t, place, events("gone", 42))
	var got []int64
	err := a.client(t).Watch(t.Context(), uuid.Nil, -1, func(transition core.TestTransition) error {
		got = append(got, transition.Seq)
		return nil
	})
	if diff := cmp.Diff([]int64{42}, got); diff != "" || err != nil {
		t.Errorf("transitions (-want +got):\n%s%v", diff, err)
	}
	if requests := a.requests(); len(requests) != 2 || requests[0].Get("Last-Event-ID") != "" || requests[1].Get("Last-Event-ID") != "41" {
		t.Errorf("asked for %v", requests)
	}
}

func TestHowWatchingEnds(t *testing.T) {
	enough := errors.New("enough")
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   func(error) bool
		why    string
	}{
		{"the caller has enough", events("end", 1), func(err error) bool { return errors.Is(err, enough) }, "it decides"},
		{"no such test", status(404, `{"detail":"there is no test"}`), serverclient.IsNotFound, "there is nothing to watch"},
		{"away", cut, func(err error) bool { return errors.Is(err, serverclient.ErrAway) }, "patience ends"},
		{"no transition", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "event: transition\ndata: {\n\n")
		}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "no transition") }, "it would be repeated without end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAnswers(t, row.answer)
			if err := a.client(t).Watch(t.Context(), uuid.Nil, -1, func(core.TestTransition) error { return enough }); !row.want(err) {
				t.Errorf("it ends with %v: %s", err, row.why)
			}
			if got := a.requests()[0].Values("Last-Event-ID"); len(got) != 0 {
				t.Errorf("from now on is asked for as %q", got)
			}
		})
	}
}

// TestAfter shows what is known of a test whose record went with its last transition.
func TestAfter(t *testing.T) {
	before := core.Record{ID: some, Generation: 1, Status: core.Status{Phase: core.PhaseRunning, WorkspaceID: some}}
	after := serverclient.After(before, core.TestTransition{
		At: noon, Phase: core.PhaseRunning, DeletionRequested: true, WorkspaceDeleted: core.ConditionTrue, WorkspaceReason: core.ReasonDeleted,
	})
	if !after.AtEnd() || after.MayLeak() || !before.MayLeak() {
		t.Errorf("a test that was stopped and cleaned up is %+v", after)
	}
	forgotten := serverclient.After(before, core.TestTransition{At: noon, Gone: true, Phase: core.PhaseRunning, DeletionRequested: true})
	if !forgotten.MayLeak() {
		t.Error("a test whose record was dropped left nothing, it seems")
	}
}
