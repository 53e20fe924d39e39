// Package supervise runs processes that cannot outlive the program that
// started them, however that program ends.
//
// [Start] runs the current executable a second time as a supervisor: a child
// in a session of its own, whose standard input is a pipe held by the parent.
// Every other process is a child of the supervisor. When the pipe closes, by
// [Supervisor.Close] or because the parent returned, panicked or was killed,
// the supervisor ends everything below it, removes its folder and exits.
//
// On Linux the supervisor is a subreaper: a process that detaches itself (its
// own session, its own process group, its parent gone) is handed to the
// supervisor and is ended with the rest. Should the supervisor itself be
// killed, the processes it started directly get SIGKILL from the kernel. On
// other Unix systems it ends the process groups it started, and those whose
// numbers stand in the folder [Supervisor.PIDs].
//
// A program that imports this package turns into the supervisor when the
// variable named by an unexported constant is set in its environment; that
// happens in an init function, before main and before any test runs.
package supervise
