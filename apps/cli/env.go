package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"

	"github.com/assay-dev/assay/adapters/coder"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/core/lifecycle"
	"github.com/assay-dev/assay/ports"
)

// Env is everything that a run of assay touches.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdout takes verdicts and listings, Stderr progress and errors.
	Stdout, Stderr io.Writer
	// LookupEnv reads the environment as os.LookupEnv does.
	LookupEnv func(name string) (string, bool)
	// GOOS decides where folders are; see runtime.GOOS.
	GOOS string
	// Signals delivers SIGINT and SIGTERM; nil delivers none.
	Signals <-chan os.Signal
	Clock   ports.Clock
	Random  io.Reader
	Dial    ports.Dialer
	// Process names this process to people who look at a test that it runs.
	Process string
	// TerminalSize tells how large Stderr is now, in characters; nil when it is no
	// terminal.
	TerminalSize func() (columns, rows int)
	// Options are the engine's timings; zero fields take the defaults.
	Options lifecycle.Options
}

// SystemEnv is the Env of this process, which from now on gets SIGINT and SIGTERM
// through it and is not killed by SIGPIPE.
func SystemEnv(args []string) Env {
	// Room for the two signals that count: the first cleans up, the second leaves.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	// Whoever reads the progress or the verdict may leave, as head does: a write that
	// fails is no reason to die before the workspace is deleted.
	signal.Ignore(syscall.SIGPIPE)
	env := Env{
		Args: args, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, GOOS: runtime.GOOS,
		Signals: signals, Clock: systemclock.New(), Random: rand.Reader, Dial: coder.Dial,
		Process: fmt.Sprintf("process %d", os.Getpid()),
	}
	if host, err := os.Hostname(); err == nil {
		env.Process += " on " + host
	}
	if descriptor := int(os.Stderr.Fd()); term.IsTerminal(descriptor) {
		env.TerminalSize = func() (columns, rows int) {
			columns, rows, err := term.GetSize(descriptor)
			if err != nil {
				return 0, 0
			}
			return columns, rows
		}
	}
	return env
}

// lookup reads an environment variable; unset and empty mean the same.
func (e Env) lookup(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// exitError is an error with the exit code that it means. An error without one is
// a usage error: cobra's own are.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// failure is an error of the environment: nothing was judged.
func failure(err error) error { return &exitError{exitInconclusive, err} }

// usage is an error of the arguments.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// Run executes assay and returns its exit code. It does not return before
// everything that it started has ended, except after a second signal.
func Run(ctx context.Context, env Env) int {
	code := exitPassed
	root := newRoot(env, &code)
	// For nil cobra would read the arguments of the process.
	root.SetArgs(append([]string{}, env.Args...))
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return code
	}
	code = exitUsage
	var withCode *exitError
	if errors.As(err, &withCode) {
		code = withCode.code
	}
	fmt.Fprintf(env.Stderr, "assay: %v\n", err)
	if code == exitUsage {
		fmt.Fprintln(env.Stderr, "Run 'assay help' or add --help to a command to see how it is used.")
	}
	return code
}
