package access_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/fakes/clock"
)

// issuer is an OpenID Connect issuer that can hang or be broken.
type issuer struct {
	*httptest.Server
	key   *rsa.PrivateKey
	asked atomic.Int32
	// handle answers instead of the issuer, if it is there.
	handle atomic.Pointer[http.HandlerFunc]
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if handle := i.handle.Load(); handle != nil {
			(*handle)(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// token is a token of somebody in the groups, until an hour after noon.
func (i *issuer) token(t *testing.T, groups ...string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"iss": i.URL, "aud": "assay", "sub": "u-17", "groups": groups, "exp": noon.Unix() + 3600})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (i *issuer) config(t *testing.T, roles string) access.OIDCConfig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "roles.yaml")
	write(t, path, roles, 0o600)
	return access.OIDCConfig{
		Issuer: i.URL, Audience: "assay", NameClaim: "sub", GroupsClaim: "groups", RolesFile: path, Clock: clock.New(noon), Logger: slog.New(slog.DiscardHandler),
	}
}

// gate is a gate that takes the issuer's tokens too.
func (i *issuer) gate(t *testing.T, roles string) *gate {
	t.Helper()
	taken, err := access.NewOIDC(i.config(t, roles))
	if err != nil {
		t.Fatal(err)
	}
	return newGate(t, func(config *access.Config) { config.OIDC = taken })
}

const authorsTest = "groups:\n  authors: {main: tester}\n"

func TestIssuersThatAreRefused(t *testing.T) {
	i := newIssuer(t)
	for _, row := range []struct{ url, want, why string }{
		{"https://login.example.com", "", "the rule"},
		{"http://127.0.0.1:8080", "", "nobody is in between on one machine"},
		{"http://login.example.com", "--oidc-issuer", "whoever is in between could give keys"},
		{"http://127.0.0.1.example.com", "--oidc-issuer", "a name that looks like it"},
		{"login.example.com", "--oidc-issuer", "no URL"},
	} {
		config := i.config(t, authorsTest)
		config.Issuer = row.url
		if _, err := access.NewOIDC(config); (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q: %s", row.url, err, row.want, row.why)
		}
	}
}

func TestFilesOfRolesThatAreRefused(t *testing.T) {
	i := newIssuer(t)
	for _, row := range []struct{ text, want, why string }{
		{"", "groups: must give roles", "it was cut short"},
		{"groups: {}\n", "groups: must give roles", "nobody could do anything"},
		{"groups:\n  a: {main: owner}\n", "must be viewer, tester or admin", "a typing error"},
		{"group:\n  a: {main: admin}\n", "field group not found", "a typing error"},
		{authorsTest + "---\n" + authorsTest, "more than one document", "the second one would not count"},
	} {
		if _, err := access.NewOIDC(i.config(t, row.text)); err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "--oidc-roles") {
			t.Errorf("%q: %v, want %q: %s", row.text, err, row.want, row.why)
		}
	}
}

// TestAnIssuerThatHangs shows that all who wait share one request, and each can leave.
func TestAnIssuerThatHangs(t *testing.T) {
	i := newIssuer(t)
	g := i.gate(t, authorsTest)
	arrived, answer := make(chan struct{}), make(chan struct{})
	hang := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-answer
		w.WriteHeader(http.StatusBadGateway)
	})
	i.handle.Store(&hang)
	header := "Bearer " + i.token(t, "authors")
	ask := func(ctx context.Context) int {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/things/1", nil)
		request.Header.Set("Authorization", header)
		recorder := httptest.NewRecorder()
		g.handler.ServeHTTP(recorder, request)
		return recorder.Code
	}
	var waiting sync.WaitGroup
	statuses := make([]int, 5)
	waiting.Go(func() { statuses[0] = ask(t.Context()) })
	<-arrived
	for n := range statuses[1:] {
		waiting.Go(func() { statuses[n+1] = ask(t.Context()) })
	}
	leaving, leave := context.WithCancel(t.Context())
	leave()
	if got := ask(leaving); got != http.StatusServiceUnavailable {
		t.Errorf("who leaves is told %d", got)
	}
	if got := g.do(http.MethodGet, "/things/1", "", "Authorization", "Bearer one"); got.Code != http.StatusOK {
		t.Errorf("a token of the file waits for the issuer: %d", got.Code)
	}
	close(answer)
	waiting.Wait()
	for n, status := range statuses {
		if status != http.StatusServiceUnavailable {
			t.Errorf("caller %d: %d, want 503", n, status)
		}
	}
	i.handle.Store(nil)
	if got := ask(t.Context()); got != http.StatusOK {
		t.Errorf("when the issuer answers again: %d", got)
	}
}

