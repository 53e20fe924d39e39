package access_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/fakes/clock"
)

// gate is a guard in front of a page that says who asks.
type gate struct {
	t       *testing.T
	clock   *clock.Clock
	handler http.Handler
	log     bytes.Buffer
	tokens  string
}

// newGate makes a gate that knows the token "one" as bot, a tester. change can alter how
// it is made.
func newGate(t *testing.T, change func(config *access.Config)) *gate {
	t.Helper()
	g := &gate{t: t, clock: clock.New(noon), tokens: filepath.Join(t.TempDir(), "tokens.yaml")}
	write(t, g.tokens, "tokens:\n"+entry("bot", "one", "roles: {main: tester}, expires: 2026-03-01T13:00:00Z"), 0o600)
	logger := slog.New(slog.NewTextHandler(&g.log, nil))
	tokens, err := access.OpenTokens(g.tokens, g.clock, logger)
	if err != nil {
		t.Fatal(err)
	}
	config := access.Config{
		Tokens: tokens, SessionKey: make([]byte, access.SessionKeySize), RequestsPerSecond: 100, Burst: 100, Clock: g.clock, Random: rand.Reader, Logger: logger,
		Login: func(w http.ResponseWriter, _ *http.Request, status int, message string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "login: "+message)
		},
	}
	if change != nil {
		change(&config)
	}
	guard, err := access.NewGuard(config)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	guard.Register(mux)
	mux.HandleFunc("/things/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("id") {
		case "broken":
			panic("a handler that fails")
		case "gone":
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, access.CallerOf(r.Context()).Name)
	})
	mux.HandleFunc("/roles", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, access.CallerOf(r.Context()).Roles) })
	g.handler = guard.Wrap(mux)
	return g
}

// do sends a request and returns the answer. Of a header only the first value counts.
func (g *gate) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	g.t.Helper()
	request := httptest.NewRequestWithContext(g.t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	g.handler.ServeHTTP(recorder, request)
	return recorder
}

func (g *gate) login(token string, header ...string) *httptest.ResponseRecorder {
	g.t.Helper()
	return g.do(http.MethodPost, access.LoginPath, url.Values{"token": {token}, "to": {"/things/1?a=b"}}.Encode(),
		append(header, "Content-Type", "application/x-www-form-urlencoded")...)
}

// cookieOf is the cookie that an answer sets, as a browser sends it back.
func cookieOf(answer *httptest.ResponseRecorder) string {
	cookie, _, _ := strings.Cut(answer.Header().Get("Set-Cookie"), ";")
	return cookie
}

func TestTokensInURLs(t *testing.T) {
	g := newGate(t, nil)
	for _, row := range []struct{ query, why string }{
		{"token=secret-text", "the plain case"},
		{"Access_Token=secret-text", "in other letters"},
		{"a=b&api_key=secret-text", "after another"},
		{"token=secret-text;a", "net/url drops what has a semicolon"},
		{"token=secret-text%zz", "net/url drops what is badly escaped"},
	} {
		answer := g.do(http.MethodGet, "/things/1?"+row.query, "", "Accept", "text/html")
		if answer.Code != http.StatusBadRequest || strings.Contains(answer.Header().Get("Location"), "secret-text") {
			t.Errorf("%s: %d, sent to %q, want 400: %s", row.query, answer.Code, answer.Header().Get("Location"), row.why)
		}
	}
	if strings.Contains(g.log.String(), "secret-text") {
		t.Errorf("the log holds a token:\n%s", g.log.String())
	}
}

func TestAHandlerThatFails(t *testing.T) {
	g := newGate(t, nil)
	answer := g.do(http.MethodPost, "/things/broken", "", "Authorization", "Bearer one")
	_, number, _ := strings.Cut(answer.Body.String(), "at failure ")
	number, _, _ = strings.Cut(number, `"`)
	if answer.Code != http.StatusInternalServerError || len(number) != 16 {
		t.Fatalf("%d %s, want 500 and the number of the failure", answer.Code, answer.Body)
	}
	for _, want := range []string{"failure=" + number, "a handler that fails", "guard_test.go", "msg=audit caller=bot method=POST", "route=/things/{id} status=500"} {
		if !strings.Contains(g.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, g.log.String())
		}
	}
	g.log.Reset()
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler { //nolint:errorlint // it is this value
				t.Error("the server does not learn that the connection is to be cut")
			}
		}()
		g.do(http.MethodPost, "/things/gone", "", "Authorization", "Bearer one")
	}()
	if !strings.Contains(g.log.String(), "msg=audit caller=bot") || strings.Contains(g.log.String(), "stack") {
		t.Errorf("a cut connection is audited, and no failure:\n%s", g.log.String())
	}
}

func TestWhatIsAudited(t *testing.T) {
	for _, row := range []struct {
		name, method, target string
		header               []string
		want                 string
		why                  string
	}{
		{"a look", http.MethodGet, "/things/1", []string{"Authorization", "Bearer one"}, "", "nothing changes"},
		{"a change", http.MethodDelete, "/things/1", []string{"Authorization", "Bearer one"}, "caller=bot method=DELETE path=/things/1 route=/things/{id} status=200", "who did it?"},
		{"a stranger's look", http.MethodGet, "/things/1", []string{"Authorization", "Bearer two"}, `caller="" method=GET path=/things/1 route="" status=401`, "somebody tries"},
		{"a token in a URL", http.MethodGet, "/things/1?token=two", nil, "status=400", "a token was given away"},
		{"a browser without a session", http.MethodGet, "/things/1", []string{"Accept", "text/html"}, "", "it is shown the way in"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGate(t, nil)
			g.do(row.method, row.target, "", row.header...)
			log := g.log.String()
			if row.want == "" && strings.Contains(log, "audit") || !strings.Contains(log, row.want) {
				t.Errorf("log is\n%s\nwant %q: %s", log, row.want, row.why)
			}
		})
	}
}

