package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/adapters/webhook"
	"github.com/assay-dev/assay/core"
)

func TestATestFromItsStartToItsEnd(t *testing.T) {
	f := serve(t)
	var begun test
	answer := f.api(http.MethodPost, "/tests", newTest("good"), http.StatusCreated, &begun)
	if got := answer.header.Get("Location"); got != "/api/v1/tests/"+begun.ID {
		t.Errorf("it is at %q", got)
	}
	ended := f.watcher().awaitEnd(begun.ID)
	if ended.Reason != core.ReasonSucceeded || ended.Verdict != "PASSED" || !ended.Finished || ended.Workspace.State != "deleted" {
		t.Errorf("it ended %+v, want a pass whose workspace is deleted", ended)
	}
	var found struct{ Transitions []core.TestTransition }
	f.api(http.MethodGet, "/tests/"+begun.ID+"/transitions", nil, http.StatusOK, &found)
	var stages []string
	for _, transition := range found.Transitions {
		if len(stages) == 0 || stages[len(stages)-1] != transition.Stage {
			stages = append(stages, transition.Stage)
		}
	}
	if diff := cmp.Diff([]string{"inputs", "create", "build", "agents", "delete", "done"}, stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if live := f.world.Workspaces(f.owner.ID, "tester"); len(live) != 0 {
		t.Errorf("%d workspaces are left", len(live))
	}
}

func TestAFailureHasEvidence(t *testing.T) {
	f := serve(t)
	body := newTest("broken")
	body["parameters"] = []map[string]string{{"name": "region", "value": "hidden-region"}}
	var begun test
	f.api(http.MethodPost, "/tests", body, http.StatusCreated, &begun)
	ended := f.watcher().awaitEnd(begun.ID)
	if ended.Reason != core.ReasonAgentStartError || ended.Verdict != "FAILED" {
		t.Fatalf("it ended %+v, want a failure", ended)
	}
	var evidence core.StoredEvidence
	f.api(http.MethodGet, "/tests/"+begun.ID+"/evidence", nil, http.StatusOK, &evidence)
	text := fmt.Sprint(evidence.Logs)
	if !strings.Contains(text, "no such package") || strings.Contains(text, "hidden-region") {
		t.Errorf("the logs are %s; want what the script printed, the value masked", text)
	}
	f.api(http.MethodGet, "/tests/"+f.ended("good").ID+"/evidence", nil, http.StatusNotFound, nil)
}

func TestStopARunningTest(t *testing.T) {
	f := serve(t)
	var begun test
	f.api(http.MethodPost, "/tests", newTest("slow"), http.StatusCreated, &begun)
	f.await(begun.ID, func(transition core.TestTransition) bool { return transition.Reason == core.ReasonWaitingForBuild })
	var stopped struct {
		Gone bool
		Test test
	}
	f.api(http.MethodDelete, "/tests/"+begun.ID, nil, http.StatusAccepted, &stopped)
	if stopped.Gone || stopped.Test.ID != begun.ID {
		t.Errorf("the answer is %+v, want the test, which has something to clean up", stopped)
	}
	gone := false
	err := f.watcher().watch(t.Context(), "/api/v1/tests/"+begun.ID+"/events", -1, func(event string, _ core.TestTransition) error {
		gone = gone || event == "gone"
		return nil
	})
	if err != nil || !gone {
		t.Errorf("the stream ended (%v), told that the test is gone: %v", err, gone)
	}
	f.api(http.MethodGet, "/tests/"+begun.ID, nil, http.StatusNotFound, nil)
	f.api(http.MethodGet, "/tests/"+begun.ID+"/transitions", nil, http.StatusOK, nil)
	if live := f.world.Workspaces(f.owner.ID, "tester"); len(live) != 0 {
		t.Errorf("%d workspaces are left", len(live))
	}
}

// await watches a test until a transition is as wanted.
func (f *fixture) await(id string, wanted func(core.TestTransition) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	err := f.watcher().watch(ctx, "/api/v1/tests/"+id+"/events", -1, func(_ string, transition core.TestTransition) error {
		if wanted(transition) {
			return errStop
		}
		return nil
	})
	if !errors.Is(err, errStop) {
		f.t.Fatalf("the stream of %s ended: %v", id, err)
	}
}

func TestRetainAndLetGo(t *testing.T) {
	f := serve(t)
	body := newTest("broken")
	body["retain"] = true
	var begun test
	f.api(http.MethodPost, "/tests", body, http.StatusCreated, &begun)
	ended := f.watcher().awaitEnd(begun.ID)
	if ended.Workspace.State != "retained" || ended.LeakRisk {
		t.Fatalf("it ended %+v, want its workspace retained", ended)
	}
	f.api(http.MethodPut, "/tests/"+begun.ID+"/deletion-policy", map[string]string{"deletionPolicy": "delete"}, http.StatusOK, nil)
	f.await(begun.ID, func(transition core.TestTransition) bool { return transition.WorkspaceReason == core.ReasonDeleted })
	body["controlPlaneRef"] = "other"
	answer := f.api(http.MethodPost, "/tests", body, http.StatusUnprocessableEntity, nil)
	if !strings.Contains(answer.text, `"body.retain"`) {
		t.Errorf("where it is not allowed: %s", answer.text)
	}
}

func TestIdempotencyKey(t *testing.T) {
	f := serve(t)
	post := func(key string, body any) (answered, test) {
		answer := f.do(asked{method: http.MethodPost, path: "/api/v1/tests", body: body, header: map[string]string{"Idempotency-Key": key}})
		var made test
		_ = json.Unmarshal([]byte(answer.text), &made)
		return answer, made
	}
	first, made := post("nightly-1", newTest("good"))
	again, same := post("nightly-1", newTest("good"))
	if first.status != http.StatusCreated || again.status != http.StatusOK || made.ID != same.ID || made.ID == "" {
		t.Errorf("%d %s, then %d %s; want 201, and 200 with the same test", first.status, made.ID, again.status, same.ID)
	}
	if reused, _ := post("nightly-1", newTest("broken")); reused.status != http.StatusConflict {
		t.Errorf("the key for another test: %d, want 409", reused.status)
	}
	if bad, _ := post("no spaces", newTest("good")); bad.status != http.StatusUnprocessableEntity {
		t.Errorf("a bad key: %d, want 422", bad.status)
	}
}

func TestListAndItsFilters(t *testing.T) {
	f := serve(t)
	good, broken := f.ended("good"), f.ended("broken")
	list := func(query string) (ids []string, next string) {
		var page struct {
			Tests []test
			Next  string
		}
		f.api(http.MethodGet, "/tests"+query, nil, http.StatusOK, &page)
		for _, one := range page.Tests {
			ids = append(ids, one.ID)
		}
		return ids, page.Next
	}
	// The verdict is told a moment before the hold is released.
	for held := []string{""}; len(held) > 0; {
		held, _ = list("?unfinished=true")
	}
	for query, want := range map[string][]string{
		"":                             {broken.ID, good.ID},
		"?class=Passed":                {good.ID},
		"?phase=Failed&phase=Running":  {broken.ID},
		"?version=good":                {good.ID},
		"?template=coder.webapp":       {broken.ID, good.ID},
		"?controlPlane=other":          nil,
		"?unfinished=true":             nil,
		"?before=2020-01-01T00:00:00Z": nil,
		"?template=%27%20OR%201%3D1":   nil,
	} {
		if got, _ := list(query); !cmp.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", query, got, want)
		}
	}
	first, next := list("?limit=1")
	second, end := list("?limit=1&cursor=" + next)
	if !cmp.Equal(first, []string{broken.ID}) || !cmp.Equal(second, []string{good.ID}) || next == "" || end != "" {
		t.Errorf("pages %v (next %q), %v (next %q)", first, next, second, end)
	}
}

