package main

import (
	"encoding/pem"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCertificates meets Coder behind TLS. A deployment whose certificate is not
// trusted never gets the token.
func TestCertificates(t *testing.T) {
	t.Parallel()
	type row struct {
		why  string
		give func(tr *trial, server *httptest.Server) (args []string)
		code int
		says []string
	}
	authority := func(tr *trial, server *httptest.Server) []string {
		content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		return []string{"--ca-file", tr.file("authority.pem", string(content), 0o600)}
	}
	untrusted := []string{"nothing was started: Coder's certificate is not trusted: ", "check the address (--url, CODER_URL)", "--ca-file"}
	inParallel(t, []row{
		{"an authority that is named", authority, 0, []string{"PASSED"}},
		{
			"an authority that nobody knows", func(*trial, *httptest.Server) []string { return nil },
			3, append(untrusted, "certificate signed by unknown authority"),
		},
		{
			"a certificate of another name", func(tr *trial, server *httptest.Server) []string {
				_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
				tr.env["CODER_URL"] = "https://localhost:" + port
				return authority(tr, server)
			},
			3, append(untrusted, "not localhost"),
		},
		{
			"http to a port of TLS", func(tr *trial, server *httptest.Server) []string {
				tr.env["CODER_URL"] = strings.Replace(server.URL, "https://", "http://", 1)
				return nil
			},
			3,
			[]string{"what answers is not Coder: the answer lacks the header X-Coder-Build-Version (HTTP 400)", "check the address"},
		},
		{
			"TLS to a port of http", func(tr *trial, _ *httptest.Server) []string {
				tr.env["CODER_URL"] = strings.Replace(tr.serve(tr.coder()).URL, "http://", "https://", 1)
				return nil
			},
			3,
			[]string{"nothing was started: Coder cannot be reached: http: server gave HTTP response to HTTPS client", "check the address"},
		},
	}, func(r row) string { return r.why }, func(t *testing.T, row row) {
		tr := newTrial(t)
		server := quietly(httptest.NewUnstartedServer(tr.coder()))
		server.StartTLS()
		t.Cleanup(server.Close)
		tr.env["CODER_URL"] = server.URL
		args := testActive(row.give(tr, server)...)
		if row.code == 0 {
			tr.run(args...).want(t, 0, row.says...)
			return
		}
		tr.run(append(args, "--inputs-timeout", "1s")...).want(t, row.code, row.says...)
		tr.storedNothing()
		if asked := tr.world.Requests(); len(asked) > 0 {
			t.Errorf("Coder was asked: %v", asked)
		}
	})
}

func TestAuthoritiesThatAreNone(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.serve(tr.coder())
	file := func(name string) line { return line{Args: testActive("--ca-file", name)} }
	tr.refuse(t, []refusal{
		{"a file without a certificate", file(tr.file("nonsense.pem", "nonsense", 0o600)), []string{
			"--ca-file: ", `nonsense.pem holds no certificate in PEM ("-----BEGIN CERTIFICATE-----")`,
		}},
		{"a file that is not there", file("missing.pem"), []string{"--ca-file: open missing.pem: no such file or directory"}},
	})
}
