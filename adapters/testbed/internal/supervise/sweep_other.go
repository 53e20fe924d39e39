//go:build unix && !linux

package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func becomeReaper() error { return nil }

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// killAll kills the process groups of what was started here and of what left
// its number in the folder for that.
func (s *server) killAll() {
	for pid := range s.running {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	files, _ := filepath.Glob(filepath.Join(s.folder, pidFolder, "*.pid"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		_ = os.Remove(file)
	}
}
