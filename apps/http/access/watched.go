package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/ports"
)

// ReloadInterval is how often the files of tokens and of roles are looked at.
const ReloadInterval = 5 * time.Second

// maxFileBytes bounds a file that says who may do what.
const maxFileBytes = 1 << 20

// watched is a file that says who may do what, and is read again when it changes. It is
// safe for concurrent use.
type watched[T any] struct {
	// what the file is, for people: "file of tokens".
	path, what string
	parse      func(text []byte) (T, error)
	clock      ports.Clock
	log        *slog.Logger

	mu      sync.Mutex
	text    []byte
	value   T
	problem string
}

// now is what the file said when it could last be used.
func (w *watched[T]) now() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.value
}

// Run reads the file again whenever it changes, until ctx is done. A file that cannot be
// used leaves things as they were, and is logged once.
func (w *watched[T]) Run(ctx context.Context) {
	for {
		due := make(chan struct{})
		timer := w.clock.AfterFunc(ReloadInterval, func() { close(due) })
		select {
		case <-due:
			w.refresh()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (w *watched[T]) refresh() {
	problem := ""
	if err := w.read(); err != nil {
		problem = err.Error()
	}
	w.mu.Lock()
	before := w.problem
	w.problem = problem
	w.mu.Unlock()
	switch {
	case problem != "" && problem != before:
		w.log.Error("a file cannot be used; things stay as they were", "is", w.what, "error", problem)
	case problem == "" && before != "":
		w.log.Info("a file can be used again", "is", w.what, "file", w.path)
	}
}

// read reads the file. Every error names it.
func (w *watched[T]) read() error {
	info, err := os.Stat(w.path)
	switch {
	case err != nil:
		return err
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: others than its owner can write it, and so give themselves roles: take that right away (chmod go-w)", w.path)
	case info.Size() > maxFileBytes:
		return fmt.Errorf("%s: is larger than 1 MiB", w.path)
	}
	text, err := os.ReadFile(w.path)
	if err != nil {
		return err
	}
	w.mu.Lock()
	same := w.text != nil && bytes.Equal(text, w.text)
	w.mu.Unlock()
	if same {
		return nil
	}
	value, err := w.parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text, w.value = text, value
	return nil
}

// decodeOne reads the one document of a file in YAML, all of whose fields must be known.
// io.EOF: there is none.
func decodeOne(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("has more than one document: what follows the second --- would not count, so put all into one")
	}
	return nil
}
