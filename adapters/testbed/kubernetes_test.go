package testbed

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// attachedTo makes the files of a cluster whose API server answers with the
// name and the groups of the user, and attaches to it.
func attachedTo(t *testing.T) *Kubernetes {
	t.Helper()
	folder := t.TempDir()
	now := time.Now()
	signer, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	loopback := net.IPv4(127, 0, 0, 1)
	if err := layKeys(folder, signer, now, loopback); err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "apiserver.crt"), filepath.Join(folder, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	users := x509.NewCertPool()
	users.AddCert(signer.certificate)
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		fmt.Fprint(w, subject.CommonName, subject.Organization)
	}))
	api.TLS = &tls.Config{
		Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: users,
	}
	// It logs each handshake that a test wants to fail.
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	api.StartTLS()
	t.Cleanup(api.Close)

	admin, err := signer.config(api.URL, now, "admin", adminGroup)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(folder, "admin.kubeconfig")
	if err := WriteKubeconfig(kubeconfig, admin); err != nil {
		t.Fatal(err)
	}
	k, err := AttachKubernetes(kubeconfig, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// whoIs is the answer of the API server of attachedTo.
func whoIs(t *testing.T, config *rest.Config) (string, error) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestCertificatesSayWhoTheUserIs(t *testing.T) {
	k := attachedTo(t)
	file := filepath.Join(t.TempDir(), "user.kubeconfig")
	if err := WriteKubeconfig(file, k.User("eve", "readers")); err != nil {
		t.Fatal(err)
	}
	fromFile, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason string
		config *rest.Config
		want   string
	}{
		{"the administrator", k.Config(), "admin[system:masters]"},
		{"a user without groups", k.User("eve"), "eve[]"},
		{"a user of two groups", k.User("eve", "readers", "writers"), "eve[readers writers]"},
		{"a user whose configuration went through a file", fromFile, "eve[readers]"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			if got, err := whoIs(t, row.config); err != nil || got != row.want {
				t.Errorf("got %q, %v; want %q", got, err, row.want)
			}
		})
	}
}

func TestOtherAuthoritiesAreRefused(t *testing.T) {
	k := attachedTo(t)
	other, err := newAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := other.config(k.URL, time.Now(), "eve")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := whoIs(t, stranger); err == nil {
		t.Errorf("a client that trusts another authority was told %q", got)
	}
	stranger.CAData = k.authority.pem
	if got, err := whoIs(t, stranger); err == nil {
		t.Errorf("a user of another authority was told %q", got)
	}
}

func TestConfigIsACopy(t *testing.T) {
	k := attachedTo(t)
	k.Config().Host = "elsewhere"
	if got := k.Config().Host; got != k.URL {
		t.Errorf("host is %q, want %q", got, k.URL)
	}
}

func TestKeysAreForTheirOwnerOnly(t *testing.T) {
	k := attachedTo(t)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(k.Kubeconfig()), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", filepath.Base(file), info.Mode().Perm())
		}
	}
}

func TestAttachedKubernetesIsNotOurs(t *testing.T) {
	k := attachedTo(t)
	if err := k.StopAPIServer(t.Context()); !errors.Is(err, ErrNotOurs) {
		t.Errorf("stop: %v", err)
	}
	if err := k.StartAPIServer(t.Context()); !errors.Is(err, ErrNotOurs) {
		t.Errorf("start: %v", err)
	}
	if err := k.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestAttachKubernetesSaysWhatIsMissing(t *testing.T) {
	k := attachedTo(t)
	folder := filepath.Dir(k.Kubeconfig())
	for _, row := range []struct {
		reason, remove, want string
	}{
		{"no authority", "ca.key", "find the authority beside the kubeconfig"},
		{"no kubeconfig", "admin.kubeconfig", "read the kubeconfig"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			if err := os.Remove(filepath.Join(folder, row.remove)); err != nil {
				t.Fatal(err)
			}
			if _, err := AttachKubernetes(k.Kubeconfig(), nil); !saysWhy(err, row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestCertificatesOutliveTheClocksOfATest(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	signer, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	own, err := signer.client(now, "eve")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "eve.crt")
	if err := os.WriteFile(file, own.certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	der, err := decode(file)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(signer.certificate)
	for _, row := range []struct {
		reason string
		at     time.Time
		valid  bool
	}{
		{"at once", now, true},
		{"by a clock that is behind", now.Add(-59 * time.Minute), true},
		{"within the year", now.Add(364 * 24 * time.Hour), true},
		{"not forever", now.Add(366 * 24 * time.Hour), false},
	} {
		_, err := certificate.Verify(x509.VerifyOptions{
			Roots: roots, CurrentTime: row.at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		if (err == nil) != row.valid {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}
