package artifacts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/assay-dev/assay/core"
)

// open opens the folder of all tests, and makes it first if need be. From then on nothing
// is reached that is outside of it, whatever links somebody puts inside.
func (s *Sink) open() (*os.Root, error) {
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.root != nil {
		return s.root, nil
	}
	if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for artifacts: %w", err)
	}
	root, err := os.OpenRoot(s.config.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for artifacts: %w", err)
	}
	s.root = root
	return root, nil
}

func (s *Sink) release() {
	s.disk.Lock()
	defer s.disk.Unlock()
	if s.root != nil {
		_ = s.root.Close()
		s.root = nil
	}
}

// write writes the files of a test into its folder. One that fails keeps no other from
// being written.
func (s *Sink) write(record *core.Record, files ...file) {
	root, err := s.open()
	if err != nil {
		s.problem(err)
		return
	}
	folder := s.folder(record)
	if err := makeFolder(root, folder); err != nil {
		s.problem(fmt.Errorf("make the folder of test %s: %w", record.ID, err))
		return
	}
	for _, f := range files {
		if err := replace(root, path.Join(folder, f.name), f.text); err != nil {
			s.problem(fmt.Errorf("write artifacts of test %s: %w", record.ID, err))
		}
	}
}

// makeFolder makes a folder unless it is there; a link that leads to one is none.
func makeFolder(root *os.Root, name string) error {
	err := root.Mkdir(name, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is there and no folder: remove it", name)
	}
	return err
}

// folder is the name of the test's folder. It stays as it was first.
func (s *Sink) folder(record *core.Record) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.folders[record.ID]
	if name == "" {
		name = folderName(record, s.config.Mask)
		s.folders[record.ID] = name
	}
	return name
}

// replace writes a file so that it is there as a whole or not at all.
func replace(root *os.Root, name, text string) (err error) {
	temporary := name + ".part"
	// What an earlier process left behind, or a link that somebody put there.
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		_ = root.Remove(temporary)
	}
	return err
}
