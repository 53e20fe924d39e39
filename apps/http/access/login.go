package access

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/assay-dev/assay/apps/http/problem"
)

// LoginPath is where a token is given for a session of the page.
const LoginPath = "/login"

// Register adds the login and the logout.
func (g *Guard) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+LoginPath, func(w http.ResponseWriter, r *http.Request) { g.Login(w, r, http.StatusOK, "") })
	mux.HandleFunc("POST "+LoginPath, g.login)
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, g.sessions.end())
		http.Redirect(w, r, LoginPath, http.StatusSeeOther)
	})
}

func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if err := g.foreign.Check(r); err != nil {
		problem.Write(w, http.StatusForbidden, "the page of another site has your browser send this request")
		return
	}
	if !g.authenticates() {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if wait := g.strangers.take(g.remoteOf(r)); wait > 0 {
		tooMany(w, wait)
		return
	}
	// The form is read here: PostFormValue takes a body that is too large for an empty one.
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		g.Login(w, r, status, "That was no token: the form could not be read.")
		return
	}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	if token == "" {
		g.Login(w, r, http.StatusUnauthorized, "Give a token of this server.")
		return
	}
	shown, err := g.shown(r, token)
	if err == nil {
		_, err = g.callerOf(shown)
	}
	switch {
	case errors.Is(err, errGuesses):
		tooMany(w, g.strangers.look(g.remoteOf(r)))
		return
	case errors.Is(err, errIssuer):
		g.Login(w, r, http.StatusServiceUnavailable, "The OpenID Connect issuer does not answer. Try again in a moment.")
		return
	case err != nil:
		g.Login(w, r, http.StatusUnauthorized, "This server does not know that token, or it is over.")
		return
	}
	cookie, err := g.sessions.begin(shown, g.Clock.Now())
	if errors.Is(err, errTooLarge) {
		g.Login(w, r, http.StatusUnauthorized, "You are in so many of this server's groups that a browser cannot keep them. Ask its administrator to give fewer groups roles.")
		return
	}
	if err != nil {
		problem.Write(w, http.StatusInternalServerError, "the session could not be begun")
		return
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, localPath(r.PostForm.Get("to")), http.StatusSeeOther)
}

// localPath is a path of this server, "/" for anything else.
func localPath(to string) string {
	parsed, err := url.Parse(to)
	if err != nil || parsed.IsAbs() || parsed.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, "\\") {
		return "/"
	}
	return to
}
