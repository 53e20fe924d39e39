package artifacts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// Config says where artifacts go and what is in them.
type Config struct {
	// Dir is the folder for all tests. It is made, with its parents, unless it is there.
	Dir string
	// Mask knows the secrets that logs and names must not show.
	Mask core.Mask
	// Document makes of a record what test.json says; nil leaves that to Put. It is called
	// from another goroutine.
	Document func(record core.Record) any
}

// Sink writes artifacts, from a goroutine of its own that lives only while there is
// something to write. It must be closed.
type Sink struct {
	config Config

	mu      sync.Mutex
	queue   []func()
	writing bool
	// idle is closed when the queue is empty; nil unless somebody waits.
	idle     chan struct{}
	folders  map[uuid.UUID]string
	problems []error
	more     int

	// disk guards root, which is open while there may be something to write.
	disk sync.Mutex
	root *os.Root
}

var (
	_ ports.StatusSink   = (*Sink)(nil)
	_ ports.EvidenceSink = (*Sink)(nil)
)

// New makes a Sink. It does no I/O.
func New(config Config) *Sink { return &Sink{config: config, folders: map[uuid.UUID]string{}} }

// Prepare makes the folder, so that a run can be refused before it begins.
func (s *Sink) Prepare() error {
	_, err := s.open()
	return err
}

// Transition writes test.json for a test that ended, anew with each change. It never
// waits for the disk.
func (s *Sink) Transition(transition core.StoredTransition) {
	record := transition.After
	if s.config.Document == nil || !record.Status.Phase.Final() && !record.DeletionRequested() {
		return
	}
	s.enqueue(func() { s.writeDocument(&record, s.config.Document(record)) })
}

// Put writes the document that a run ends with as the test.json of the record's test.
func (s *Sink) Put(record core.Record, document any) {
	s.enqueue(func() { s.writeDocument(&record, document) })
}

// Evidence writes the logs and the states of the agents. It waits for the disk until ctx
// is done; what is left is written then, if there is time before Close. A failure to write
// is among the Problems and no error here, so that it is told once.
func (s *Sink) Evidence(ctx context.Context, evidence core.Evidence) error {
	done := make(chan struct{})
	s.enqueue(func() {
		defer close(done)
		s.writeEvidence(&evidence)
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write the artifacts of test %s in time: %w", evidence.TestID, ctx.Err())
	}
}

// Close waits until all is written, or ctx is done, which is a problem too. Whatever comes
// later is written all the same.
func (s *Sink) Close(ctx context.Context) {
	s.mu.Lock()
	idle := s.idle
	if idle == nil && s.writing {
		idle = make(chan struct{})
		s.idle = idle
	}
	s.mu.Unlock()
	if idle == nil {
		s.release()
		return
	}
	select {
	case <-idle:
		s.release()
	case <-ctx.Done():
		s.problem(fmt.Errorf("artifacts in %s are not complete: %w", s.config.Dir, ctx.Err()))
	}
}

// maxProblems bounds how many problems are kept.
const maxProblems = 10

// Problems are what could not be written, and why; of many the first ones.
func (s *Sink) Problems() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	problems := slices.Clone(s.problems)
	if s.more > 0 {
		problems = append(problems, fmt.Errorf("%d more problems with artifacts in %s", s.more, s.config.Dir))
	}
	return problems
}

// Folder is where the artifacts of the test go, empty before there were any.
func (s *Sink) Folder(test uuid.UUID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name := s.folders[test]; name != "" {
		return filepath.Join(s.config.Dir, name)
	}
	return ""
}

func (s *Sink) problem(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) == maxProblems {
		s.more++
		return
	}
	s.problems = append(s.problems, err)
}

// enqueue has the writing goroutine do the call, in order.
func (s *Sink) enqueue(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, call)
	if !s.writing {
		s.writing = true
		go s.work()
	}
}

func (s *Sink) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		call := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		call()
		s.mu.Lock()
	}
	s.writing = false
	if s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

func (s *Sink) writeDocument(record *core.Record, document any) {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		s.problem(fmt.Errorf("write test.json of test %s: %w", record.ID, err))
		return
	}
	s.write(record, file{documentName, string(text) + "\n"})
}

func (s *Sink) writeEvidence(evidence *core.Evidence) {
	record := evidence.Record
	record.ID = evidence.TestID
	s.write(&record, files(evidence, s.config.Mask)...)
}
