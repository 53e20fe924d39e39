package server_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/apps/http/access"
)

// people are the callers of a guarded server, by their tokens.
var people = map[string]string{
	"viewer": "roles: {main: viewer}", "tester": "roles: {main: tester}", "admin": "roles: {main: admin}",
	"elsewhere": "roles: {other: admin}", "over": "roles: {\"*\": admin}\n    expires: 2020-01-01T00:00:00Z",
}

func tokenOf(name string) string { return "assay_token-of-" + name }

// guarded starts a server that knows people.
func guarded(t *testing.T, args ...string) *fixture {
	t.Helper()
	text := "tokens:\n"
	for _, name := range slices.Sorted(maps.Keys(people)) {
		digest := access.DigestOf(tokenOf(name))
		text += fmt.Sprintf("  - name: %s\n    sha256: %s\n    %s\n", name, hex.EncodeToString(digest[:]), people[name])
	}
	folder := &fixture{t: t, home: t.TempDir()}
	return serve(t, append([]string{"--tokens", folder.write("tokens.yaml", text), "--requests-per-second", "10000", "--burst", "10000"}, args...)...)
}

func (f *fixture) as(name string, a asked) answered {
	f.t.Helper()
	a.header = maps.Clone(a.header)
	if a.header == nil {
		a.header = map[string]string{}
	}
	if name != "" {
		a.header["Authorization"] = "Bearer " + tokenOf(name)
	}
	return f.do(a)
}

// route is a route with what each caller gets: the status for nobody, viewer, tester, admin,
// and an admin of another control plane.
type route struct {
	pattern string
	// request is what is sent; {id} is a test on main that ended.
	path string
	body any
	want [5]int
}

var routes = []route{
	{"GET /api/v1/tests", "/api/v1/tests", nil, [5]int{401, 200, 200, 200, 200}},
	{"POST /api/v1/tests", "/api/v1/tests", newTest("good"), [5]int{401, 403, 201, 201, 422}},
	{"GET /api/v1/tests/{id}", "/api/v1/tests/{id}", nil, [5]int{401, 200, 200, 200, 404}},
	{"DELETE /api/v1/tests/{id}", "/api/v1/tests/{id}", nil, [5]int{401, 403, 202, 202, 404}},
	{"PUT /api/v1/tests/{id}/deletion-policy", "/api/v1/tests/{id}/deletion-policy", map[string]string{"deletionPolicy": "delete"}, [5]int{401, 403, 200, 200, 404}},
	{"POST /api/v1/tests/{id}/forget", "/api/v1/tests/{id}/forget", nil, [5]int{401, 403, 403, 409, 404}},
	{"GET /api/v1/tests/{id}/transitions", "/api/v1/tests/{id}/transitions", nil, [5]int{401, 200, 200, 200, 404}},
	{"GET /api/v1/tests/{id}/evidence", "/api/v1/tests/{id}/evidence", nil, [5]int{401, 200, 200, 200, 404}},
	{"GET /api/v1/tests/{id}/events", "/api/v1/tests/{id}/events", nil, [5]int{401, 200, 200, 200, 404}},
	{"GET /api/v1/events", "/api/v1/events", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /api/v1/control-planes", "/api/v1/control-planes", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /api/v1/control-planes/{name}/sweep", "/api/v1/control-planes/main/sweep", nil, [5]int{401, 403, 403, 200, 404}},
	{"GET /api/v1/control-planes/{name}/templates", "/api/v1/control-planes/main/templates", nil, [5]int{401, 403, 200, 200, 404}},
	{"GET /api/v1/control-planes/{name}/templates/{template}/versions", "/api/v1/control-planes/main/templates/{id}/versions", nil, [5]int{401, 403, 404, 404, 404}},
	{"GET /api/v1/control-planes/{name}/versions/{version}/inputs", "/api/v1/control-planes/main/versions/{id}/inputs", nil, [5]int{401, 403, 404, 404, 404}},
	{"GET /api/v1/whoami", "/api/v1/whoami", nil, [5]int{401, 200, 200, 200, 200}},
}

