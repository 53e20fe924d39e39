// Package page shows tests to people: pages that the server renders, which need no
// JavaScript, and live by a little of it.
package page

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

//go:embed templates/*.tmpl
var templates embed.FS

//go:embed assets
var assets embed.FS

// Config is what the pages are made of.
type Config struct {
	Service *service.Service
	Clock   ports.Clock
	Random  io.Reader
	Logger  *slog.Logger
}

// Pages are the pages.
type Pages struct {
	Config
	pages map[string]*template.Template
}

// New makes the pages.
func New(config Config) (*Pages, error) {
	p := &Pages{Config: config, pages: map[string]*template.Template{}}
	for _, name := range []string{"list", "test", "new", "planes", "sweep", "login", "problem"} {
		page, err := template.New(name).Funcs(functions).ParseFS(templates, "templates/layout.tmpl", "templates/"+name+".tmpl")
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		p.pages[name] = page
	}
	return p, nil
}

// functions are what the templates use besides the data.
var functions = template.FuncMap{
	"words": words,
	// What Coder and scripts say can turn the direction of text, and so show another one.
	"plain": core.Printable,
	"list":  func(texts ...string) []string { return texts },
	"pair":  func(name, text string) struct{ Name, Text string } { return struct{ Name, Text string }{name, text} },
}

// Register adds the pages.
func (p *Pages) Register(mux *http.ServeMux) {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	for pattern, show := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"GET /{$}": p.list, "GET /tests/{id}": p.test, "GET /tests/new": p.newTest, "POST /tests": p.create,
		"POST /tests/{id}/stop": p.stop, "POST /tests/{id}/deletion-policy": p.policy,
		"GET /control-planes": p.planes, "GET /control-planes/{name}/sweep": p.sweep,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := show(w, r); err != nil {
				p.fail(w, r, err)
			}
		})
	}
}

// frame is what every page has.
type frame struct {
	Title  string
	Caller string
	// MayTest and Admin decide which ways are shown.
	MayTest, Admin bool
	// Here is the entry of the navigation that the page belongs to.
	Here string
	// Refresh is after how many seconds a browser without JavaScript asks again; 0 is never.
	Refresh int
	Body    any
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, page string, f frame) error {
	return p.render(r.Context(), w, status, page, "layout", f)
}

func (p *Pages) render(ctx context.Context, w http.ResponseWriter, status int, page, part string, f frame) error {
	caller := access.CallerOf(ctx)
	f.Caller, f.MayTest, f.Admin = caller.Name, caller.MaySomewhere(access.Tester), caller.MaySomewhere(access.Admin)
	// A page that fails half-way must not look like a whole one.
	var text bytes.Buffer
	if err := p.pages[page].ExecuteTemplate(&text, part, f); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	// The browser may be gone.
	_, _ = text.WriteTo(w)
	return nil
}

var statusOf = map[service.Kind]int{
	service.Invalid: http.StatusUnprocessableEntity, service.NotFound: http.StatusNotFound, service.Forbidden: http.StatusForbidden,
	service.Conflict: http.StatusConflict, service.Unavailable: http.StatusServiceUnavailable,
}

// fail shows why a page could not be.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known *service.Error
	status, text := http.StatusInternalServerError, "The server could not do this. Its log says why."
	if errors.As(err, &known) {
		status, text = statusOf[known.Kind], known.Error()
	} else if r.Context().Err() == nil {
		p.Logger.Error("a page failed", "path", r.URL.Path, "error", err)
	}
	if err := p.show(w, r, status, "problem", frame{Title: http.StatusText(status), Body: text}); err != nil {
		p.Logger.Error("a page failed", "error", err)
		http.Error(w, text, status)
	}
}

// Login shows where a token is given.
func (p *Pages) Login(w http.ResponseWriter, r *http.Request, status int, message string) {
	to := r.URL.Query().Get("to")
	if to == "" {
		to = r.PostFormValue("to")
	}
	err := p.show(w, r, status, "login", frame{Title: "Sign in", Body: struct{ Message, To string }{message, to}})
	if err != nil {
		p.fail(w, r, err)
	}
}
