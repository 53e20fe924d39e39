package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/assay-dev/assay/apps/cli"
	"github.com/assay-dev/assay/core/lifecycle"
)

// envSettle has the test binary be assay with a settle window of so long: waiting out
// the real one takes a quarter of an hour.
const envSettle = "ASSAY_TEST_SETTLE_WINDOW"

// runAsAssay is assay's main function with the engine option that the environment
// names.
func runAsAssay(settle string) int {
	window, err := time.ParseDuration(settle)
	if err != nil {
		panic(err)
	}
	env := cli.SystemEnv(os.Args[1:])
	env.Options = lifecycle.Options{SettleWindow: window}
	return cli.Run(context.Background(), env)
}

// machine is a home directory, with a state file in it, from which assay is run
// against one deployment.
type machine struct {
	t          *testing.T
	home       string
	url, token string
	// settle is the settle window of the runs; 0 leaves it, and runs the built binary.
	settle time.Duration
}

// process is a run of assay.
type process struct {
	t              *testing.T
	command        *exec.Cmd
	stdout, stderr lockedBuffer
	ended          chan error
}

// start runs assay. It is killed with the test.
func (m *machine) start(args ...string) *process {
	m.t.Helper()
	path, err := binary()
	if m.settle > 0 {
		path, err = os.Executable()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	p := &process{t: m.t, command: exec.CommandContext(m.t.Context(), path, args...), ended: make(chan error, 1)}
	p.command.Env = []string{"HOME=" + m.home, "CODER_URL=" + m.url, "CODER_SESSION_TOKEN=" + m.token}
	if m.settle > 0 {
		p.command.Env = append(p.command.Env, envSettle+"="+m.settle.String())
	}
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	if err := p.command.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() { p.ended <- p.command.Wait() }()
	return p
}

// run executes assay to its end.
func (m *machine) run(args ...string) ran {
	m.t.Helper()
	return m.start(args...).wait()
}

// patience ends a test that would hang.
const patience = 3 * time.Minute

func (p *process) wait() ran {
	p.t.Helper()
	select {
	case err := <-p.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatalf("run assay: %v", err)
		}
	case <-time.After(patience):
		_ = p.command.Process.Kill()
		p.t.Fatalf("assay does not end\nstdout:\n%s\nstderr:\n%s", p.stdout.String(), p.stderr.String())
	}
	result := ran{p.command.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
	for _, variable := range p.command.Env {
		if token, ok := strings.CutPrefix(variable, "CODER_SESSION_TOKEN="); ok && strings.Contains(result.stdout+result.stderr, token) {
			p.t.Error("the token was printed")
		}
	}
	return result
}

// await returns once the progress says the text.
func (p *process) await(text string) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !strings.Contains(p.stderr.String(), text) {
		select {
		case <-tick.C:
		case err := <-p.ended:
			p.t.Fatalf("assay ended (%v) before it said %q\nstdout:\n%s\nstderr:\n%s", err, text, p.stdout.String(), p.stderr.String())
		case <-limit:
			p.t.Fatalf("assay never says %q:\n%s", text, p.stderr.String())
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the process as kill -9 does, and returns when it is no more.
func (p *process) kill() {
	p.t.Helper()
	p.signal(os.Kill)
	if err := <-p.ended; err == nil {
		p.t.Fatalf("assay ended by itself before it was killed:\n%s", p.stderr.String())
	}
}