// pages are the routes of the page and what else is served, by the same rules.
var pages = []route{
	{"GET /", "/", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /tests/{id}", "/tests/{id}", nil, [5]int{401, 200, 200, 200, 404}},
	{"GET /tests/new", "/tests/new", nil, [5]int{401, 200, 200, 200, 200}},
	{"POST /tests", "/tests", nil, [5]int{401, 422, 422, 422, 422}},
	{"POST /tests/{id}/stop", "/tests/{id}/stop", nil, [5]int{401, 403, 303, 303, 404}},
	{"POST /tests/{id}/deletion-policy", "/tests/{id}/deletion-policy", nil, [5]int{401, 403, 422, 422, 404}},
	{"GET /control-planes", "/control-planes", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /control-planes/{name}/sweep", "/control-planes/main/sweep", nil, [5]int{401, 403, 403, 200, 404}},
	{"POST /logout", "/logout", nil, [5]int{401, 303, 303, 303, 303}},
	{"GET /metrics", "/metrics", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /openapi.json", "/openapi.json", nil, [5]int{401, 200, 200, 200, 200}},
	{"GET /nothing", "/nothing", nil, [5]int{401, 404, 404, 404, 404}},
	{"GET /login", "/login", nil, [5]int{200, 200, 200, 200, 200}},
	{"GET /healthz", "/healthz", nil, [5]int{200, 200, 200, 200, 200}},
	{"GET /readyz", "/readyz", nil, [5]int{200, 200, 200, 200, 200}},
	{"GET /assets/style.css", "/assets/style.css", nil, [5]int{200, 200, 200, 200, 200}},
}

func TestEachRoleOnEachRoute(t *testing.T) {
	f := guarded(t)
	for _, route := range slices.Concat(routes, pages) {
		t.Run(strings.ReplaceAll(route.pattern, "/", "|"), func(t *testing.T) {
			method, _, _ := strings.Cut(route.pattern, " ")
			var got [5]int
			for i, name := range []string{"", "viewer", "tester", "admin", "elsewhere"} {
				path := route.path
				if strings.Contains(path, "{id}") {
					path = strings.ReplaceAll(path, "{id}", f.endedAs("tester"))
				}
				got[i] = f.status(name, asked{method: method, path: path, body: route.body})
			}
			if diff := cmp.Diff(route.want, got); diff != "" {
				t.Errorf("nobody, viewer, tester, admin, elsewhere (-want +got):\n%s", diff)
			}
		})
	}
}

// endedAs makes a failed test, which has evidence.
func (f *fixture) endedAs(name string) string {
	f.t.Helper()
	var begun test
	answer := f.as(name, asked{method: http.MethodPost, path: "/api/v1/tests", body: newTest("broken")})
	if err := json.Unmarshal([]byte(answer.text), &begun); err != nil {
		f.t.Fatalf("%v: %s", err, answer.text)
	}
	for {
		var now test
		answer := f.as(name, asked{method: http.MethodGet, path: "/api/v1/tests/" + begun.ID})
		if err := json.Unmarshal([]byte(answer.text), &now); err != nil {
			f.t.Fatalf("%v: %s", err, answer.text)
		}
		if now.Finished {
			return begun.ID
		}
	}
}

// status is that of an answer; a stream's is known before it ends.
func (f *fixture) status(name string, a asked) int {
	f.t.Helper()
	if !strings.HasSuffix(a.path, "/events") {
		return f.as(name, a).status
	}
	request, err := http.NewRequestWithContext(f.t.Context(), a.method, f.URL+a.path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if name != "" {
		request.Header.Set("Authorization", "Bearer "+tokenOf(name))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestEachRouteHasARow fails for an operation that the table of roles does not know.
func TestEachRouteHasARow(t *testing.T) {
	f := serve(t)
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(f.do(asked{method: http.MethodGet, path: "/openapi.json"}).text), &document); err != nil {
		t.Fatal(err)
	}
	var served, known []string
	for path, methods := range document.Paths {
		for method := range methods {
			served = append(served, strings.ToUpper(method)+" "+path)
		}
	}
	for _, route := range routes {
		known = append(known, route.pattern)
	}
	slices.Sort(served)
	slices.Sort(known)
	if diff := cmp.Diff(served, known); diff != "" {
		t.Errorf("routes and rows (-served +known):\n%s", diff)
	}
}

// TestCredentials shows what proves who a caller is, and what does not.
func TestCredentials(t *testing.T) {
	f := guarded(t)
	for _, row := range []struct {
		name, path string
		header     map[string]string
		status     int
		why        string
	}{
		{"bearer", "/api/v1/whoami", map[string]string{"Authorization": "Bearer " + tokenOf("viewer")}, 200, "the way of machines"},
		{"bearer in lower case", "/api/v1/whoami", map[string]string{"Authorization": "bearer " + tokenOf("viewer")}, 200, "schemes have no case"},
		{"none", "/api/v1/whoami", nil, 401, "nobody"},
		{"unknown", "/api/v1/whoami", map[string]string{"Authorization": "Bearer assay_guess"}, 401, "not in the file"},
		{"over", "/api/v1/whoami", map[string]string{"Authorization": "Bearer " + tokenOf("over")}, 401, "its time is over"},
		{"the digest", "/api/v1/whoami", map[string]string{"Authorization": "Bearer " + hexDigest("viewer")}, 401, "who reads the file has no token"},
		{"basic", "/api/v1/whoami", map[string]string{"Authorization": "Basic dmlld2VyOng="}, 401, "another scheme"},
		{"forged session", "/api/v1/whoami", map[string]string{"Cookie": "assay=bm90IHNlYWxlZCBieSB0aGlzIHNlcnZlciBhdCBhbGw"}, 401, "this server did not seal it"},
		{"in the URL", "/api/v1/whoami?access_token=" + tokenOf("viewer"), nil, 400, "URLs are logged"},
		{"in the URL too", "/api/v1/whoami?Token=" + tokenOf("viewer"), map[string]string{"Authorization": "Bearer " + tokenOf("viewer")}, 400, "the same"},
		{"a browser", "/tests/new", map[string]string{"Accept": "text/html"}, 303, "a person is asked to sign in"},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := f.do(asked{method: http.MethodGet, path: row.path, header: row.header})
			if answer.status != row.status {
				t.Errorf("%d %s, want %d: %s", answer.status, answer.text, row.status, row.why)
			}
			if strings.Contains(answer.text, tokenOf("")) {
				t.Errorf("the answer holds a token: %s", answer.text)
			}
		})
	}
	f.stop()
	for name := range people {
		if strings.Contains(f.log.String(), tokenOf(name)) || strings.Contains(f.log.String(), hexDigest(name)) {
			t.Errorf("the log holds the token of %s", name)
		}
	}
}

func hexDigest(name string) string {
	digest := access.DigestOf(tokenOf(name))
	return hex.EncodeToString(digest[:])
}

func form(values ...string) (body string, header map[string]string) {
	form := url.Values{}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return form.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
}

// signIn is the cookie of a session.
func (f *fixture) signIn(name string) string {
	f.t.Helper()
	body, header := form("token", tokenOf(name), "to", "/tests/new")
	answer := f.do(asked{method: http.MethodPost, path: "/login", body: body, header: header})
	cookie, _, _ := strings.Cut(answer.header.Get("Set-Cookie"), ";")
	if answer.status != http.StatusSeeOther || answer.header.Get("Location") != "/tests/new" || cookie == "" {
		f.t.Fatalf("sign in: %d to %s: %s", answer.status, answer.header.Get("Location"), answer.text)
	}
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(answer.header.Get("Set-Cookie"), want) {
			f.t.Errorf("the cookie %q lacks %s", answer.header.Get("Set-Cookie"), want)
		}
	}
	if strings.Contains(cookie, tokenOf(name)) {
		f.t.Error("the cookie holds the token")
	}
	return cookie
}

func TestSessionsOfThePage(t *testing.T) {
	f := guarded(t)
	body, header := form("token", "assay_wrong")
	if answer := f.do(asked{method: http.MethodPost, path: "/login", body: body, header: header}); answer.status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d, want 401", answer.status)
	}
	cookie := f.signIn("tester")
	if answer := f.do(asked{method: http.MethodGet, path: "/", header: map[string]string{"Cookie": cookie}}); answer.status != http.StatusOK || !strings.Contains(answer.text, "tester") {
		t.Errorf("with the session: %d", answer.status)
	}
	stop := asked{method: http.MethodPost, path: "/tests/" + f.endedAs("tester") + "/stop"}
	stop.header = map[string]string{"Cookie": cookie, "Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}
	if answer := f.do(stop); answer.status != http.StatusForbidden {
		t.Errorf("from the page of another site: %d, want 403", answer.status)
	}
	stop.header = map[string]string{"Cookie": cookie, "Origin": f.URL, "Sec-Fetch-Site": "same-origin"}
	if answer := f.do(stop); answer.status != http.StatusSeeOther {
		t.Errorf("from this page: %d, want 303", answer.status)
	}
	for _, to := range []string{"https://evil.example.com", "//evil.example.com", "/\\evil.example.com", "javascript:alert(1)", ""} {
		body, header := form("token", tokenOf("tester"), "to", to)
		if answer := f.do(asked{method: http.MethodPost, path: "/login", body: body, header: header}); answer.header.Get("Location") != "/" {
			t.Errorf("sign in to %q leads to %q", to, answer.header.Get("Location"))
		}
	}
}

func TestWithoutAuthenticationOnlyThisMachine(t *testing.T) {
	f := serve(t)
	for _, row := range []struct {
		header map[string]string
		method string
		status int
		why    string
	}{
		{nil, http.MethodGet, 200, "this machine"},
		{map[string]string{"Host": "localhost:1234"}, http.MethodGet, 200, "by its name"},
		{map[string]string{"Host": "[::1]:1234"}, http.MethodGet, 200, "by its other address"},
		{map[string]string{"Host": "evil.example.com"}, http.MethodGet, 403, "a name that somebody else points here"},
		{map[string]string{"Host": "127.0.0.1.example.com"}, http.MethodGet, 403, "the same"},
		{map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}, http.MethodPost, 403, "a page that sends a request here"},
	} {
		path := "/api/v1/whoami"
		if row.method == http.MethodPost {
			path = "/api/v1/tests"
		}
		if answer := f.do(asked{method: row.method, path: path, header: row.header}); answer.status != row.status {
			t.Errorf("%v: %d, want %d: %s", row.header, answer.status, row.status, row.why)
		}
	}
}

func TestWhoAsksTooOftenWaits(t *testing.T) {
	f := guarded(t, "--requests-per-second", "0.001", "--burst", "3")
	var statuses []int
	for range 4 {
		statuses = append(statuses, f.as("viewer", asked{method: http.MethodGet, path: "/api/v1/whoami"}).status)
	}
	last := f.as("viewer", asked{method: http.MethodGet, path: "/api/v1/whoami"})
	if !cmp.Equal(statuses, []int{200, 200, 200, 429}) || last.header.Get("Retry-After") == "" {
		t.Errorf("statuses %v, Retry-After %q", statuses, last.header.Get("Retry-After"))
	}
	if other := f.as("tester", asked{method: http.MethodGet, path: "/api/v1/whoami"}); other.status != http.StatusOK {
		t.Errorf("another caller: %d, want 200", other.status)
	}
	guesses := 0
	for range 100 {
		if answer := f.do(asked{method: http.MethodGet, path: "/api/v1/whoami", header: map[string]string{"Authorization": "Bearer assay_guess"}}); answer.status == 429 {
			guesses++
		}
	}
	if guesses == 0 {
		t.Error("who guesses tokens is never held up")
	}
}

func TestHeadersThatBrowsersKeepTo(t *testing.T) {
	f := serve(t)
	for _, path := range []string{"/", "/api/v1/tests", "/nothing", "/assets/style.css", "/api/v1/tests/x"} {
		header := f.do(asked{method: http.MethodGet, path: path}).header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			if !strings.HasPrefix(header.Get(name), want) {
				t.Errorf("%s: %s is %q, want %q", path, name, header.Get(name), want)
			}
		}
	}
}

// TestAudit finds a line for what changed something and for what was refused.
func TestAudit(t *testing.T) {
	f := guarded(t)
	f.as("tester", asked{method: http.MethodPost, path: "/api/v1/tests", body: newTest("good")})
	f.as("viewer", asked{method: http.MethodPost, path: "/api/v1/tests", body: newTest("good")})
	f.as("viewer", asked{method: http.MethodGet, path: "/api/v1/tests"})
	f.as("", asked{method: http.MethodGet, path: "/api/v1/tests"})
	f.stop()
	var lines []string
	for line := range strings.Lines(f.log.String()) {
		var audit struct {
			Msg, Caller, Method, Path string
			Status                    int
		}
		if json.Unmarshal([]byte(line), &audit) == nil && audit.Msg == "audit" {
			lines = append(lines, fmt.Sprint(audit.Caller, " ", audit.Method, " ", audit.Path, " ", audit.Status))
		}
	}
	want := []string{"tester POST /api/v1/tests 201", "viewer POST /api/v1/tests 403", " GET /api/v1/tests 401"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}
