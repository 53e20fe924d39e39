// Package planefile is the control planes of a server: a YAML file that names Coder
// deployments, read again whenever it changes. It holds no token: each is in a file or an
// environment variable that it names.
package planefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// PollInterval is how often the file is looked at.
const PollInterval = 5 * time.Second

// Config is what a File is made of.
type Config struct {
	Clock ports.Clock
	// LookupEnv reads the environment as os.LookupEnv does.
	LookupEnv func(name string) (string, bool)
	// CheckConnection says why a connection cannot be used, nil when it can. Its errors
	// hold no secret.
	CheckConnection func(core.Connection) error
	Logger          *slog.Logger
}

// File is the control planes of a file. It is safe for concurrent use.
type File struct {
	path string
	Config

	mu sync.Mutex
	// text is the content that planes were read from.
	text    []byte
	planes  map[string]plane
	problem error
}

var _ ports.ControlPlanes = (*File)(nil)

// Open reads a file. Every error names the file, and the line where there is one.
func Open(path string, config Config) (*File, error) {
	f := &File{path: path, Config: config}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Run reads the file again whenever it changes, until ctx is done. A file that cannot be
// used leaves the control planes as they were, and is logged once.
func (f *File) Run(ctx context.Context) {
	for {
		due := make(chan struct{})
		timer := f.Clock.AfterFunc(PollInterval, func() { close(due) })
		select {
		case <-due:
			f.Refresh()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Refresh reads the file if it changed.
func (f *File) Refresh() {
	before := f.Problem()
	switch err := f.read(); {
	case err == nil && before != nil:
		f.Logger.Info("the file of control planes can be used again", "file", f.path)
	case err != nil && (before == nil || before.Error() != err.Error()):
		f.Logger.Error("the file of control planes cannot be used; they stay as they were", "error", err)
	}
}

func (f *File) read() error {
	err := onlyOwnerWrites(f.path)
	var text []byte
	if err == nil {
		text, err = readBounded(f.path)
	}
	if err == nil && f.unchanged(text) {
		return nil
	}
	var planes map[string]plane
	if err == nil {
		planes, err = parse(text)
	}
	if err == nil {
		err = f.check(planes)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.problem = fmt.Errorf("%s: %w", f.path, err)
		return f.problem
	}
	f.text, f.planes, f.problem = text, planes, nil
	return nil
}

// unchanged reports whether the text is what is in use.
func (f *File) unchanged(text []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text == nil || !bytes.Equal(f.text, text) {
		return false
	}
	f.problem = nil
	return true
}

// onlyOwnerWrites refuses a file with which others could have a token sent to a deployment
// of theirs.
func onlyOwnerWrites(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return withoutPath(err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("others than its owner can write it, and so have a token sent elsewhere: take that right away (chmod go-w)")
	}
	return nil
}

// maxBytes bounds the file, and each file that it names.
const maxBytes = 1 << 20

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.Size() > maxBytes {
		return nil, errors.New("is larger than 1 MiB")
	}
	text, err := os.ReadFile(path)
	return text, withoutPath(err)
}

// withoutPath is the cause of an error, without the path that the caller names.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// check refuses connections that could never be used. Tokens may come later.
func (f *File) check(planes map[string]plane) error {
	for _, name := range slices.Sorted(maps.Keys(planes)) {
		if planes[name].Removed {
			continue
		}
		if err := f.CheckConnection(core.Connection{URL: planes[name].URL}); err != nil {
			return fmt.Errorf("controlPlanes.%s.url: %w", name, err)
		}
	}
	return nil
}

// Problem is why the file cannot be used as it is now; nil where it can.
func (f *File) Problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem
}

// Names lists the control planes, removed ones included.
func (f *File) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.planes))
}

// ControlPlane implements ports.ControlPlanes. One that is not in the file is unready: only
// "removed: true" means gone.
func (f *File) ControlPlane(_ context.Context, ref string, fresh ports.Freshness) (core.ControlPlane, error) {
	if fresh == ports.Live {
		f.Refresh()
	}
	f.mu.Lock()
	found, known := f.planes[ref]
	f.mu.Unlock()
	result := core.ControlPlane{Ref: ref}
	switch {
	case !known:
		result.Message = "put the control plane back into the server's file, or write removed: true there if it is gone for good"
		return result, nil
	case found.Removed:
		result.State, result.Message = core.ControlPlaneGone, "the server's file says that it is removed"
		return result, nil
	}
	result.Policy = found.policy()
	connection, err := f.connection(found)
	result.Connection = connection
	switch {
	case err != nil:
		result.Message = err.Error()
	case connection.Token.Empty():
		result.State, result.Message = core.ControlPlaneNoAccess, "give the control plane an operator token: its tokenFile or tokenEnv is missing or empty"
	default:
		result.State = core.ControlPlaneUsable
	}
	return result, nil
}