func TestWhatCanBeChosen(t *testing.T) {
	f := serve(t)
	var templates []core.CatalogTemplate
	f.api(http.MethodGet, "/control-planes/main/templates", nil, http.StatusOK, &templates)
	if len(templates) != 1 || templates[0].Ref != "coder.webapp" {
		t.Fatalf("templates %+v", templates)
	}
	var versions []core.CatalogVersion
	f.api(http.MethodGet, "/control-planes/main/templates/"+templates[0].ID.String()+"/versions", nil, http.StatusOK, &versions)
	if len(versions) != 3 || versions[0].Name != "good" || !versions[0].Active {
		t.Fatalf("versions %+v, want three, the newest and active one first", versions)
	}
	var inputs core.VersionInputs
	f.api(http.MethodGet, "/control-planes/main/versions/"+versions[0].ID.String()+"/inputs", nil, http.StatusOK, &inputs)
	if len(inputs.Parameters) != 2 || len(inputs.Presets) != 1 {
		t.Errorf("inputs %+v", inputs)
	}
	var report struct {
		Owner      string
		Workspaces []struct{ Verdict string }
	}
	f.api(http.MethodGet, "/control-planes/main/sweep", nil, http.StatusOK, &report)
	if report.Owner != "tester" || report.Workspaces == nil {
		t.Errorf("sweep %+v", report)
	}
	f.api(http.MethodGet, "/control-planes/none/templates", nil, http.StatusNotFound, nil)
}

