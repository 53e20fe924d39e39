package coder_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

func TestClassification(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { coders(w, code, says("no")) }
	}
	page := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			_, _ = w.Write([]byte("<html><body>message</body></html>"))
		}
	}
	raw := func(header http.Header, code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	asJSON := http.Header{"Content-Type": {"application/json"}}
	asCoder := http.Header{"Content-Type": {"application/json"}, "X-Coder-Build-Version": {"v2"}}
	asCoderPage := http.Header{"Content-Type": {"text/html"}, "X-Coder-Build-Version": {"v2"}}

	for _, c := range []struct {
		why          string
		handler      http.HandlerFunc
		read, change core.FailureClass
	}{
		{"400 is any other 4xx", status(400), core.FailureRejected, core.FailureRejected},
		{"401", status(401), core.FailureUnauthorized, core.FailureUnauthorized},
		{"403", status(403), core.FailureForbidden, core.FailureForbidden},
		{"404", status(404), core.FailureNotFound, core.FailureNotFound},
		{"406 says that the version is imported", status(406), core.FailureImporting, core.FailureImporting},
		{"425 says the same of a version's parameters", status(425), core.FailureImporting, core.FailureImporting},
		{"409", status(409), core.FailureConflict, core.FailureConflict},
		{"410", status(410), core.FailureGone, core.FailureGone},
		{"412 is any other 4xx", status(412), core.FailureRejected, core.FailureRejected},
		{"429", status(429), core.FailureRateLimited, core.FailureRateLimited},
		{"500 of two racing creates can have taken effect", status(500), core.FailureUnavailable, core.FailureUncertain},
		{"503", status(503), core.FailureUnavailable, core.FailureUncertain},
		{"a proxy's 404 page is not Coder's word", page(404), core.FailureUnavailable, core.FailureUncertain},
		{"a proxy's 401 page", page(401), core.FailureUnavailable, core.FailureUncertain},
		{"a proxy's 429 page", page(429), core.FailureUnavailable, core.FailureUncertain},
		{"a proxy's 502 page", page(502), core.FailureUnavailable, core.FailureUncertain},
		{"a page with 200, as of a login", page(200), core.FailureUnavailable, core.FailureUncertain},
		{"JSON with a message but without the header", raw(asJSON, 404, `{"message":"no"}`), core.FailureUnavailable, core.FailureUncertain},
		{"the header but no JSON", raw(asCoderPage, 404, "no"), core.FailureUnavailable, core.FailureUncertain},
		{"the header and JSON but no message", raw(asCoder, 404, `{"error":"no"}`), core.FailureUnavailable, core.FailureUncertain},
		{"the header and a broken message", raw(asCoder, 409, `{"message":"no`), core.FailureUnavailable, core.FailureUncertain},
		{"a success without the header", raw(asJSON, 200, "{}"), core.FailureUnavailable, core.FailureUncertain},
		{"a success with the header but a page", raw(asCoderPage, 200, "{}"), core.FailureUnavailable, core.FailureUncertain},
		{"a success that is broken JSON", raw(asCoder, 200, `{"id":"`), core.FailureUnavailable, core.FailureUncertain},
		{"a success that is other JSON", raw(asCoder, 200, `["other"]`), core.FailureUnavailable, core.FailureUncertain},
		{"a success that names nothing", raw(asCoder, 200, `{}`), core.FailureMismatch, core.FailureMismatch},
		{"a redirect, even one of Coder's", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Coder-Build-Version", "v2")
			http.Redirect(w, r, "https://login.example.com/", http.StatusTemporaryRedirect)
		}, core.FailureUnavailable, core.FailureUncertain},
		{"no answer at all", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, core.FailureUnavailable, core.FailureUncertain},
		{"half an answer", raw(http.Header{
			"Content-Type": {"application/json"}, "X-Coder-Build-Version": {"v2"}, "Content-Length": {"1000"},
		}, 200, `{"id":`), core.FailureUnavailable, core.FailureUncertain},
	} {
		t.Run(c.why, func(t *testing.T) {
			runner := serve(t, c.handler)
			_, err := runner.Workspace(t.Context(), uuid.New())
			if got := failureOf(t, err); got.Class != c.read {
				t.Errorf("read: %v, want %v", got, c.read)
			}
			_, err = runner.DeleteWorkspace(t.Context(), uuid.New())
			if got := failureOf(t, err); got.Class != c.change {
				t.Errorf("change: %v, want %v", got, c.change)
			}
		})
	}
}

