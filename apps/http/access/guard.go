package access

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/assay-dev/assay/apps/http/problem"
	"github.com/assay-dev/assay/ports"
)

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 1 << 20

// Config is what a Guard is made of.
type Config struct {
	// Tokens and OIDC are the callers. Without both everybody is an administrator, which
	// only a server may have that listens at loopback (see CheckListen).
	Tokens *Tokens
	OIDC   *OIDC
	// Secure: browsers reach the server by TLS.
	Secure bool
	// Proxied: all requests come through a proxy, which adds to X-Forwarded-For whose they
	// are.
	Proxied bool
	// SessionKey seals the sessions of the page.
	SessionKey []byte
	// RequestsPerSecond and Burst bound each caller.
	RequestsPerSecond float64
	Burst             int
	Clock             ports.Clock
	Random            io.Reader
	Logger            *slog.Logger
	// Login shows the page where a token is given. message says what was wrong before.
	Login func(w http.ResponseWriter, r *http.Request, status int, message string)
}

// Guard lets requests through to those who may do them. Who may do what with which control
// plane is the service's question; the guard says who asks.
type Guard struct {
	Config
	sessions *sessions
	// foreign refuses requests that another site's page has a browser send.
	foreign *http.CrossOriginProtection
	// callers bound those who are known, strangers those whose token is not.
	callers, strangers *limits
}

// NewGuard makes a Guard.
func NewGuard(config Config) (*Guard, error) {
	sealed, err := newSessions(config.SessionKey, config.Random, config.Secure)
	if err != nil {
		return nil, err
	}
	if config.RequestsPerSecond <= 0 || config.Burst < 1 {
		return nil, errors.New("the bounds of a caller must be more than 0")
	}
	return &Guard{
		Config: config, sessions: sealed, foreign: http.NewCrossOriginProtection(),
		callers:   newLimits(config.Clock, config.RequestsPerSecond, config.Burst),
		strangers: newLimits(config.Clock, strangerRate, strangerBurst),
	}, nil
}

// A stranger may guess a token so often. Tokens have 256 bits: this spares the log, and
// slows down whoever tries.
const (
	strangerRate  = 0.5
	strangerBurst = 20
)

// localCaller is everybody on a server without authentication.
var localCaller = Caller{Name: "local", Roles: map[string]Role{EveryPlane: Admin}}

// errRefused: the request was answered.
var errRefused = errors.New("refused")

// Wrap guards the handler. Each request that changes something or is refused leaves a line
// in the log, however it ends.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &answer{ResponseWriter: w}
		setHeaders(w.Header(), g.Secure)
		// The body is bounded in a copy: by that of the request itself net/http tells whether
		// the rest of a body that was left must be kept from being read as the next request.
		served := r.WithContext(r.Context())
		served.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		var caller Caller
		var err error
		defer func() {
			failure := recover()
			if failure != nil {
				g.failed(out, r, failure)
			}
			g.audit(served, caller, out.status, err)
			if failure == http.ErrAbortHandler { //nolint:errorlint // it is this value
				panic(failure)
			}
		}()
		if caller, err = g.admit(out, served); err == nil {
			served = served.WithContext(WithCaller(r.Context(), caller))
			next.ServeHTTP(out, served)
		}
	})
}

// admit says who asks. It answers the request itself where nobody may.
func (g *Guard) admit(w *answer, r *http.Request) (Caller, error) {
	refuse := func(status int, detail string) (Caller, error) {
		problem.Write(w, status, detail)
		return Caller{}, errRefused
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query of the URL cannot be read: write ; and % in it as %3B and %25")
	}
	for name := range query {
		if tokenInURL[strings.ToLower(name)] {
			return refuse(http.StatusBadRequest, "a token must not be in a URL, which logs and histories keep: send it as Authorization: Bearer, and take another token, since this one is in them now")
		}
	}
	if open(r.URL.Path) {
		return Caller{}, nil
	}
	if !g.authenticates() {
		if !isLoopback(hostOf(r.Host)) {
			return refuse(http.StatusForbidden, "this server is for its own machine alone: use http://127.0.0.1 or http://localhost, not the name "+fmt.Sprintf("%.60q", hostOf(r.Host)))
		}
		if err := g.foreign.Check(r); err != nil {
			return refuse(http.StatusForbidden, "the page of another site has your browser send this request")
		}
		return g.bounded(w, localCaller)
	}
	caller, how, err := g.identify(r)
	switch {
	case errors.Is(err, errGuesses):
		tooMany(w, g.strangers.look(g.remoteOf(r)))
		return Caller{}, errRefused
	case errors.Is(err, errIssuer):
		g.strangers.take(g.remoteOf(r))
		w.Header().Set("Retry-After", "10")
		return refuse(http.StatusServiceUnavailable, "the OpenID Connect issuer does not answer, so nobody knows whose token this is; try again")
	case err != nil:
		return g.refuseStranger(w, r, how == byToken)
	case how == bySession && g.foreign.Check(r) != nil:
		return refuse(http.StatusForbidden, "the page of another site has your browser send this request")
	}
	return g.bounded(w, caller)
}

// authenticates reports whether callers must prove who they are.
func (g *Guard) authenticates() bool { return g.Tokens != nil || g.OIDC != nil }

// tokenInURL are the names under which tokens are given in URLs elsewhere.
var tokenInURL = map[string]bool{"token": true, "access_token": true, "api_key": true, "apikey": true, "session_token": true}

