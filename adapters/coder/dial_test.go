package coder_test

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/core"
)

func TestDialRefuses(t *testing.T) {
	for _, c := range []struct {
		why        string
		connection core.Connection
		want       string
	}{
		{"no URL", core.Connection{}, "https://coder.example.com"},
		{"no scheme: the error shows the mend", core.Connection{URL: "coder.acme.test"}, `"https://coder.acme.test"`},
		{"no scheme, with a port", core.Connection{URL: "coder.acme.test:8443/x"}, `"https://coder.acme.test:8443/x"`},
		{"a password without a scheme", core.Connection{URL: "me:hunter2@coder.acme.test"}, "no scheme"},
		{"a token in a query without a scheme", core.Connection{URL: "coder.acme.test?token=hunter2"}, "no scheme"},
		{"a password under another scheme", core.Connection{URL: "ftp://me:hunter2@coder.acme.test"}, "https or http"},
		{"another scheme", core.Connection{URL: "ftp://coder.acme.test"}, "https or http"},
		{"no host", core.Connection{URL: "https:///x"}, "names no host"},
		{"a password in the URL", core.Connection{URL: "https://me:hunter2@coder.acme.test"}, "take it out"},
		{"a password in a URL that cannot be parsed", core.Connection{URL: "https://me:hunter2@coder acme"}, "cannot be parsed"},
		{"a query: the error shows the mend", core.Connection{URL: "https://coder.acme.test/x?token=hunter2"}, `"https://coder.acme.test/x"`},
		{"a fragment", core.Connection{URL: "https://coder.acme.test/#hunter2"}, `"https://coder.acme.test/"`},
		{"an empty fragment", core.Connection{URL: "https://coder.acme.test#"}, `"https://coder.acme.test"`},
		{"certificates that are none", core.Connection{URL: "https://coder.acme.test", CACertificates: "nonsense"}, "PEM"},
		{"a token with a line break", core.Connection{URL: "https://coder.acme.test", Token: core.NewSecret("hunter2\n")}, "line break"},
	} {
		_, err := coder.Dial(c.connection)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %s", c.why, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error gives a secret away: %v", c.why, err)
		}
	}
}

func TestDialReaches(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/api/v2/buildinfo") || strings.Contains(r.URL.Path, "//") {
			t.Errorf("asked for %s", r.URL.Path)
		}
		coders(w, 200, map[string]string{"deployment_id": strings.TrimSuffix(r.URL.Path, "/api/v2/buildinfo") + "!"})
	})
	plain := httptest.NewServer(handler)
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(handler)
	t.Cleanup(secure.Close)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))

	cases := []struct {
		why        string
		connection core.Connection
		want       string
	}{
		{"a URL as it is", core.Connection{URL: plain.URL}, "!"},
		{"a trailing slash", core.Connection{URL: plain.URL + "/"}, "!"},
		{"a path prefix", core.Connection{URL: plain.URL + "/some/coder"}, "/some/coder!"},
		{"a path prefix with slashes", core.Connection{URL: plain.URL + "/coder//"}, "/coder!"},
		{"a private authority", core.Connection{URL: secure.URL, CACertificates: certificate}, "!"},
		{"a certificate for another name", core.Connection{URL: secure.URL, CACertificates: certificate, ServerName: "example.com"}, "!"},
	}
	if listener, err := net.Listen("tcp", "[::1]:0"); err == nil {
		six := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
		six.Start()
		t.Cleanup(six.Close)
		cases = append(cases, struct {
			why        string
			connection core.Connection
			want       string
		}{"an IPv6 literal", core.Connection{URL: "http://" + listener.Addr().String()}, "!"})
	}
	for _, c := range cases {
		deployment, err := dial(t, c.connection).Deployment(t.Context())
		if err != nil || deployment.ID != c.want {
			t.Errorf("%s: deployment %q, error %v; want %q", c.why, deployment.ID, err, c.want)
		}
	}
}

func TestSendsTokenInClear(t *testing.T) {
	for url, want := range map[string]bool{
		"https://coder.acme.test":    false,
		"http://coder.acme.test":     true,
		"http://10.0.0.1:3000":       true,
		"http://localhost:3000":      false,
		"http://LOCALHOST":           false,
		"http://127.0.0.1:3000":      false,
		"http://127.9.9.9":           false,
		"http://[::1]:3000":          false,
		"http://[::ffff:127.0.0.1]":  false,
		"http://[2001:db8::1]":       true,
		"http://localhost.acme.test": true,
		"not a url":                  false,
	} {
		if got := coder.SendsTokenInClear(url); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}