func TestFailureMessage(t *testing.T) {
	for _, c := range []struct {
		why, message, want string
	}{
		{"Coder's message as it is", "Workspace already exists.", "Workspace already exists."},
		{"line breaks would break a log", "one\ntwo", "one two"},
		{"long ones are cut", strings.Repeat("a", 200), strings.Repeat("a", 160)},
		{"between runes", strings.Repeat("a", 159) + "é", strings.Repeat("a", 159)},
	} {
		runner := serve(t, func(w http.ResponseWriter, _ *http.Request) { coders(w, 400, says(c.message)) })
		_, err := runner.Operator(t.Context())
		failure := failureOf(t, err)
		if failure.Message != c.want || failure.Status != 400 || failure.Op == "" {
			t.Errorf("%s: failure %+v, want message %q", c.why, failure, c.want)
		}
		if strings.Contains(err.Error(), "secret detail") {
			t.Errorf("%s: the error holds the detail: %v", c.why, err)
		}
	}
}

func TestAnswersOfOthersAreDescribed(t *testing.T) {
	page := func(kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", kind) }
	}
	for _, c := range []struct {
		why     string
		handler http.HandlerFunc
		want    string
	}{
		{"a page says what it is", page("TEXT/HTML; charset=utf-8"), "the answer is an HTML page"},
		{"anything else lacks Coder's mark", page("application/json"), "the answer lacks the header X-Coder-Build-Version"},
		{
			"the query of a login page can hold secrets",
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://me:hunter2@login.acme.test/a%2Fb?state=hunter2#hunter2", http.StatusFound)
			},
			"the answer redirects to https://login.acme.test/a%2Fb",
		},
	} {
		runner := serve(t, c.handler)
		_, err := runner.Operator(t.Context())
		if got := failureOf(t, err).Message; got != coder.ForeignAnswer+c.want {
			t.Errorf("%s: message %q, want %q", c.why, got, coder.ForeignAnswer+c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		why, value string
		date       string
		want       time.Duration
	}{
		{"seconds", "17", "", 17 * time.Second},
		{"a date is compared with the answer's", date.Add(90 * time.Second).Format(http.TimeFormat), date.Format(http.TimeFormat), 90 * time.Second},
		{"a date that is over", date.Add(-time.Hour).Format(http.TimeFormat), date.Format(http.TimeFormat), 0},
		{"a date, but the answer has none", date.Format(http.TimeFormat), "never", 0},
		{"nothing", "", "", 0},
		{"nonsense", "soon", "", 0},
		{"negative", "-5", "", 0},
		{"more than anybody counts is long, not nothing", "99999999999999999999", "", (1<<31 - 1) * time.Second},
	} {
		runner := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.value)
			if c.date != "" {
				w.Header().Set("Date", c.date)
			}
			coders(w, 429, says("slow down"))
		})
		_, err := runner.Operator(t.Context())
		if got := failureOf(t, err).RetryAfter; got != c.want {
			t.Errorf("%s: retry after %v, want %v", c.why, got, c.want)
		}
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hang := func(http.ResponseWriter, *http.Request) { <-release }

	runner := serve(t, hang, coder.WithTimeout(500*time.Millisecond))
	_, err := runner.Workspace(t.Context(), uuid.New())
	if got := failureOf(t, err); got.Class != core.FailureUnavailable {
		t.Errorf("read without an answer: %v, want unavailable", got)
	}
	_, err = runner.DeleteWorkspace(t.Context(), uuid.New())
	if got := failureOf(t, err); got.Class != core.FailureUncertain {
		t.Errorf("change without an answer: %v, want uncertain", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	runner = serve(t, func(http.ResponseWriter, *http.Request) { cancel(); <-release })
	_, err = runner.DeleteWorkspace(ctx, uuid.New())
	if got := failureOf(t, err); got.Class != core.FailureUncertain {
		t.Errorf("change canceled under way: %v, want uncertain", got)
	}
	_, err = runner.DeleteWorkspace(ctx, uuid.New())
	if got := failureOf(t, err); got.Class != core.FailureNoEffect {
		t.Errorf("change canceled before it was sent: %v, want no effect", got)
	}
}
