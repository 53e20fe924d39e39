package planefile_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/adapters/planefile"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

const tester = "7e57ab1e-0000-4000-8000-000000000001"

// folder is where a file of control planes and its tokens are.
type folder struct {
	*testing.T
	path, file string
	log        bytes.Buffer
	clock      *clock.Clock
	env        map[string]string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	path := t.TempDir()
	return &folder{
		T: t, path: path, file: filepath.Join(path, "planes.yaml"), env: map[string]string{},
		clock: clock.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
	}
}

func (f *folder) write(name, text string, mode os.FileMode) string {
	f.Helper()
	path := filepath.Join(f.path, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		f.Fatal(err)
	}
	// The umask of whoever runs the tests does not count.
	if err := os.Chmod(path, mode); err != nil {
		f.Fatal(err)
	}
	return path
}

func (f *folder) open() (*planefile.File, error) {
	return planefile.Open(f.file, planefile.Config{
		Clock: f.clock, Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
		LookupEnv: func(name string) (string, bool) { value, ok := f.env[name]; return value, ok },
		CheckConnection: func(connection core.Connection) error {
			if !strings.HasPrefix(connection.URL, "https://") {
				return errors.New("must begin with https://")
			}
			return nil
		},
	})
}

func (f *folder) plane(file *planefile.File, ref string) core.ControlPlane {
	f.Helper()
	plane, err := file.ControlPlane(f.Context(), ref, ports.Live)
	if err != nil {
		f.Fatal(err)
	}
	return plane
}

