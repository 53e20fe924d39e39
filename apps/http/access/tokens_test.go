package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/fakes/clock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func entry(name, token, more string) string {
	digest := access.DigestOf(token)
	return "  - {name: " + name + ", sha256: " + hex.EncodeToString(digest[:]) + ", " + more + "}\n"
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFilesOfTokensThatAreRefused(t *testing.T) {
	for _, row := range []struct {
		name, text string
		mode       os.FileMode
		want, why  string
	}{
		{"writable by others", "tokens: []\n", 0o666, "chmod go-w", "anybody could give themselves a role"},
		{"empty", "", 0o600, "is empty", "it was cut short"},
		{"unknown field", "tokens:\n  - {nme: a}\n", 0o600, "line 2: field nme not found", "a typing error"},
		{"a token", "tokens:\n  - {name: a, token: assay_secret, roles: {main: tester}}\n", 0o600, "must not be in this file", "files are copied"},
		{"no digest", "tokens:\n  - {name: a, sha256: abc, roles: {main: tester}}\n", 0o600, "64 hexadecimal digits", "nobody could use it"},
		{"no roles", "tokens:\n" + entry("a", "t", "roles: {}"), 0o600, "roles:", "it could do nothing"},
		{"unknown role", "tokens:\n" + entry("a", "t", "roles: {main: owner}"), 0o600, "must be viewer, tester or admin", "a typing error"},
		{"name with a space", "tokens:\n" + entry("'a b'", "t", "roles: {main: tester}"), 0o600, "name:", "it stands in logs"},
		{"name twice", "tokens:\n" + entry("a", "t", "roles: {main: tester}") + entry("a", "u", "roles: {main: tester}"), 0o600, "used twice", "who was it?"},
		{"name of an issuer's caller", "tokens:\n" + entry("'oidc:u-17'", "t", "roles: {main: tester}"), 0o600, "must not begin with oidc:", "the audit could not tell them apart"},
		{"the digest of nothing", "tokens:\n" + entry("a", "", "roles: {main: tester}"), 0o600, "empty text", "whoever gives no token would be let in"},
		{"two documents", "tokens: []\n---\ntokens:\n" + entry("a", "t", "roles: {main: tester}"), 0o600, "more than one document", "the second one would not count"},
		{"token twice", "tokens:\n" + entry("a", "t", "roles: {main: tester}") + entry("b", "t", "roles: {main: admin}"), 0o600, "used twice", "which role?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokens.yaml")
			write(t, path, row.text, row.mode)
			_, err := access.OpenTokens(path, clock.New(noon), slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error is %v, want one of the file that says %q: %s", err, row.want, row.why)
			}
			if err != nil && strings.Contains(err.Error(), "assay_secret") {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

func TestTokensComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, virtual := filepath.Join(t.TempDir(), "tokens.yaml"), clock.New(noon)
		var log bytes.Buffer
		write(t, path, "tokens:\n"+entry("bot", "one", "roles: {main: tester}, expires: 2026-03-01T13:00:00Z"), 0o600)
		tokens, err := access.OpenTokens(path, virtual, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tokens.Run(ctx) })
		pass := func(d time.Duration) {
			synctest.Wait()
			virtual.Advance(d)
			synctest.Wait()
		}
		known := func(token string) bool {
			_, known := tokens.Find(access.DigestOf(token))
			return known
		}
		if !known("one") || known("two") {
			t.Error("the file's token is not known, or another one is")
		}
		write(t, path, "tokens:\n  - nonsense", 0o600)
		pass(access.ReloadInterval)
		pass(access.ReloadInterval)
		if !known("one") || strings.Count(log.String(), "cannot be used") != 1 {
			t.Errorf("a broken file changes who is known, or is not told of once:\n%s", log.String())
		}
		write(t, path, "tokens:\n"+entry("bot", "two", "roles: {main: tester}, expires: 2026-03-01T13:00:00Z"), 0o600)
		pass(access.ReloadInterval)
		if known("one") || !known("two") || !strings.Contains(log.String(), "can be used again") {
			t.Errorf("the new file does not count:\n%s", log.String())
		}
		pass(time.Hour)
		if known("two") {
			t.Error("a token is known after its end")
		}
		stop()
		running.Wait()
	})
}

func TestNewEntry(t *testing.T) {
	for _, row := range []struct{ name, why string }{
		{"nightly-bot", "the plain case"},
		{"null", "YAML's word for nothing"},
		{"12e3", "a number in YAML"},
		{"@ci", "YAML keeps this sign for itself"},
		{"#bot", "a comment in YAML"},
		{"a:", "a key in YAML"},
		{`q"\`, "what a quoted text must escape"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, token, err := access.NewEntry(row.name, "main", "tester", rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(token, access.TokenPrefix) || len(token) < 40 || strings.Contains(text, token) {
				t.Errorf("token of %d characters, entry\n%s", len(token), text)
			}
			path := filepath.Join(t.TempDir(), "tokens.yaml")
			write(t, path, "tokens:\n"+text, 0o600)
			tokens, err := access.OpenTokens(path, clock.New(noon), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatalf("the entry breaks the file: %v: %s", err, row.why)
			}
			caller, known := tokens.Find(access.DigestOf(token))
			if !known || caller.Name != row.name || !caller.May(access.Tester, "main") || caller.May(access.Viewer, "other") {
				t.Errorf("the entry makes %+v: %s", caller, row.why)
			}
		})
	}
	if _, _, err := access.NewEntry("a b", "main", "tester", rand.Reader); err == nil {
		t.Error("a name with a space is taken")
	}
}

func TestWhereAServerMayListen(t *testing.T) {
	for _, row := range []struct {
		address  string
		security access.Security
		want     string
		why      string
	}{
		{"127.0.0.1:8787", access.Security{}, "", "this machine alone"},
		{"[::1]:8787", access.Security{}, "", "the same"},
		{"localhost:8787", access.Security{}, "", "the same"},
		{"0.0.0.0:8787", access.Security{Authentication: true, TLS: true}, "", "all that it takes"},
		{":8787", access.Security{Authentication: true, BehindProxy: true}, "", "a proxy speaks TLS"},
		{":8787", access.Security{Authentication: true}, "--tls-cert", "tokens in the clear"},
		{"10.0.0.1:8787", access.Security{TLS: true}, "--tokens", "everybody could delete workspaces"},
		{"127.0.0.1:8787", access.Security{BehindProxy: true}, "--tokens", "everybody comes from this machine then"},
		{"8787", access.Security{}, "ADDRESS:PORT", "no address"},
		{"127.0.0.1.example.com:80", access.Security{}, "--tokens", "a name that looks like it"},
	} {
		err := access.CheckListen(row.address, row.security)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s %+v: %v, want %q: %s", row.address, row.security, err, row.want, row.why)
		}
	}
}
