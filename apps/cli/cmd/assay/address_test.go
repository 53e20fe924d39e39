package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/assay-dev/assay/fakes/world"
)

// TestAddressesThatAreNone gives what cannot be the address of a deployment. Without a
// token too, that is what is told, with the place that the address is from.
func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.serve(tr.coder())
	tr.secrets = append(tr.secrets, "hunter2")
	delete(tr.env, "CODER_SESSION_TOKEN")
	tr.env["CODER_CONFIG_DIR"] = tr.login("login", "ftp://login.example.com", "hunter2")
	url := func(address string) line { return line{Args: testActive("--url", address)} }
	variable := func(address string) line {
		return line{Args: testActive(), Env: map[string]string{"CODER_URL": address}}
	}
	tr.refuse(t, []refusal{
		{"no scheme", url("coder.example.com"), []string{`"coder.example.com" has no scheme: write "https://coder.example.com"`}},
		{"no scheme and a port", url("coder.example.com:8443"), []string{`write "https://coder.example.com:8443"`}},
		{"no scheme and a password", url("jane:hunter2@coder.example.com"), []string{`has no scheme: give one such as "https://coder.example.com"`}},
		{"another scheme", url("ftp://coder.example.com"), []string{`has the scheme "ftp": use https or http`}},
		{"another scheme and a password", url("ssh://jane:hunter2@coder.example.com"), []string{`has the scheme "ssh": use https or http`}},
		{"a user and a password", url("https://jane:hunter2@coder.example.com/x"), []string{"holds a user name or password: take it out and write \"https://coder.example.com/x\"", "the token is given on its own"}},
		{"a password in what is no URL", url("https://jane:hunter2@coder example"), []string{`cannot be parsed: give one such as "https://coder.example.com"`}},
		{"a query", url("https://coder.example.com/cli-auth?token=hunter2"), []string{`has a query or fragment: take it out and write "https://coder.example.com/cli-auth"`}},
		{"an empty query", url("https://coder.example.com?"), []string{`take it out and write "https://coder.example.com"`}},
		{"a fragment", url("https://coder.example.com/#hunter2"), []string{`has a query or fragment: take it out and write "https://coder.example.com/"`}},
		{"no host", url("https:///coder"), []string{`names no host: give one such as "https://coder.example.com"`}},
		{"a port that is none", url("https://coder.example.com:http"), []string{"cannot be parsed"}},
		{"an IPv6 address without brackets", url("https://2001:db8::1:3000"), []string{"cannot be parsed"}},
		{"http to another machine", url("http://coder.example.com"), []string{`"http://coder.example.com": the token would travel in plain text: use https`, "--insecure-http"}},
		{"http to an address of another machine", url("http://192.0.2.1:3000"), []string{"plain text", "--insecure-http"}},
		{"http to a name that only begins like this machine's", url("http://localhost.example.com"), []string{"plain text"}},

		{"a flag wins", line{Args: testActive("--url", "ftp://flag.example.com"), Env: map[string]string{"CODER_URL": "ftp://variable.example.com"}}, []string{`assay: --url: "ftp://flag`}},
		{"a variable wins over the login", variable("ftp://variable.example.com"), []string{`assay: CODER_URL: "ftp://variable`}},
		{"the login is last", variable(""), []string{`assay: what "coder login" stored: "ftp://login`}},
		{"blanks are nothing", line{Args: testActive("--url", " "), Env: map[string]string{"CODER_URL": "\n"}}, []string{`assay: what "coder login" stored: "ftp://login`}},
		{"http in a variable", variable("http://coder.example.com"), []string{`assay: CODER_URL: "http://coder.example.com": the token would travel in plain text`}},
		{"nothing", line{Args: testActive(), Env: map[string]string{"CODER_URL": "", "CODER_CONFIG_DIR": "/nowhere"}}, []string{
			"no Coder deployment is named: give --url, set CODER_URL, or run \"coder login\"",
		}},
	})
}

