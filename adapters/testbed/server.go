package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/assay-dev/assay/adapters/testbed/internal/supervise"
)

const (
	// readyWait bounds how long a server may take to answer, on a machine
	// that is busy with builds and tests.
	readyWait  = 2 * time.Minute
	readyPause = 20 * time.Millisecond
	// stopWait is how long a server may take to end what it is doing.
	stopWait = 20 * time.Second
)

// server is a process that can be stopped and started again, each time with
// the same arguments.
type server struct {
	supervisor *supervise.Supervisor
	spec       supervise.Spec
	// ready asks once whether the server answers.
	ready   func(context.Context) bool
	process *supervise.Process
}

// start runs the server and returns once it answers.
func (s *server) start(ctx context.Context) error {
	process, err := s.supervisor.Start(s.spec)
	if err != nil {
		return err
	}
	s.process = process
	return s.await(ctx)
}

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	tick := time.NewTicker(readyPause)
	defer tick.Stop()
	for !s.ready(ctx) {
		select {
		case <-s.process.Ended():
			return fmt.Errorf("%s ended: %w: %s", s.spec.Name, endOf(s.process), s.supervisor.LogTail(s.spec.Name, 4000))
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %s", s.spec.Name, ctx.Err(), s.supervisor.LogTail(s.spec.Name, 4000))
		case <-tick.C:
		}
	}
	return nil
}

// stop interrupts the server, which makes it end what it is doing, and kills
// it if that takes too long.
func (s *server) stop(ctx context.Context) error {
	if s.process == nil {
		return fmt.Errorf("%s is not running", s.spec.Name)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		if err := s.process.Signal(signal); err != nil {
			return fmt.Errorf("stop %s: %w", s.spec.Name, err)
		}
		select {
		case <-s.process.Ended():
			s.process = nil
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %w", s.spec.Name, ctx.Err())
		case <-time.After(stopWait):
		}
	}
	return fmt.Errorf("stop %s: it does not end", s.spec.Name)
}

// endOf is the error of a process that was not expected to end.
func endOf(p *supervise.Process) error {
	if p.Err() != nil {
		return p.Err()
	}
	return errors.New("exit status 0")
}

// answers reports whether a GET is answered with success.
func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