// TestStrangersDoNotReachTheIssuer shows that tokens that nobody signed cost the issuer a
// bounded number of requests.
func TestStrangersDoNotReachTheIssuer(t *testing.T) {
	for _, row := range []struct {
		name, token string
		away        bool
	}{
		{"nonsense while it is away", "a.b.c", true},
		{"an unknown key", "eyJhbGciOiJSUzI1NiIsImtpZCI6InR3byJ9.e30.AAAA", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			i := newIssuer(t)
			g := i.gate(t, authorsTest)
			if row.away {
				away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
				i.handle.Store(&away)
			}
			var last *httptest.ResponseRecorder
			for range 200 {
				last = g.do(http.MethodGet, "/things/1", "", "Authorization", "Bearer "+row.token)
			}
			if last.Code != http.StatusTooManyRequests || last.Header().Get("Retry-After") == "" || i.asked.Load() > 50 {
				t.Errorf("200 tries end with %d, Retry-After %q, and %d requests to the issuer", last.Code, last.Header().Get("Retry-After"), i.asked.Load())
			}
			if got := g.login(row.token); got.Code != http.StatusTooManyRequests {
				t.Errorf("the login takes one more: %d", got.Code)
			}
		})
	}
}

func TestLoginWhileTheIssuerIsAway(t *testing.T) {
	i := newIssuer(t)
	g := i.gate(t, authorsTest)
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	i.handle.Store(&away)
	if got := g.login(i.token(t, "authors")); got.Code != http.StatusServiceUnavailable || got.Header().Get("Set-Cookie") != "" || !strings.Contains(got.Body.String(), "does not answer") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestManyGroups shows that a session fits into a cookie.
func TestManyGroups(t *testing.T) {
	i := newIssuer(t)
	groups := []string{"authors"}
	for n := range 200 {
		groups = append(groups, fmt.Sprintf("some-department-of-a-large-company-%d", n))
	}
	g := i.gate(t, authorsTest)
	in := g.login(i.token(t, groups...))
	if cookie := cookieOf(in); in.Code != http.StatusSeeOther || len(cookie) > 1000 {
		t.Errorf("%d %s with a cookie of %d bytes", in.Code, in.Body, len(cookie))
	}
	if got := g.do(http.MethodGet, "/things/1", "", "Cookie", cookieOf(in)); got.Body.String() != "oidc:u-17" {
		t.Errorf("with the session: %d %s", got.Code, got.Body)
	}
	all := "groups:\n"
	for _, group := range groups {
		all += "  " + group + ": {main: tester}\n"
	}
	if got := i.gate(t, all).login(i.token(t, groups...)); got.Code != http.StatusUnauthorized || got.Header().Get("Set-Cookie") != "" || !strings.Contains(got.Body.String(), "fewer groups") {
		t.Errorf("a cookie that no browser keeps: %d %s", got.Code, got.Body)
	}
}

func TestRolesComeAndGo(t *testing.T) {
	i := newIssuer(t)
	config, virtual := i.config(t, authorsTest), clock.New(noon)
	config.Clock = virtual
	taken, err := access.NewOIDC(config)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, func(config *access.Config) { config.OIDC = taken })
	header := "Bearer " + i.token(t, "authors")
	roles := func() string { return g.do(http.MethodGet, "/roles", "", "Authorization", header).Body.String() }
	before := roles()
	write(t, config.RolesFile, "groups:\n  authors: {main: viewer}\n", 0o600)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { taken.Run(ctx) })
		synctest.Wait()
		virtual.Advance(access.ReloadInterval)
		synctest.Wait()
		stop()
		running.Wait()
	})
	if after := roles(); before != "map[main:tester]" || after != "map[main:viewer]" {
		t.Errorf("roles are %s, then %s", before, after)
	}
}