// TestAddresses reaches Coder at addresses that are written in unusual ways.
func TestAddresses(t *testing.T) {
	t.Parallel()
	type row struct {
		why   string
		serve func(tr *trial) (address string, args []string)
	}
	plain := func(form string) func(*trial) (string, []string) {
		return func(tr *trial) (string, []string) { return fmt.Sprintf(form, tr.serve(tr.coder()).URL), nil }
	}
	// below serves Coder below a path, and nothing else there.
	below := func(form string) func(*trial) (string, []string) {
		return func(tr *trial) (string, []string) {
			mux := http.NewServeMux()
			mux.Handle("/some/coder/", http.StripPrefix("/some/coder", tr.coder()))
			return fmt.Sprintf(form, tr.serve(mux).URL), nil
		}
	}
	inParallel(t, []row{
		{"a trailing slash", plain("%s/")},
		{"the line end of a file", plain("%s\n")},
		{"a path prefix is kept", below("%s/some/coder")},
		{"a path prefix with a trailing slash", below("%s/some/coder/")},
		{"the name of this machine", func(tr *trial) (string, []string) {
			_, port, _ := net.SplitHostPort(tr.serve(tr.coder()).Listener.Addr().String())
			return "http://localhost:" + port, nil
		}},
		{"an IPv6 literal", func(tr *trial) (string, []string) {
			listener, err := net.Listen("tcp", "[::1]:0")
			if err != nil {
				tr.t.Skipf("this machine has no IPv6: %v", err)
			}
			server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: tr.coder()}}
			server.Start()
			tr.t.Cleanup(server.Close)
			return "http://" + listener.Addr().String(), nil
		}},
		{"http to another machine, if that is accepted", func(tr *trial) (string, []string) {
			// A proxy is asked for the other machine, and is Coder itself.
			tr.env["HTTP_PROXY"] = tr.serve(tr.coder()).URL
			return "http://coder.example.com", []string{"--insecure-http"}
		}},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		address, args := row.serve(tr)
		tr.env["CODER_URL"] = address
		tr.run(testActive(args...)...).want(t, 0, "PASSED")
		tr.created(1)
	})
}

// page answers with a status and a body that is not Coder's.
func page(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const (
	html     = "<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>\n"
	htmlKind = "text/html; charset=utf-8"
	jsonKind = "application/json"
)

// TestAnswersOfOthers has something else than Coder answer at the address. It may be
// on its way up, so it is asked until --inputs-timeout; then nothing was judged.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	// login counts who comes to the login page.
	var visits atomic.Int64
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		page(http.StatusOK, htmlKind, html)(w, r)
	}))
	t.Cleanup(login.Close)
	redirect := func(status int, to string) http.Handler { return http.RedirectHandler(to, status) }
	const notCoder = "what answers is not Coder: the answer "
	type row struct {
		why     string
		handler http.Handler
		says    []string
	}
	t.Run("rows", func(t *testing.T) {
		inParallel(t, []row{
			{"a page", page(200, htmlKind, html), []string{notCoder + "is an HTML page (HTTP 200)"}},
			{"a page of Coder's own dashboard", asCoder(page(200, htmlKind, html)), []string{notCoder + "is an HTML page (HTTP 200)"}},
			{"a redirect to a login page", redirect(302, login.URL+"/login?state=hunter2"), []string{notCoder + "redirects to " + login.URL + "/login (HTTP 302)"}},
			{"a redirect that lasts", redirect(301, login.URL+"/"), []string{notCoder + "redirects to " + login.URL + "/ (HTTP 301)"}},
			{"a redirect that keeps the method", redirect(307, "/login"), []string{notCoder + "redirects to http://127.0.0.1:", "/login (HTTP 307)"}},
			{"a proxy's 404", page(404, htmlKind, html), []string{notCoder + "is an HTML page (HTTP 404)"}},
			{"a proxy's 409", page(409, htmlKind, html), []string{notCoder + "is an HTML page (HTTP 409)"}},
			{"a proxy's 502", page(502, htmlKind, html), []string{notCoder + "is an HTML page (HTTP 502)"}},
			{"another API's success", page(200, jsonKind, `{"id":"7","username":"jane"}`), []string{notCoder + "lacks the header X-Coder-Build-Version (HTTP 200)"}},
			{"another API's 401", page(401, jsonKind, `{"message":"who are you?"}`), []string{notCoder + "lacks the header X-Coder-Build-Version (HTTP 401)"}},
		}, func(r row) string { return r.why }, func(t *testing.T, row row) {
			tr := newTrial(t)
			tr.secrets = append(tr.secrets, "hunter2")
			tr.serve(row.handler)
			tr.run(testActive("--inputs-timeout", "1s")...).want(t, 3, append(row.says,
				"nothing was started: ", "check the address (--url, CODER_URL)")...)
			tr.storedNothing()
		})
	})
	if visits.Load() > 0 {
		t.Error("the login page was asked: the token may be there now")
	}
}

// asCoder adds the header that each answer of Coder has.
func asCoder(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Coder-Build-Version", world.Version)
		handler.ServeHTTP(w, r)
	})
}

// TestCoderInTrouble has Coder itself say that it cannot answer.
func TestCoderInTrouble(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.serve(asCoder(page(500, jsonKind, `{"message":"An internal server error occurred.","detail":"hunter2"}`)))
	tr.secrets = append(tr.secrets, "hunter2")
	tr.run(testActive("--inputs-timeout", "1s")...).want(t, 3,
		"nothing was started: Coder answers with an error (HTTP 500: An internal server error occurred.)")
	tr.storedNothing()
}

// TestPathsThatCoderLacks gives an address with a path that is not the deployment's.
func TestPathsThatCoderLacks(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	server := tr.serve(tr.coder())
	tr.run(testActive("--url", server.URL+"/api/v2", "--inputs-timeout", "1s")...).want(t, 3,
		"nothing was started: Coder has nothing at this path (HTTP 404: Route not found.)", "check the address (--url, CODER_URL)")
	tr.storedNothing()
}
