//go:build unix

package supervise

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a process may take to obey its stop signal.
	stopGrace = 5 * time.Second
	// sweepLimit bounds how long the supervisor insists on killing.
	sweepLimit = 20 * time.Second
	sweepPause = 10 * time.Millisecond
)

// init turns the program into the supervisor when its environment says so.
// It runs on the program's first thread, which the runtime keeps for this
// goroutine during init: the kernel's promise to kill the children with their
// parent is tied to the thread that started them.
//
//nolint:gochecknoinits // only an init function runs before main in whatever program imports this
func init() {
	parent, supervisor := os.LookupEnv(roleVariable)
	if !supervisor {
		return
	}
	_ = os.Unsetenv(roleVariable)
	// A child that kept it open would hide the supervisor's end.
	syscall.CloseOnExec(eventsFD)
	os.Exit(serve(parent, os.Stdin, os.NewFile(eventsFD, "events")))
}

// supported says that init can make a supervisor here.
const supported = true

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// server is the supervisor's own state. One goroutine uses it: only that one
// starts, signals and reaps, so a process ID is never used after its process
// was reaped.
type server struct {
	folder string
	events io.Writer
	// running holds the processes that were started and not reaped, by
	// process ID; order holds their IDs in the order of the starts.
	running map[int]child
	order   []int
}

type child struct {
	number int
	spec   Spec
}

// serve is the supervisor's life. Its result is the exit status.
func serve(parent string, requests io.Reader, events io.Writer) int {
	// Handled rather than ignored, so that children get the defaults back.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)

	s := &server{events: events, running: map[int]child{}}
	err := becomeReaper()
	if err == nil {
		err = s.makeFolder(parent)
	}
	if err != nil {
		s.tell(event{Failed: err.Error()})
		return 1
	}
	s.tell(event{Folder: s.folder})

	lines := make(chan request)
	go readRequests(requests, lines)
	for {
		select {
		case r, open := <-lines:
			if !open {
				return s.end()
			}
			s.perform(r)
		case <-ended:
			s.reap()
		case <-terminate:
			return s.end()
		}
	}
}

func readRequests(from io.Reader, to chan<- request) {
	defer close(to)
	lines := json.NewDecoder(bufio.NewReader(from))
	for {
		var r request
		if lines.Decode(&r) != nil {
			return
		}
		to <- r
	}
}

// makeFolder makes the folder in the supervisor rather than in its parent:
// there is no moment at which it exists and nobody would remove it.
func (s *server) makeFolder(parent string) error {
	folder, err := os.MkdirTemp(parent, "assay-testbed-")
	if err != nil {
		return err
	}
	s.folder = folder
	// Others may pass through, because a child may run as another user, but
	// they cannot list.
	if err := os.Chmod(folder, 0o711); err != nil {
		return err
	}
	for _, name := range []string{logFolder, pidFolder} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// tell ignores errors: when nobody listens any more, the requests end too.
func (s *server) tell(e event) {
	if line, err := json.Marshal(e); err == nil {
		_, _ = s.events.Write(append(line, '\n'))
	}
}

func (s *server) perform(r request) {
	if r.Start == nil {
		for pid, c := range s.running {
			if c.number == r.Process {
				_ = syscall.Kill(pid, r.Signal)
			}
		}
		return
	}
	pid, err := s.start(*r.Start)
	if err != nil {
		s.tell(event{Process: r.Process, Failed: err.Error()})
		return
	}
	s.running[pid] = child{number: r.Process, spec: *r.Start}
	s.order = append(s.order, pid)
	s.tell(event{Process: r.Process, Started: pid})
}

func (s *server) start(spec Spec) (int, error) {
	log, err := os.OpenFile(filepath.Join(s.folder, logFolder, spec.Name+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer func() { _ = nothing.Close() }()
	attributes := childAttributes()
	attributes.Setpgid = true
	if spec.User != nil {
		attributes.Credential = &syscall.Credential{Uid: spec.User.UID, Gid: spec.User.GID}
	}
	dir := spec.Dir
	if dir == "" {
		dir = s.folder
	}
	process, err := os.StartProcess(spec.Path, append([]string{spec.Path}, spec.Args...), &os.ProcAttr{
		Dir: dir, Env: spec.Env, Files: []*os.File{nothing, log, log}, Sys: attributes,
	})
	if err != nil {
		return 0, err
	}
	pid := process.Pid
	// The end is learned by reap, which also meets children that were never
	// started here.
	return pid, process.Release()
}

// reap collects every child that has ended, and reports those it knows. It
// returns false when no child is left.
func (s *server) reap() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		}
		c, known := s.running[pid]
		if !known {
			continue
		}
		delete(s.running, pid)
		s.order = slices.DeleteFunc(s.order, func(other int) bool { return other == pid })
		s.tell(event{Process: c.number, Ended: describe(status)})
	}
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return fmt.Sprintf("signal: %s", status.Signal())
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// end stops what asked to be stopped, kills the rest and removes the folder.
// Its result is the exit status: 0 only if nothing is left.
func (s *server) end() int {
	for _, pid := range slices.Backward(slices.Clone(s.order)) {
		if signal := s.running[pid].spec.StopSignal; signal != 0 {
			s.stop(pid, signal)
		}
	}
	var left bool
	for deadline := time.Now().Add(sweepLimit); ; {
		s.killAll()
		if left = s.reap(); !left || time.Now().After(deadline) {
			break
		}
		time.Sleep(sweepPause)
	}
	if err := os.RemoveAll(s.folder); err != nil || left {
		return 1
	}
	return 0
}

func (s *server) stop(pid int, signal syscall.Signal) {
	_ = syscall.Kill(pid, signal)
	for deadline := time.Now().Add(stopGrace); time.Now().Before(deadline); time.Sleep(sweepPause) {
		s.reap()
		if _, running := s.running[pid]; !running {
			return
		}
	}
}