func TestForgetIsTheLastWayOut(t *testing.T) {
	f := serve(t)
	id := f.ended("good").ID
	answer := f.api(http.MethodPost, "/tests/"+id+"/forget", nil, http.StatusConflict, nil)
	if !strings.Contains(answer.text, "DELETE") {
		t.Errorf("it does not say what comes first: %s", answer.text)
	}
}

// TestWebhooks has a receiver hear of a test.
func TestWebhooks(t *testing.T) {
	const secret = "a-secret-of-the-receiver"
	messages := make(chan webhook.Message, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := webhook.Verify(core.NewSecret(secret), r.Header.Get(webhook.SignatureHeader), body, time.Now(), time.Minute); err != nil {
			t.Errorf("a message: %v", err)
		}
		var message webhook.Message
		if err := json.Unmarshal(body, &message); err != nil {
			t.Errorf("a message: %v", err)
		}
		messages <- message
	}))
	defer receiver.Close()
	folder := &fixture{t: t, home: t.TempDir()}
	file := folder.write("webhooks.yaml", fmt.Sprintf("receivers:\n  - {name: bot, url: %q, secretFile: %q, allowPrivate: true}\n",
		receiver.URL, folder.write("secret", secret)))
	f := serve(t, "--webhooks", file)
	id := f.ended("broken").ID
	heard := map[string]bool{}
	for range 2 {
		select {
		case message := <-messages:
			heard[message.Event] = true
			if message.Test.ID.String() != id || message.Test.Reason != core.ReasonAgentStartError {
				t.Errorf("message %+v is of another test", message)
			}
		case <-time.After(patience):
			t.Fatalf("after %v there are no more messages:\n%s", heard, f.log.String())
		}
	}
	if !heard[webhook.EventFinished] || !heard[webhook.EventCleanedUp] {
		t.Errorf("heard of %v, want both events", heard)
	}
}

// TestBrokenRequests sends requests that break rules: each is refused with the field and the
// rule, repeats nothing of what was given, and stores nothing.
func TestBrokenRequests(t *testing.T) {
	f := serve(t)
	with := func(field string, value any) map[string]any {
		body := newTest("good")
		body[field] = value
		return body
	}
	const secret = "a-value-that-must-not-come-back"
	for _, row := range []struct {
		name   string
		body   any
		status int
		want   string
		why    string
	}{
		{"no JSON", "{", http.StatusBadRequest, "body", "it was cut short"},
		{"empty", "", http.StatusBadRequest, "body is required", "nothing was sent"},
		{"a list", "[]", http.StatusUnprocessableEntity, "expected object", "another shape"},
		{"unknown field", with("size", "large"), http.StatusUnprocessableEntity, "body.size", "a typing error must not be ignored"},
		{"wrong type", with("timeoutSeconds", "soon"), http.StatusUnprocessableEntity, "body.timeoutSeconds", "a text for a number"},
		{"too short a time", with("timeoutSeconds", 59), http.StatusUnprocessableEntity, "body.timeoutSeconds", "out of bounds"},
		{"no template", with("template", ""), http.StatusUnprocessableEntity, "body.template", "it names nothing"},
		{"template without organization", with("template", "webapp"), http.StatusUnprocessableEntity, "body.template", "its rule"},
		{"two versions", with("version", map[string]any{"name": "a", "active": true}), http.StatusUnprocessableEntity, "body.version", "which one?"},
		{"bad version ID", with("version", map[string]any{"id": secret}), http.StatusUnprocessableEntity, "body.version.id", "no UUID"},
		{"control plane", with("controlPlaneRef", "none"), http.StatusUnprocessableEntity, "body.controlPlaneRef", "it is not configured"},
		{"parameter twice", with("parameters", []map[string]string{{"name": "a", "value": secret}, {"name": "a", "value": secret}}), http.StatusUnprocessableEntity, "body.parameters[1].name", "which one?"},
		{"parameter too long", with("parameters", []map[string]string{{"name": "a", "value": secret + strings.Repeat("x", 5000)}}), http.StatusUnprocessableEntity, "body.parameters[0].value", "its bound"},
		{"name of two lines", with("name", "a\nb"), http.StatusUnprocessableEntity, "body.name", "it stands in tables"},
		{"too large", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusRequestEntityTooLarge, "too large", "memory is bounded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := f.do(asked{method: http.MethodPost, path: "/api/v1/tests", body: row.body})
			if answer.status != row.status || !strings.Contains(answer.text, row.want) {
				t.Errorf("%d %.300s; want %d and %q: %s", answer.status, answer.text, row.status, row.want, row.why)
			}
			if got := answer.header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("it is %s, want a problem document", got)
			}
			if strings.Contains(answer.text, secret) {
				t.Errorf("it repeats what was given: %s", answer.text)
			}
		})
	}
	// What is left of a body that was too large is not taken for a request: these follow it on
	// the same connection, if that is still open.
	for _, path := range []string{
		"/tests?limit=0", "/tests?limit=1000", "/tests?cursor=x", "/tests?phase=Done", "/tests?from=yesterday", "/tests/not-a-uuid",
		"/tests/7e57ab1e-0000-4000-8000-000000000001", "/tests/7e57ab1e-0000-4000-8000-000000000001/events", "/control-planes/main/sweep?olderThanHours=-1",
	} {
		answer := f.do(asked{method: http.MethodGet, path: "/api/v1" + path})
		if answer.status < 400 || answer.status >= 500 || !strings.Contains(answer.header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %d %s", path, answer.status, answer.text)
		}
	}
	var page struct{ Tests []test }
	f.api(http.MethodGet, "/tests", nil, http.StatusOK, &page)
	if len(page.Tests) != 0 {
		t.Errorf("%d tests are stored, want none", len(page.Tests))
	}
}

