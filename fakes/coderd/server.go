// Package coderd is the world model of fakes/world as an HTTP server: the part of Coder
// v2.36.1's API that assay uses, with the paths, JSON, status codes, headers and texts
// of the real one.
//
// It serves tests in process, and demonstrations on a loopback address. A hook plays
// what proxies and networks do to requests.
package coderd

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/fakes/world"
	"github.com/assay-dev/assay/ports"
)

// maxBody bounds what is read of a request, in bytes: Coder takes files of 100 MiB.
const maxBody = 100 << 20

// Server is the HTTP server of one world.
type Server struct {
	world     *world.World
	clock     ports.Clock
	mux       *http.ServeMux
	hook      Hook
	heartbeat time.Duration
}

var _ http.Handler = (*Server)(nil)

// Option changes how a Server works.
type Option func(*Server)

// WithHook has a hook decide what happens to requests on their way.
func WithHook(hook Hook) Option { return func(s *Server) { s.hook = hook } }

// WithHeartbeat sets how often, by the clock, an open stream is pinged: every 15 s by
// default.
func WithHeartbeat(d time.Duration) Option { return func(s *Server) { s.heartbeat = d } }

// New makes a Server. The clock is the world's; it times pings and slow answers.
func New(w *world.World, clock ports.Clock, options ...Option) *Server {
	s := &Server{world: w, clock: clock, mux: http.NewServeMux(), heartbeat: 15 * time.Second}
	for _, option := range options {
		option(s)
	}
	s.routes()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if s.hook == nil {
		s.answer(rw, r)
		return
	}
	s.answerThrough(s.hook(r), rw, r)
}

// answer is Coder's own answer.
func (s *Server) answer(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("X-Coder-Build-Version", world.Version)
	rw.Header().Set("Date", s.world.ServerTime().UTC().Format(http.TimeFormat))
	r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
	s.mux.ServeHTTP(rw, r)
}

// request is a request whose caller is known.
type request struct {
	*http.Request
	actor uuid.UUID
}

// handler answers with a status and a value, or with an error of the world.
type handler func(r request) (status int, answer any, err error)

func (s *Server) routes() {
	for _, group := range []map[string]handler{
		s.userRoutes(), s.organizationRoutes(), s.templateRoutes(), s.publishRoutes(), s.workspaceRoutes(), s.buildRoutes(),
	} {
		for pattern, h := range group {
			method, path, _ := strings.Cut(pattern, " ")
			s.mux.HandleFunc(method+" /api/v2"+path, s.authenticated(h))
		}
	}
	s.mux.HandleFunc("GET /api/v2/buildinfo", s.buildInfo)
	s.mux.HandleFunc("GET /api/v2/users/first", s.hasFirstUser)
	s.mux.HandleFunc("POST /api/v2/users/first", s.createFirstUser)
	s.mux.HandleFunc("POST /api/v2/users/login", s.login)
	s.mux.HandleFunc("GET /api/v2/workspaces/{workspace}/watch", s.watch)
	s.mux.HandleFunc("/", func(rw http.ResponseWriter, _ *http.Request) {
		write(rw, http.StatusNotFound, codersdk.Response{Message: "Route not found."})
	})
}

// authenticated lets callers in whose token is good and who did not ask too often.
func (s *Server) authenticated(h handler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		actor, err := s.admit(rw, r)
		if err != nil {
			refuse(rw, err)
			return
		}
		status, answer, err := h(request{r, actor})
		switch {
		case err != nil:
			refuse(rw, err)
		case answer == nil:
			rw.WriteHeader(status)
		default:
			write(rw, status, answer)
		}
	}
}

// admit counts the request against the caller's limit before it looks at the token's
// worth, as Coder does for callers it does not know.
func (s *Server) admit(rw http.ResponseWriter, r *http.Request) (uuid.UUID, error) {
	actor, err := s.world.Authenticate(token(r))
	caller := actor.String()
	if err != nil {
		caller, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	quota, limited := s.world.Admit(caller, strings.TrimPrefix(r.URL.Path, "/api/v2"))
	if quota.Limit > 0 {
		rw.Header().Set("X-Ratelimit-Limit", strconv.Itoa(quota.Limit))
		rw.Header().Set("X-Ratelimit-Remaining", strconv.Itoa(quota.Remaining))
		rw.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(quota.Reset.Unix(), 10))
	}
	if limited != nil {
		return uuid.Nil, limited
	}
	return actor, err
}

// token finds the session token in the places that Coder looks at.
func token(r *http.Request) string {
	if header := r.Header.Get(codersdk.SessionTokenHeader); header != "" {
		return header
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return bearer
	}
	if cookie, err := r.Cookie(codersdk.SessionTokenCookie); err == nil {
		if value, err := url.QueryUnescape(cookie.Value); err == nil {
			return value
		}
	}
	return r.URL.Query().Get(codersdk.SessionTokenCookie)
}

func write(rw http.ResponseWriter, status int, answer any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(answer)
}

// refuse answers with an error of the world as Coder's API words it.
func refuse(rw http.ResponseWriter, err error) {
	var refused *world.Error
	if !errors.As(err, &refused) {
		write(rw, http.StatusInternalServerError, codersdk.Response{Message: "An internal server error occurred.", Detail: err.Error()})
		return
	}
	response := codersdk.Response{Message: refused.Message, Detail: refused.Detail}
	for _, field := range refused.Fields {
		response.Validations = append(response.Validations, codersdk.ValidationError{Field: field.Field, Detail: field.Detail})
	}
	if refused.RetryAfter > 0 {
		rw.Header().Set("Retry-After", strconv.Itoa(int(refused.RetryAfter.Seconds())))
	}
	write(rw, int(refused.Kind), response)
}

// body decodes the request's JSON.
func body[T any](r *http.Request) (T, error) {
	var into T
	if err := json.NewDecoder(r.Body).Decode(&into); err != nil {
		return into, &world.Error{Kind: world.Invalid, Message: "Request body must be valid JSON.", Detail: err.Error()}
	}
	return into, nil
}

// id parses a part of the path.
func (r request) id(part string) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue(part))
	if err != nil {
		return uuid.Nil, &world.Error{
			Kind: world.Invalid, Message: "Invalid UUID \"" + r.PathValue(part) + "\".", Detail: err.Error(),
		}
	}
	return id, nil
}

// flag parses a boolean of the query.
func (r request) flag(name string) (bool, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, &world.Error{
			Kind: world.Invalid, Message: "Invalid boolean value \"" + value + "\" for \"" + name + "\" query param.",
			Fields: []world.FieldError{{Field: name, Detail: "Must be a valid boolean"}},
		}
	}
	return on, nil
}

// page cuts the list that the query's offset and limit ask for; without a limit, it is
// all of the rest.
func page[T any](r request, list []T) []T {
	number := func(name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return max(n, 0)
	}
	list = list[min(number("offset"), len(list)):]
	if limit := number("limit"); limit > 0 {
		list = list[:min(limit, len(list))]
	}
	if list == nil {
		return []T{}
	}
	return list
}
