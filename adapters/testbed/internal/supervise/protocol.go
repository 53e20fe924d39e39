package supervise

import "syscall"

// roleVariable makes the program that imports this package a supervisor. Its
// value is the folder in which the supervisor makes its own.
const roleVariable = "ASSAY_TESTBED_SUPERVISE_IN"

// eventsFD is where the supervisor writes its events. It is neither standard
// output nor standard error, because there a write after the parent's death
// would end the Go program by SIGPIPE before it has cleaned up.
const eventsFD = 3

const (
	logFolder = "logs"
	pidFolder = "pids"
)

// Spec says how to run one process.
type Spec struct {
	// Name names the process in errors, and its log file. Two processes of
	// one name append to one file.
	Name string
	// Path is the executable, absolute; Args are its arguments without the
	// name of the program.
	Path string
	Args []string
	// Env is the whole environment: nothing is inherited.
	Env []string
	// Dir is the working directory; empty means the supervisor's folder.
	Dir string
	// User runs the process as another user, which only root may ask for.
	User *User
	// StopSignal is sent when everything ends, in the reverse order of the
	// starts, to processes that leave something behind when they are killed.
	// Zero means that SIGKILL is fine.
	StopSignal syscall.Signal
}

// User is a user and a group by number.
type User struct {
	UID, GID uint32
}

// request is one line from the parent.
type request struct {
	// Process numbers the process; the parent chooses it.
	Process int
	// Start begins a process; otherwise Signal goes to a running one.
	Start  *Spec
	Signal syscall.Signal
}

// event is one line from the supervisor.
type event struct {
	// Folder is set in the first event only.
	Folder  string `json:",omitempty"`
	Process int    `json:",omitempty"`
	// Started carries the process ID.
	Started int `json:",omitempty"`
	// Failed says why the process could not be started.
	Failed string `json:",omitempty"`
	// Ended says how the process ended: "exit status 1", "signal: killed".
	// It is "exit status 0" after success.
	Ended string `json:",omitempty"`
}

// success is how a process ends that reports no error.
const success = "exit status 0"