func TestAControlPlaneWithAllItCanHave(t *testing.T) {
	f := newFolder(t)
	token, ca := f.write("token", "secret-token\n", 0o600), f.write("ca.pem", "PEM", 0o644)
	f.write("planes.yaml", `controlPlanes:
  main:
    url: https://coder.example.com
    tokenFile: `+token+`
    caFile: `+ca+`
    serverName: coder.internal
    ownerUserID: `+tester+`
    allowRetain: true
    allowPrivilegedOwner: true
    allowPersonalOwner: true
`, 0o644)
	file, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	want := core.ControlPlane{
		Ref: "main", State: core.ControlPlaneUsable,
		Policy:     core.Policy{OwnerUserID: tester, AllowRetain: true, AllowPrivilegedOwner: true, AllowPersonalOwner: true},
		Connection: core.Connection{URL: "https://coder.example.com", Token: core.NewSecret("secret-token"), CACertificates: "PEM", ServerName: "coder.internal"},
	}
	if got := f.plane(file, "main"); got != want {
		t.Errorf("control plane is %+v, want %+v", got, want)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	for _, row := range []struct{ name, text, want, why string }{
		{"empty", "", "is empty", "a file that was cut short must not mean that nothing is configured"},
		{"no planes", "controlPlanes: {}\n", "at least one", "the same"},
		{"not YAML", "controlPlanes: [\n", "line", "the error says where"},
		{"unknown field", "controlPlanes:\n  main: {url: https://a, tokenEnv: T, owner: x}\n", "line 2: field owner not found", "a typing error must not switch a rule off"},
		{"twice", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n  main: {url: https://b, tokenEnv: T}\n", "line 3", "one of them would be ignored"},
		{"two documents", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n---\n{}\n", "one document", "the second would be ignored"},
		{"token", "controlPlanes:\n  main: {url: https://a, tokenEnv: T, token: secret-token}\n", "main.token: line 2: a token must not be in this file", "files of configuration are shown around"},
		{"no token", "controlPlanes:\n  main: {url: https://a}\n", "main: must set exactly one of tokenFile and tokenEnv", "nothing could be asked"},
		{"two tokens", "controlPlanes:\n  main: {url: https://a, tokenEnv: T, tokenFile: t}\n", "exactly one", "which one counts?"},
		{"name", "controlPlanes:\n  Main_1: {url: https://a, tokenEnv: T}\n", "a name must be", "it stands in paths and roles"},
		{"owner", "controlPlanes:\n  main: {url: https://a, tokenEnv: T, ownerUserID: tester}\n", "main.ownerUserID: must be the ID", "a name could be given to somebody else"},
		{"url", "controlPlanes:\n  main: {url: http://a, tokenEnv: T}\n", "main.url: must begin with https://", "the token would travel in the clear"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFolder(t)
			f.write("planes.yaml", row.text, 0o600)
			_, err := f.open()
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "planes.yaml") {
				t.Errorf("error is %v, want one of the file that says %q: %s", err, row.want, row.why)
			}
			if err != nil && strings.Contains(err.Error(), "secret-token") {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
	f := newFolder(t)
	if _, err := f.open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestAFileThatOthersWrite(t *testing.T) {
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		f := newFolder(t)
		f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n", mode)
		if _, err := f.open(); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %o: error is %v: they could have the token sent to a deployment of theirs", mode, err)
		}
	}
}

func TestTokens(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(f *folder)
		state   core.ControlPlaneState
		why     string
	}{
		{"there", func(f *folder) { f.write("token", "t", 0o600) }, core.ControlPlaneUsable, "it can be dialed"},
		{"for the group", func(f *folder) { f.write("token", "t", 0o640) }, core.ControlPlaneUsable, "a Secret's volume in a cluster is like that"},
		{"missing", func(*folder) {}, core.ControlPlaneNoAccess, "it may come yet"},
		{"empty", func(f *folder) { f.write("token", "\n", 0o600) }, core.ControlPlaneNoAccess, "the same"},
		{"for everybody", func(f *folder) { f.write("token", "t", 0o644) }, core.ControlPlaneUnready, "others could use it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFolder(t)
			f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenFile: "+filepath.Join(f.path, "token")+"}\n", 0o600)
			file, err := f.open()
			if err != nil {
				t.Fatal(err)
			}
			row.prepare(f)
			if got := f.plane(file, "main"); got.State != row.state || (got.Message == "") != (row.state == core.ControlPlaneUsable) {
				t.Errorf("state %v, message %q; want %v: %s", got.State, got.Message, row.state, row.why)
			}
		})
	}
	f := newFolder(t)
	f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: CODER_TOKEN}\n", 0o600)
	file, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.plane(file, "main"); got.State != core.ControlPlaneNoAccess {
		t.Errorf("without the variable: %v", got.State)
	}
	f.env["CODER_TOKEN"] = "t"
	if got := f.plane(file, "main"); got.State != core.ControlPlaneUsable || got.Connection.Token != core.NewSecret("t") {
		t.Errorf("with the variable: %v", got.State)
	}
}

// TestOnlyRemovedMeansGone tells the ways apart in which a control plane can be missing.
func TestOnlyRemovedMeansGone(t *testing.T) {
	f := newFolder(t)
	f.env["T"] = "t"
	f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n  old: {removed: true}\n", 0o600)
	file, err := f.open()
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]core.ControlPlaneState{
		"main": core.ControlPlaneUsable, "old": core.ControlPlaneGone, "never": core.ControlPlaneUnready,
	} {
		if got := f.plane(file, ref); got.State != want {
			t.Errorf("%s is %v, want %v", ref, got.State, want)
		}
	}
	f.write("planes.yaml", "controlPlanes:\n  other: {url: https://a, tokenEnv: T}\n", 0o600)
	if got := f.plane(file, "main"); got.State != core.ControlPlaneUnready || !strings.Contains(got.Message, "removed: true") {
		t.Errorf("one that vanished is %v (%s), want unready and what to do", got.State, got.Message)
	}
	if diff := cmp.Diff([]string{"other"}, file.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestABrokenFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.env["T"] = "t"
		f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n", 0o600)
		file, err := f.open()
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { file.Run(ctx) })
		pass := func() {
			synctest.Wait()
			f.clock.Advance(planefile.PollInterval)
			synctest.Wait()
		}
		f.write("planes.yaml", "controlPlanes:\n  main: {", 0o600)
		pass()
		pass()
		if got := f.plane(file, "main"); got.State != core.ControlPlaneUsable || file.Problem() == nil {
			t.Errorf("main is %v, problem %v; want what it was, and the problem", got.State, file.Problem())
		}
		if count := strings.Count(f.log.String(), "cannot be used"); count != 1 {
			t.Errorf("it is logged %d times, want once:\n%s", count, f.log.String())
		}
		f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n", 0o600)
		if pass(); file.Problem() != nil {
			t.Errorf("problem %v after the file is as it was", file.Problem())
		}
		f.write("planes.yaml", "controlPlanes:\n  main: {url: https://a, tokenEnv: T}\n  second: {url: https://b, tokenEnv: T}\n", 0o600)
		pass()
		if got := file.Names(); len(got) != 2 || file.Problem() != nil || !strings.Contains(f.log.String(), "can be used again") {
			t.Errorf("names %v, problem %v, log:\n%s", got, file.Problem(), f.log.String())
		}
		stop()
		running.Wait()
	})
}