// TestLastEventID leaves a stream and comes back: nothing is missed, nothing comes twice.
func TestLastEventID(t *testing.T) {
	f := serve(t)
	first := f.ended("good")
	var all, parts []int64
	follow := func(into *[]int64, after int64, stop int) int64 {
		last := after
		err := f.watcher().watch(t.Context(), "/api/v1/events", after, func(_ string, transition core.TestTransition) error {
			*into = append(*into, transition.Seq)
			last = transition.Seq
			if stop--; stop == 0 || transition.Stage == core.StageDone.String() {
				return errStop
			}
			return nil
		})
		if !errors.Is(err, errStop) {
			t.Fatalf("the stream ended: %v", err)
		}
		return last
	}
	end := follow(&all, 0, -1)
	for after := int64(0); after < end; {
		after = follow(&parts, after, 2)
	}
	if diff := cmp.Diff(all, parts); diff != "" || len(all) < 5 {
		t.Errorf("of %s, in one piece and in parts (-whole +parts):\n%s", first.ID, diff)
	}
}

// TestServerSaysWhatIsWrongAtItsStart starts servers that must not start.
func TestServerSaysWhatIsWrongAtItsStart(t *testing.T) {
	for _, row := range []struct {
		name, want, why string
		args            []string
	}{
		{"no TLS", "tokens would travel in the clear", "anybody on the way could read them", []string{"--listen", "0.0.0.0:0"}},
		{"no tokens", "give --tokens", "anybody could delete workspaces", []string{"--listen", "[::]:0"}},
		{"no port", "must be ADDRESS:PORT", "it names no port", []string{"--listen", "localhost"}},
		{"URL as an argument", "--database-url-file", "arguments are visible to all", []string{"--database", "postgres://u:p@h/d"}},
		{"half of OIDC", "all of them are needed", "nobody would have a role", []string{"--oidc-issuer", "https://login.example.com"}},
		{"issuer in the clear", "must be a URL that begins with https://", "anybody could bring keys", []string{"--oidc-issuer", "http://login.example.com", "--oidc-audience", "a", "--oidc-roles", "b"}},
		{"half of TLS", "one needs the other", "nothing could be served", []string{"--tls-cert", "x"}},
		{"unknown flag", "unknown flag", "a typing error", []string{"--loudness"}},
		{"log level", "--log-level", "a typing error", []string{"--log-level", "loud"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, text := refusedStart(t, row.args...)
			if code == 0 || !strings.Contains(text, row.want) {
				t.Errorf("exit code %d, %q; want it to say %q: %s", code, text, row.want, row.why)
			}
		})
	}
}