// open reports whether everybody may see a path: nothing there tells of a test.
func open(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == LoginPath || strings.HasPrefix(path, "/assets/")
}

// proof is how a request shows who asks.
type proof int

const (
	byNothing proof = iota
	byToken
	bySession
)

// identify says who asks: errToken for nobody, errIssuer where nobody knows now,
// errGuesses where whoever asks guessed too often.
func (g *Guard) identify(r *http.Request) (Caller, proof, error) {
	if given := r.Header.Get("Authorization"); given != "" {
		scheme, token, _ := strings.Cut(given, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return Caller{}, byNothing, errToken
		}
		shown, err := g.shown(r, strings.TrimSpace(token))
		if err != nil {
			return Caller{}, byToken, err
		}
		caller, err := g.callerOf(shown)
		return caller, byToken, err
	}
	opened, found := g.sessions.of(r, g.Clock.Now())
	if !found {
		return Caller{}, byNothing, errToken
	}
	caller, err := g.callerOf(opened)
	return caller, bySession, err
}

// errGuesses: whoever asks guessed tokens too often.
var errGuesses = errors.New("too many guesses")

// shown is what a token proves. A token that the issuer may be asked about is not looked at
// for who guessed too often, lest they have this server ask it without end.
func (g *Guard) shown(r *http.Request, token string) (session, error) {
	if g.OIDC == nil || !looksLikeJWT(token) {
		return session{Digest: DigestOf(token)}, nil
	}
	if g.strangers.look(g.remoteOf(r)) > 0 {
		return session{}, errGuesses
	}
	who, err := g.OIDC.caller(r.Context(), token)
	return session{OIDC: &who}, err
}

// callerOf is who showed a token, as things stand now: tokens and roles can be taken away.
func (g *Guard) callerOf(shown session) (Caller, error) {
	if shown.OIDC != nil {
		if g.OIDC == nil || !g.Clock.Now().Before(shown.OIDC.Expires) {
			return Caller{}, errToken
		}
		return g.OIDC.rolesOf(*shown.OIDC), nil
	}
	if g.Tokens == nil {
		return Caller{}, errToken
	}
	caller, known := g.Tokens.Find(shown.Digest)
	if !known {
		return Caller{}, errToken
	}
	return caller, nil
}

// bounded lets a caller through unless it asks too often.
func (g *Guard) bounded(w *answer, caller Caller) (Caller, error) {
	if wait := g.callers.take(caller.Name); wait > 0 {
		tooMany(w, wait)
		return caller, errRefused
	}
	return caller, nil
}

// refuseStranger answers a request of nobody. guessed: it showed a token.
func (g *Guard) refuseStranger(w *answer, r *http.Request, guessed bool) (Caller, error) {
	if guessed {
		if wait := g.strangers.take(g.remoteOf(r)); wait > 0 {
			tooMany(w, wait)
			return Caller{}, errRefused
		}
	}
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get("Authorization") == "" {
		http.Redirect(w, r, LoginPath+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return Caller{}, errRefused
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="assay"`)
	problem.Write(w, http.StatusUnauthorized, "send a token of this server as Authorization: Bearer TOKEN; this one is missing, unknown, or over")
	return Caller{}, errRefused
}

// failed answers a request whose handler failed in a way that it should not. The answer's
// number leads to the line of the log.
func (g *Guard) failed(w *answer, r *http.Request, failure any) {
	if failure == http.ErrAbortHandler { //nolint:errorlint // it is this value
		return
	}
	var number [8]byte
	_, _ = io.ReadFull(g.Random, number[:])
	id := hex.EncodeToString(number[:])
	g.Logger.Error("a request failed", "failure", id, "method", r.Method, "path", bounded(r.URL.Path), "panic", fmt.Sprint(failure),
		"stack", string(debug.Stack()))
	if w.status == 0 {
		problem.Write(w, http.StatusInternalServerError, "the server failed; its log says why, at failure "+id)
	}
}

// audit logs what changes something, and what was refused, with err or by the service. A
// browser that is sent to the login was not refused.
func (g *Guard) audit(r *http.Request, caller Caller, status int, err error) {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	refused := err != nil && status != http.StatusSeeOther || status == http.StatusForbidden
	if safe && !refused {
		return
	}
	g.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "audit",
		slog.String("caller", caller.Name), slog.String("method", r.Method), slog.String("path", bounded(r.URL.Path)),
		slog.String("route", r.Pattern), slog.Int("status", status), slog.String("remote", g.remoteOf(r)))
}

// remoteOf is whose request it is, by the address of their machine. Of what stands in
// X-Forwarded-For only the last address is the proxy's word; the rest is the client's.
func (g *Guard) remoteOf(r *http.Request) string {
	if lines := r.Header.Values("X-Forwarded-For"); g.Proxied && len(lines) > 0 {
		hops := strings.Split(lines[len(lines)-1], ",")
		if address, err := netip.ParseAddr(hostOf(strings.TrimSpace(hops[len(hops)-1]))); err == nil {
			return address.String()
		}
	}
	return hostOf(r.RemoteAddr)
}

func bounded(text string) string { return text[:min(len(text), 200)] }

// hostOf is the host without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// answer remembers the status of an answer.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(text)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// policy lets a page load from this server alone, and nothing inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// setHeaders has browsers be strict with whatever is answered.
func setHeaders(header http.Header, secure bool) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		header.Set(name, value)
	}
	if secure {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
