//go:build unix

package artifacts_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assay-dev/assay/core"
)

const folder = "acme.docker-v2.1.0-ebce859a"

// TestLinksLeadNowhere puts links where the sink writes.
func TestLinksLeadNowhere(t *testing.T) {
	for _, row := range []struct {
		why  string
		link func(dir, outside string) error
		// keeps: all is written, beside what the link led to.
		keeps bool
	}{
		{"the test's folder leads out", func(dir, outside string) error { return os.Symlink(outside, filepath.Join(dir, folder)) }, false},
		{"it leads to another folder inside", func(dir, _ string) error {
			if err := os.Mkdir(filepath.Join(dir, "other"), 0o700); err != nil {
				return err
			}
			return os.Symlink("other", filepath.Join(dir, folder))
		}, false},
		{"it is a file", func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, folder), nil, 0o600) }, false},
		{"a file leads out", func(dir, outside string) error {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(outside, "victim"), filepath.Join(dir, folder, "build.log"))
		}, true},
		{"the file that is written first leads out", func(dir, outside string) error {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(outside, "victim"), filepath.Join(dir, folder, "build.log.part"))
		}, true},
		{"it is a pipe that nobody reads", func(dir, _ string) error {
			if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
				return err
			}
			return unix.Mkfifo(filepath.Join(dir, folder, "build.log"), 0o600)
		}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			victim := filepath.Join(outside, "victim")
			if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := row.link(dir, outside); err != nil {
				t.Fatal(err)
			}
			sink := newSink(t, dir)
			if err := sink.Evidence(t.Context(), evidence(failed())); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
				t.Errorf("the file outside is %q, %v", text, err)
			}
			if entries, _ := os.ReadDir(outside); len(entries) != 1 {
				t.Errorf("something was written outside: %v", entries)
			}
			if entries, _ := os.ReadDir(filepath.Join(dir, "other")); len(entries) != 0 {
				t.Errorf("a link was followed: %v", entries)
			}
			if got := len(sink.Problems()) == 0; got != row.keeps {
				t.Errorf("problems %v", sink.Problems())
			}
			if row.keeps && tree(t, dir)[folder+"/build.log"] != "Creating with ***\n" {
				t.Error("the log is not kept")
			}
		})
	}
}

// TestFullDisk runs itself as a process whose files can have only so many bytes.
func TestFullDisk(t *testing.T) {
	const variable = "ASSAY_TEST_FULL_DISK"
	if dir := os.Getenv(variable); dir != "" {
		fillDisk(t, dir)
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the disk was full") {
		t.Fatalf("%v:\n%s", err, out)
	}
	found := tree(t, dir)
	if _, ok := found[folder+"/build.log"]; ok || len(found) != 2 {
		t.Errorf("files %v: want those that fit, whole, and nothing of the other", found)
	}
	if found[folder+"/test.json"] == "" || found[folder+"/agent-dev-Startup-Script.log"] == "" {
		t.Errorf("what fits is not there: %v", found)
	}
}

func fillDisk(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 256, Max: 256}); err != nil {
		t.Fatal(err)
	}
	sink := newSink(t, dir)
	e := evidence(failed())
	e.Logs[0].Text = strings.Repeat("a line\n", 10000)
	if err := sink.Evidence(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	sink.Transition(core.StoredTransition{After: failed()})
	sink.Close(t.Context())
	// agents.json and the log of the build are too large.
	if problems := sink.Problems(); len(problems) != 2 || !strings.Contains(problems[1].Error(), "build.log") {
		t.Fatalf("problems %v", problems)
	}
	t.Log("the disk was full")
}
