package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	server "github.com/assay-dev/assay/apps/http"
)

// certificate makes a certificate of this machine, which signs itself.
func (f *fixture) certificate(serial int64) (cert, key string, pool *x509.CertPool) {
	f.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "assay"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		f.t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		f.t.Fatal(err)
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		f.t.Fatal(err)
	}
	pool.AddCert(parsed)
	cert = f.write("tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	key = f.write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})))
	return cert, key, pool
}

// TestTLS shows a server that others may reach, and that it takes a new certificate.
func TestTLS(t *testing.T) {
	folder := &fixture{t: t, home: t.TempDir()}
	cert, key, pool := folder.certificate(1)
	f := guarded(t, "--tls-cert", cert, "--tls-key", key)
	address := strings.Replace(f.URL, "http://", "https://", 1)
	get := func(pool *x509.CertPool) (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return response, err
	}
	response, err := get(pool)
	if err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Strict-Transport-Security") == "" || response.TLS.PeerCertificates[0].SerialNumber.Int64() != 1 {
		t.Errorf("headers %v", response.Header)
	}
	_, _, renewed := folder.certificate(2)
	// The time of a file can be as coarse as a tick of the kernel's clock.
	for _, file := range []string{cert, key} {
		if err := os.Chtimes(file, time.Now(), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if response, err = get(renewed); err != nil || response.TLS.PeerCertificates[0].SerialNumber.Int64() != 2 {
		t.Errorf("after the certificate was renewed: %v", err)
	}
	folder.write("tls.key", "no key")
	for range 3 {
		if _, err := get(renewed); err != nil {
			t.Errorf("with a key that cannot be used: %v, want the certificate of before", err)
		}
	}
	if answer := f.do(asked{method: http.MethodGet, path: "/healthz"}); answer.status != http.StatusBadRequest {
		t.Errorf("without TLS: %d %s", answer.status, answer.text)
	}
	f.stop()
	if told := strings.Count(f.log.String(), "the new certificate cannot be used"); told != 1 {
		t.Errorf("the log tells %d times of the key that cannot be used, want once", told)
	}
}

func TestCommands(t *testing.T) {
	for _, row := range []struct {
		args                []string
		code                int
		stdout, stderr, why string
	}{
		{[]string{"token", "bot", "--role", "viewer", "--control-plane", "main"}, 0, "assay_", `roles: {"main": viewer}`, "the token can be piped, the entry read"},
		{[]string{"token", "bot", "--role", "owner"}, 2, "", "--role", "a typing error"},
		{[]string{"token"}, 2, "", "accepts 1 arg", "whose?"},
		{[]string{"version"}, 0, "assay-server ", "", "it says which"},
		{[]string{"--help"}, 0, "--control-planes", "", "help teaches"},
		{[]string{"completion", "bash"}, 0, "complete", "", "shells complete"},
		{[]string{}, 2, "", "--control-planes: must name the file", "nothing is configured"},
		{[]string{"--control-planes", "/nowhere"}, 1, "", "--control-planes", "the file is missing"},
	} {
		var stdout, stderr bytes.Buffer
		env := server.SystemEnv(row.args)
		env.Stdout, env.Stderr = &stdout, &stderr
		env.LookupEnv = func(string) (string, bool) { return "", false }
		code := server.Run(t.Context(), env)
		if code != row.code || !strings.Contains(stdout.String(), row.stdout) || !strings.Contains(stderr.String(), row.stderr) {
			t.Errorf("%v: exit code %d\n%s\n%s\nwant %d: %s", row.args, code, stdout.String(), stderr.String(), row.code, row.why)
		}
		if row.stdout == "assay_" && strings.Contains(stderr.String(), strings.TrimSpace(stdout.String())) {
			t.Error("the entry holds the token")
		}
	}
}
