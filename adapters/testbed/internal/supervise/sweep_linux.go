package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeReaper makes orphans below this process its children.
func becomeReaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// killAll kills every direct child. The children of those become direct ones
// and fall in the next round. Only direct children are ever signaled: their
// numbers cannot be reused before this process has reaped them.
func (s *server) killAll() {
	self := os.Getpid()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err == nil && parentOf(stat) == self {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// parentOf reads the fourth field of a stat file. The second one, the name in
// parentheses, can hold spaces and parentheses itself.
func parentOf(stat string) int {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}
