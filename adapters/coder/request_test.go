package coder_test

import (
	"bufio"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// connections runs a raw server that handles each connection with handle.
func connections(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				handle(connection)
				_ = connection.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func TestNeverSent(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	closes := connections(t, func(net.Conn) {})

	for _, c := range []struct {
		why        string
		connection core.Connection
	}{
		{"nobody listens", core.Connection{URL: "http://127.0.0.1:1"}},
		{"the name does not exist", core.Connection{URL: "http://no-such-host.invalid"}},
		{"the certificate is not trusted", core.Connection{URL: server.URL}},
		{"the certificate is for another name", core.Connection{URL: server.URL, CACertificates: certificate, ServerName: "coder.test"}},
		{"the TLS handshake is cut off", core.Connection{URL: "https://" + closes}},
		{"the peer does not speak TLS", core.Connection{URL: strings.Replace(serveURL(t), "http:", "https:", 1)}},
	} {
		runner := dial(t, c.connection)
		_, err := runner.Workspace(t.Context(), uuid.New())
		if got := failureOf(t, err); got.Class != core.FailureUnavailable {
			t.Errorf("%s: read: %v, want unavailable", c.why, got)
		}
		_, err = runner.CreateWorkspace(t.Context(), core.CreateRequest{OwnerID: uuid.New()})
		if got := failureOf(t, err); got.Class != core.FailureNoEffect {
			t.Errorf("%s: change: %v, want no effect", c.why, got)
		}
	}
}

func serveURL(t *testing.T) string {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

// A connection that the peer closes after each answer is what keep-alive meets in
// practice. A change on it must never be sent twice, nor be left uncertain.
func TestChangeIsSentOnce(t *testing.T) {
	t.Run("the peer reads the request and closes", func(t *testing.T) {
		var seen atomic.Int32
		address := connections(t, func(connection net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
				seen.Add(1)
			}
		})
		runner := dial(t, core.Connection{URL: "http://" + address})
		for what, send := range map[string]func() error{
			"create": func() error {
				_, err := runner.CreateWorkspace(t.Context(), core.CreateRequest{OwnerID: uuid.New()})
				return err
			},
			"cancel": func() error { return runner.CancelBuild(t.Context(), uuid.New(), core.JobRunning) },
		} {
			seen.Store(0)
			if got := failureOf(t, send()); got.Class != core.FailureUncertain {
				t.Errorf("%s: %v, want uncertain", what, got)
			}
			if n := seen.Load(); n != 1 {
				t.Errorf("%s: sent %d times, want once", what, n)
			}
		}
	})
	t.Run("each change has a connection of its own", func(t *testing.T) {
		var made atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			coders(w, 200, says("canceled"))
		}))
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				made.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		runner := dial(t, core.Connection{URL: server.URL})
		for range 3 {
			if err := runner.CancelBuild(t.Context(), uuid.New(), core.JobRunning); err != nil {
				t.Fatal(err)
			}
		}
		if n := made.Load(); n != 3 {
			t.Errorf("%d connections for 3 changes, want 3", n)
		}
		made.Store(0)
		for range 3 {
			_, _ = runner.Operator(t.Context())
		}
		if n := made.Load(); n != 1 {
			t.Errorf("%d connections for 3 reads, want 1", n)
		}
	})
	t.Run("over HTTP/2", func(t *testing.T) {
		var seen atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 {
				seen.Add(1)
			}
			panic(http.ErrAbortHandler)
		}))
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(server.Close)
		runner := dial(t, core.Connection{URL: server.URL, CACertificates: string(pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))})
		_, err := runner.CreateWorkspace(t.Context(), core.CreateRequest{OwnerID: uuid.New()})
		if got := failureOf(t, err); got.Class != core.FailureUncertain {
			t.Errorf("create: %v, want uncertain", got)
		}
		if n := seen.Load(); n != 1 {
			t.Errorf("sent %d times over HTTP/2, want once", n)
		}
	})
}

func TestRequestHeaders(t *testing.T) {
	runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Coder-Session-Token"); got != "the-token" {
			t.Errorf("%s %s: token %q", r.Method, r.URL, got)
		}
		if r.Header.Get("X-Coder-Bypass-Ratelimit") != "" {
			t.Errorf("%s %s: asks to bypass the rate limit", r.Method, r.URL)
		}
		coders(w, 404, says("no"))
	})
	_, _ = runner.Owner(t.Context(), uuid.New())
	_, _ = runner.DeleteWorkspace(t.Context(), uuid.New())
}

func TestRedirectIsNotFollowed(t *testing.T) {
	login := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was followed to, with token %q", r.Method, r.URL, r.Header.Get("Coder-Session-Token"))
	}))
	t.Cleanup(login.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, login.URL+"/login?token=secret", status)
		})
		_, err := runner.Operator(t.Context())
		if got := failureOf(t, err); got.Class != core.FailureUnavailable || !strings.Contains(got.Message, login.URL) || strings.Contains(got.Message, "secret") {
			t.Errorf("status %d: %v, want unavailable, naming %s and nothing more", status, got, login.URL)
		}
		_, err = runner.DeleteWorkspace(t.Context(), uuid.New())
		if got := failureOf(t, err); got.Class != core.FailureUncertain {
			t.Errorf("status %d: %v, want uncertain", status, got)
		}
	}
}

func TestDate(t *testing.T) {
	id := uuid.New()
	for _, c := range []struct {
		why, date string
		want      string
	}{
		{"a date", "Sun, 01 Mar 2026 12:00:00 GMT", "2026-03-01T12:00:00Z"},
		{"no date", "", ""},
		{"no usable date", "yesterday", ""},
	} {
		runner := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Date"] = nil
			if c.date != "" {
				w.Header().Set("Date", c.date)
			}
			if strings.HasSuffix(r.URL.Path, "/buildinfo") {
				coders(w, 200, map[string]string{"deployment_id": "d", "version": "v2"})
				return
			}
			coders(w, 404, says("no"))
		})
		deployment, err := runner.Deployment(t.Context())
		checkDate(t, c.why+": deployment", err, c.want, deployment.ServerTime.Format(time.RFC3339))
		found, err := runner.FindWorkspace(t.Context(), id, "name")
		checkDate(t, c.why+": find", err, c.want, found.ServerTime.Format(time.RFC3339))
	}
}

func checkDate(t *testing.T, what string, err error, want, got string) {
	t.Helper()
	if want == "" {
		if failure := failureOf(t, err); failure.Class != core.FailureMismatch {
			t.Errorf("%s: %v, want mismatch", what, failure)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("%s: time %s, error %v; want %s", what, got, err, want)
	}
}
