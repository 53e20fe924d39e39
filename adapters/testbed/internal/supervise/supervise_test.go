//go:build unix

package supervise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes this test program a parent that starts a supervisor
// with a process below it, says so, and waits to be killed. Its value is the
// folder to work in.
const parentVariable = "ASSAY_TEST_SUPERVISE_PARENT"

// patience bounds waits for the operating system; no test measures it.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if folder := os.Getenv(parentVariable); folder != "" {
		if err := beParent(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func beParent(folder string) error {
	s, err := Start(context.Background(), folder, "")
	if err != nil {
		return err
	}
	if _, err := s.Start(holdOpen(filepath.Join(folder, "alive"), "setsid nohup")); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, s.Folder())
	select {}
}

// holdOpen is a shell that detaches a process, if there is a command to do it
// with, and both keep the named pipe open: its reader sees the end when the
// last of them is dead.
func holdOpen(pipe, detach string) Spec {
	return Spec{
		Name: "holder", Path: "/bin/sh", Env: []string{"PATH=" + os.Getenv("PATH")},
		Args: []string{"-c", "exec 9>'" + pipe + "'; " + detach + " sleep 1000 & exec sleep 1000"},
	}
}

func makePipe(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitDeath returns when nobody has the pipe open for writing any more.
func awaitDeath(t *testing.T, pipe *os.File) {
	t.Helper()
	if err := pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, pipe); err != nil {
		t.Fatalf("a process still holds the pipe: %v", err)
	}
}

func startForTest(t *testing.T) *Supervisor {
	t.Helper()
	s, err := Start(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH"), "WORD=hello"}}
}

func TestRun(t *testing.T) {
	s := startForTest(t)
	for _, row := range []struct {
		why     string
		script  string
		wantErr []string
		wantLog string
	}{
		{"success is no error, and the environment is the one given", `echo "$WORD $HOME"`, nil, "hello"},
		{"the error has the status and the output", "echo oh no >&2; exit 3", []string{"exit status 3", "oh no"}, "oh no"},
		{"a signal is named", "kill -TERM $$", []string{"signal: terminated"}, ""},
		{"standard input is empty", "cat; echo end", nil, "end"},
	} {
		t.Run(row.why, func(t *testing.T) {
			name := "run"
			_ = os.Remove(s.Log(name))
			err := s.Run(t.Context(), shell(name, row.script))
			if (err != nil) != (row.wantErr != nil) {
				t.Fatalf("error %v, want one with %q", err, row.wantErr)
			}
			for _, want := range row.wantErr {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if got := s.LogTail(name, 1000); got != row.wantLog {
				t.Errorf("log %q, want %q", got, row.wantLog)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := startForTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx, shell("long", "sleep 1000")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
}

func TestStartReportsWhatCannotRun(t *testing.T) {
	s := startForTest(t)
	if _, err := s.Start(Spec{Name: "nothing", Path: "/does/not/exist"}); err == nil || !strings.Contains(err.Error(), "start nothing") {
		t.Fatalf("got %v, want an error that names the process", err)
	}
}

func TestSignalReachesOneProcess(t *testing.T) {
	s := startForTest(t)
	kept, err := s.Start(shell("kept", "exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := s.Start(shell("stopped", "exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stopped.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-stopped.Ended()
	if stopped.Err() == nil {
		t.Error("an interrupted process ended without an error")
	}
	select {
	case <-kept.Ended():
		t.Error("the other process ended too")
	default:
	}
	if err := stopped.Signal(syscall.SIGINT); err != nil {
		t.Errorf("signal to an ended process: %v", err)
	}
}

func TestCloseStopsInReverseOrder(t *testing.T) {
	s := startForTest(t)
	notes := filepath.Join(t.TempDir(), "notes")
	for _, name := range []string{"first", "second"} {
		spec := shell(name, `trap 'echo `+name+` >>'"$NOTES"'; exit' TERM; : >"$NOTES.`+name+`"; while :; do sleep 0.05; done`)
		spec.Env = append(spec.Env, "NOTES="+notes)
		spec.StopSignal = syscall.SIGTERM
		if _, err := s.Start(spec); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, notes+"."+name, true)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(notes)
	if err != nil || string(text) != "second\nfirst\n" {
		t.Errorf("stopped in the order %q (%v)", text, err)
	}
	if _, err := os.Stat(s.Folder()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := s.Start(shell("late", "true")); !errors.Is(err, ErrSupervisorEnded) {
		t.Errorf("start after the end: %v", err)
	}
}

func TestLogsStayWhereAsked(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	s, err := Start(t.Context(), t.TempDir(), logs)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), shell("talker", "echo kept")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(logs, "talker.log"))
	if err != nil || string(text) != "kept\n" {
		t.Errorf("log %q, %v", text, err)
	}
}

// The promise of the package: a parent that is killed takes everything along,
// a detached process and the folder included.
func TestNothingOutlivesAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finding detached processes needs a subreaper")
	}
	folder := t.TempDir()
	alive := filepath.Join(folder, "alive")
	makePipe(t, alive)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), parentVariable+"="+folder)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the parent said nothing")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	awaitDeath(t, pipe)
	awaitFile(t, lines.Text(), false)
}

func TestCloseEndsDetachedProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finding detached processes needs a subreaper")
	}
	alive := filepath.Join(t.TempDir(), "alive")
	makePipe(t, alive)
	s := startForTest(t)
	if _, err := s.Start(holdOpen(alive, "setsid nohup")); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaitDeath(t, pipe)
}

// awaitFile waits until a file is there, or gone.
func awaitFile(t *testing.T, name string, want bool) {
	t.Helper()
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Lstat(name); (err == nil) == want {
			return
		}
	}
	t.Fatalf("%s: exists is not %v", name, want)
}
