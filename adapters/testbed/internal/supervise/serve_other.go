//go:build !unix

package supervise

import "syscall"

// supported keeps [Start] from running a program that nothing would turn into
// a supervisor.
const supported = false

func ownSession() *syscall.SysProcAttr { return nil }
