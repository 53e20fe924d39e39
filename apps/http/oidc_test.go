package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuer is an OpenID Connect issuer.
type issuer struct {
	*httptest.Server
	t    *testing.T
	key  *rsa.PrivateKey
	away atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key}
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
		if i.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// token is a token of somebody, with further or other claims.
func (i *issuer) token(key jose.SigningKey, claims map[string]any) string {
	i.t.Helper()
	all := map[string]any{"iss": i.URL, "aud": "assay", "sub": "u-17", "groups": []string{"authors"}, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

func (i *issuer) own() jose.SigningKey { return jose.SigningKey{Algorithm: jose.RS256, Key: i.key} }

func serveWith(t *testing.T, i *issuer) *fixture {
	t.Helper()
	folder := &fixture{t: t, home: t.TempDir()}
	roles := folder.write("roles.yaml", "groups:\n  authors: {main: tester}\n  platform: {main: admin, other: viewer}\n")
	return serve(t, "--oidc-issuer", i.URL, "--oidc-audience", "assay", "--oidc-roles", roles, "--requests-per-second", "10000", "--burst", "10000")
}

func TestTokensOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	f := serveWith(t, i)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	asSecret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	good := i.token(i.own(), nil)
	parts := strings.Split(good, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"one"}`)) + "." + parts[1] + "."
	changed := base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"iss":%q,"aud":"assay","sub":"root","groups":["platform"],"exp":9999999999}`, i.URL)))
	for _, row := range []struct {
		name, token string
		status      int
		why         string
	}{
		{"good", good, 200, "the issuer's own"},
		{"several audiences", i.token(i.own(), map[string]any{"aud": []string{"other", "assay"}}), 200, "this server is among them"},
		{"over", i.token(i.own(), map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), 401, "its time is over"},
		{"not yet", i.token(i.own(), map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), 401, "its time has not come"},
		{"another audience", i.token(i.own(), map[string]any{"aud": "other"}), 401, "it is for somebody else"},
		{"another issuer", i.token(i.own(), map[string]any{"iss": "https://evil.example.com"}), 401, "somebody else says so"},
		{"another key", i.token(jose.SigningKey{Algorithm: jose.RS256, Key: other}, nil), 401, "anybody can sign"},
		{"no signature", unsigned, 401, "nobody signed"},
		{"changed", parts[0] + "." + changed + "." + parts[2], 401, "another text is signed"},
		{"the public key as a secret", i.token(jose.SigningKey{Algorithm: jose.HS256, Key: asSecret}, nil), 401, "everybody has it"},
		{"no name", i.token(i.own(), map[string]any{"sub": ""}), 401, "nobody in particular"},
		{"groups of another shape", i.token(i.own(), map[string]any{"groups": 1}), 401, "nobody knows its roles"},
		{"no JWT", "a.b.c", 401, "nonsense"},
		{"too long", strings.Repeat("a", 20<<10) + ".b.c", 401, "memory is bounded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := f.do(asked{method: http.MethodGet, path: "/api/v1/whoami", header: map[string]string{"Authorization": "Bearer " + row.token}})
			if answer.status != row.status {
				t.Errorf("%d %s, want %d: %s", answer.status, answer.text, row.status, row.why)
			}
		})
	}
	f.stop()
	if strings.Contains(f.log.String(), parts[2]) {
		t.Error("the log holds a token")
	}
}

func TestRolesOfGroups(t *testing.T) {
	i := newIssuer(t)
	f := serveWith(t, i)
	for _, row := range []struct {
		groups any
		want   string
	}{
		{[]string{"authors"}, `{"name":"oidc:u-17","roles":{"main":"tester"}}`},
		{[]string{"authors", "platform"}, `{"name":"oidc:u-17","roles":{"main":"admin","other":"viewer"}}`},
		{"authors", `{"name":"oidc:u-17","roles":{"main":"tester"}}`},
		{[]string{"strangers"}, `{"name":"oidc:u-17","roles":{}}`},
		{nil, `{"name":"oidc:u-17","roles":{}}`},
	} {
		header := map[string]string{"Authorization": "Bearer " + i.token(i.own(), map[string]any{"groups": row.groups})}
		if answer := f.do(asked{method: http.MethodGet, path: "/api/v1/whoami", header: header}); strings.TrimSpace(answer.text) != row.want {
			t.Errorf("groups %v: %d %s, want %s", row.groups, answer.status, answer.text, row.want)
		}
	}
	stranger := map[string]string{"Authorization": "Bearer " + i.token(i.own(), map[string]any{"groups": nil})}
	if answer := f.do(asked{method: http.MethodPost, path: "/api/v1/tests", body: newTest("good"), header: stranger}); answer.status != http.StatusUnprocessableEntity {
		t.Errorf("somebody without a role starts a test: %d", answer.status)
	}
}

func TestAnIssuerThatIsAway(t *testing.T) {
	i := newIssuer(t)
	f := serveWith(t, i)
	header := map[string]string{"Authorization": "Bearer " + i.token(i.own(), nil)}
	i.away.Store(true)
	if answer := f.do(asked{method: http.MethodGet, path: "/api/v1/whoami", header: header}); answer.status != http.StatusServiceUnavailable {
		t.Errorf("while it is away: %d, want 503", answer.status)
	}
	i.away.Store(false)
	if answer := f.do(asked{method: http.MethodGet, path: "/api/v1/whoami", header: header}); answer.status != http.StatusOK {
		t.Errorf("when it is back: %d, want 200", answer.status)
	}
	body, form := form("token", i.token(i.own(), map[string]any{"exp": time.Now().Add(time.Minute).Unix()}))
	signedIn := f.do(asked{method: http.MethodPost, path: "/login", body: body, header: form})
	if signedIn.status != http.StatusSeeOther || !strings.Contains(signedIn.header.Get("Set-Cookie"), "HttpOnly") {
		t.Errorf("sign in: %d %s", signedIn.status, signedIn.text)
	}
	cookie, _, _ := strings.Cut(signedIn.header.Get("Set-Cookie"), ";")
	if answer := f.do(asked{method: http.MethodGet, path: "/", header: map[string]string{"Cookie": cookie}}); answer.status != http.StatusOK {
		t.Errorf("with the session: %d", answer.status)
	}
}
