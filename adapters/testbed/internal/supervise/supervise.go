package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// ErrSupervisorEnded is the end of every process whose supervisor is gone.
var ErrSupervisorEnded = errors.New("the supervisor ended")

// Supervisor is the parent's side: it asks the child to start processes and
// learns of their ends. Its methods may be called from several goroutines.
type Supervisor struct {
	folder string
	logs   string
	child  *exec.Cmd
	events *os.File

	requestMu sync.Mutex
	requests  io.WriteCloser

	mu        sync.Mutex
	processes map[int]*Process
	last      int
	gone      chan struct{}

	closing  sync.Once
	closeErr error
}

// Process is one process below the supervisor.
type Process struct {
	name       string
	number     int
	supervisor *Supervisor

	// started is closed once the supervisor answered the request to start:
	// pid or startErr is then set.
	started  chan struct{}
	pid      int
	startErr error
	// ended is closed once the process ended: err is then set.
	ended chan struct{}
	err   error
}

// Start runs the supervisor. It makes a folder of its own in parent (the
// system's folder for temporary files if empty) and removes it at the end;
// logs go to the folder logs if that is set, and stay there.
func Start(ctx context.Context, parent, logs string) (*Supervisor, error) {
	if !supported {
		return nil, errors.New("supervised processes need a Unix system")
	}
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that becomes the supervisor: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = write.Close() }()
	// It cleans up after ctx too.
	child := exec.CommandContext(context.WithoutCancel(ctx), self)
	child.Args = []string{"testbed-supervisor"}
	child.Env = append(os.Environ(), roleVariable+"="+parent)
	child.ExtraFiles = []*os.File{write}
	child.SysProcAttr = ownSession()
	requests, err := child.StdinPipe()
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	if err := child.Start(); err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	s := &Supervisor{
		child: child, events: read, requests: requests,
		processes: map[int]*Process{}, gone: make(chan struct{}),
	}
	ready := make(chan event, 1)
	go s.listen(ready)
	select {
	case first := <-ready:
		if first.Folder == "" {
			_ = s.Close()
			return nil, fmt.Errorf("start the supervisor: %s", first.Failed)
		}
		s.folder = first.Folder
	case <-s.gone:
		_ = s.Close()
		return nil, fmt.Errorf("start the supervisor: %w", ErrSupervisorEnded)
	case <-ctx.Done():
		_ = s.Close()
		return nil, ctx.Err()
	}
	return s, s.placeLogs(logs)
}

func (s *Supervisor) placeLogs(folder string) error {
	s.logs = filepath.Join(s.folder, logFolder)
	if folder == "" {
		return nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	err = os.MkdirAll(folder, 0o755)
	if err == nil {
		err = os.Remove(s.logs)
	}
	if err == nil {
		err = os.Symlink(folder, s.logs)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("place the logs: %w", err), s.Close())
	}
	return nil
}

// Folder is the supervisor's folder: what is put there goes when it ends.
func (s *Supervisor) Folder() string { return s.folder }

// PIDs is the folder for files that hold the process ID of a process which
// detached itself; their names end in ".pid".
func (s *Supervisor) PIDs() string { return filepath.Join(s.folder, pidFolder) }

// Log is the file that receives the output of the processes of that name.
func (s *Supervisor) Log(name string) string { return filepath.Join(s.logs, name+".log") }

// LogTail returns up to n bytes from the end of a log, for error messages.
func (s *Supervisor) LogTail(name string, n int) string {
	text, err := os.ReadFile(s.Log(name))
	if err != nil {
		return ""
	}
	if len(text) > n {
		text = text[len(text)-n:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return string(bytes.TrimSpace(text))
}

// Start begins a process. A process that cannot be started is an error here,
// one that ends later is not.
func (s *Supervisor) Start(spec Spec) (*Process, error) {
	s.mu.Lock()
	s.last++
	p := &Process{
		name: spec.Name, number: s.last, supervisor: s,
		started: make(chan struct{}), ended: make(chan struct{}),
	}
	s.processes[p.number] = p
	s.mu.Unlock()

	if err := s.send(request{Process: p.number, Start: &spec}); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	select {
	case <-p.started:
	case <-s.gone:
		return nil, fmt.Errorf("start %s: %w", spec.Name, ErrSupervisorEnded)
	}
	if p.startErr != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, p.startErr)
	}
	return p, nil
}

// Run starts a process and waits for its end. An end other than success is an
// error that carries the end of its log. When ctx is done first, the process
// is killed.
func (s *Supervisor) Run(ctx context.Context, spec Spec) error {
	p, err := s.Start(spec)
	if err != nil {
		return err
	}
	select {
	case <-p.Ended():
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGKILL)
		return fmt.Errorf("%s: %w", spec.Name, ctx.Err())
	}
	if p.Err() != nil {
		return fmt.Errorf("%s: %w: %s", spec.Name, p.Err(), s.LogTail(spec.Name, 2000))
	}
	return nil
}

// Close ends every process, removes the folder and returns when both are
// done. Calling it again returns the same error.
func (s *Supervisor) Close() error {
	s.closing.Do(func() {
		s.requestMu.Lock()
		_ = s.requests.Close()
		s.requestMu.Unlock()
		<-s.gone
		if err := s.child.Wait(); err != nil {
			s.closeErr = fmt.Errorf("end the supervised processes: %w", err)
		}
	})
	return s.closeErr
}

func (s *Supervisor) send(r request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.requestMu.Lock()
	defer s.requestMu.Unlock()
	if _, err := s.requests.Write(append(line, '\n')); err != nil {
		return ErrSupervisorEnded
	}
	return nil
}

// listen hands each event to the process it is about, and the first one to
// ready, until the supervisor closed its end of the pipe.
func (s *Supervisor) listen(ready chan<- event) {
	lines := json.NewDecoder(s.events)
	for first := true; ; first = false {
		var e event
		if lines.Decode(&e) != nil {
			break
		}
		if first {
			ready <- e
			continue
		}
		s.dispatch(e)
	}
	_ = s.events.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		p.err = ErrSupervisorEnded
		close(p.ended)
	}
	clear(s.processes)
	close(s.gone)
}

func (s *Supervisor) dispatch(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[e.Process]
	if p == nil {
		return
	}
	switch {
	case e.Failed != "":
		p.startErr = errors.New(e.Failed)
		delete(s.processes, e.Process)
		close(p.started)
	case e.Started != 0:
		p.pid = e.Started
		close(p.started)
	default:
		if e.Ended != success {
			p.err = errors.New(e.Ended)
		}
		delete(s.processes, e.Process)
		close(p.ended)
	}
}

// PID is the process ID.
func (p *Process) PID() int { return p.pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err says how the process ended, nil meaning success. It is valid once
// [Process.Ended] is closed.
func (p *Process) Err() error { return p.err }

// Signal sends a signal to the process alone. Signaling a process that has
// ended does nothing.
func (p *Process) Signal(signal syscall.Signal) error {
	return p.supervisor.send(request{Process: p.number, Signal: signal})
}