func TestSessions(t *testing.T) {
	g := newGate(t, func(config *access.Config) { config.Secure = true })
	answer := g.login("one")
	set := answer.Header().Get("Set-Cookie")
	for _, want := range []string{"__Host-assay=", "HttpOnly", "Secure", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie lacks %s: %s", want, set)
		}
	}
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/things/1?a=b" {
		t.Errorf("%d to %q, want 303 to where the browser came from", answer.Code, answer.Header().Get("Location"))
	}
	cookie := cookieOf(answer)
	if answer := g.do(http.MethodGet, "/things/1", "", "Cookie", cookie); answer.Body.String() != "bot" {
		t.Errorf("with the session: %d %s", answer.Code, answer.Body)
	}
	out := g.do(http.MethodPost, "/logout", "", "Cookie", cookie)
	if out.Code != http.StatusSeeOther || !strings.Contains(out.Header().Get("Set-Cookie"), "__Host-assay=;") || !strings.Contains(out.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %s, want the cookie taken away", out.Code, out.Header().Get("Set-Cookie"))
	}
	g.clock.Advance(time.Hour)
	if answer := g.do(http.MethodGet, "/things/1", "", "Cookie", cookie); answer.Code != http.StatusUnauthorized {
		t.Errorf("after the token's end: %d, want 401", answer.Code)
	}
	for _, forged := range []string{"", "x", strings.Repeat("A", 60), cookie[len("__Host-assay="):] + "A"} {
		if answer := g.do(http.MethodGet, "/things/1", "", "Cookie", "__Host-assay="+forged); answer.Code != http.StatusUnauthorized {
			t.Errorf("session %q: %d, want 401", forged, answer.Code)
		}
	}
}

func TestLoginsThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name, body string
		header     []string
		status     int
		want, why  string
	}{
		{"unknown", "token=two", nil, http.StatusUnauthorized, "does not know", "a typing error"},
		{"none", "token=", nil, http.StatusUnauthorized, "Give a token", "the field was left empty"},
		{"blank", "token=+%20", nil, http.StatusUnauthorized, "Give a token", "the same"},
		{"too large", "token=" + strings.Repeat("a", access.MaxBody), nil, http.StatusRequestEntityTooLarge, "could not be read", "it must not count as an empty one"},
		{"no form", "token=%zz", nil, http.StatusBadRequest, "could not be read", "the same"},
		{"another site's page", "token=one", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, "another site", "it could sign a browser in as somebody else"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := newGate(t, nil)
			answer := g.do(http.MethodPost, access.LoginPath, row.body, append(row.header, "Content-Type", "application/x-www-form-urlencoded")...)
			if answer.Code != row.status || !strings.Contains(answer.Body.String(), row.want) || answer.Header().Get("Set-Cookie") != "" {
				t.Errorf("%d %.200s, cookie %q; want %d, %q and none: %s", answer.Code, answer.Body, answer.Header().Get("Set-Cookie"), row.status, row.want, row.why)
			}
		})
	}
}

// TestGuesses shows that one who guesses does not keep others from signing in, also where
// all requests come from one proxy.
func TestGuesses(t *testing.T) {
	g := newGate(t, func(config *access.Config) { config.Proxied = true })
	guess := func(from string) int { return g.login("two", "X-Forwarded-For", from).Code }
	refused := 0
	for refused = 1; guess("203.0.113.7") != http.StatusTooManyRequests; refused++ {
		if refused > 1000 {
			t.Fatal("1,000 guesses are taken")
		}
	}
	for _, row := range []struct {
		from string
		want int
		why  string
	}{
		{"203.0.113.7", http.StatusTooManyRequests, "it guessed too often"},
		{"198.51.100.1, 203.0.113.7", http.StatusTooManyRequests, "the client can write what it likes before the proxy's word"},
		{"203.0.113.7, 198.51.100.1", http.StatusUnauthorized, "another client, by the proxy's word"},
		{"no address", http.StatusUnauthorized, "the proxy itself"},
	} {
		if got := guess(row.from); got != row.want {
			t.Errorf("%s: %d, want %d: %s", row.from, got, row.want, row.why)
		}
	}
	if answer := g.login("one", "X-Forwarded-For", "198.51.100.2"); answer.Code != http.StatusSeeOther {
		t.Errorf("somebody else signs in: %d", answer.Code)
	}
	if answer := g.do(http.MethodGet, "/things/1", "", "Authorization", "Bearer one", "X-Forwarded-For", "203.0.113.7"); answer.Code != http.StatusOK {
		t.Errorf("a good token from where somebody guessed: %d", answer.Code)
	}
	direct := newGate(t, nil)
	for range refused {
		direct.login("two", "X-Forwarded-For", "203.0.113.7")
	}
	if answer := direct.login("two", "X-Forwarded-For", "203.0.113.8"); answer.Code != http.StatusTooManyRequests {
		t.Errorf("without a proxy the client's word counts: %d", answer.Code)
	}
}
