package pipelines_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goStub is a go command that knows one line, and has nothing to fetch: assay is there.
const goStub = `#!/bin/sh
case "$1 $2" in
  "install github.com/assay-dev/assay/apps/cli/cmd/assay@v"*) exit 0 ;;
  *) echo "go $*: not expected" >&2; exit 64 ;;
esac
`

// withGo puts the stub before all that is in PATH.
func (j *githubJob) withGo() {
	j.t.Helper()
	if _, err := os.Stat(filepath.Join(repository, "apps/cli/cmd/assay/main.go")); err != nil {
		j.t.Error(err)
	}
	dir := j.t.TempDir()
	j.file(filepath.Join(dir, "go"), goStub, 0o700)
	j.env["PATH"] = dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// cancel plays what the runner does to a canceled job while it has a workspace.
func cancel(s *site) func(*process) {
	return func(p *process) {
		s.workspaces(1)
		p.signal(syscall.SIGINT)
	}
}

// impatientCancel is a job whose end takes longer than the runner waits.
func impatientCancel(s *site) func(*process) {
	return func(p *process) {
		cancel(s)(p)
		p.says("a second signal leaves at once")
		p.signal(syscall.SIGTERM)
	}
}

// kill plays a runner that kills all that the step has started.
func kill(s *site) func(*process) {
	return func(p *process) {
		s.workspaces(1)
		p.killAll()
	}
}

// platformRow is a job, what happens to it, and how its steps end.
type platformRow struct {
	why, template string
	disturb       func(*site) func(*process)
	// test is the exit code of the step that tests, cleanUp of what runs at the end of the
	// job; -1 is a step that was killed.
	test, cleanUp int
}

var platformRows = []platformRow{
	{"a version that works", "docker", nil, 0, 0},
	{"a version that does not", "broken", nil, 1, 0},
	{"a job that is canceled", "slow", cancel, 130, 0},
	{"a job that is canceled and whose build is slow to end", "stuck", impatientCancel, 4, 3},
	{"a job that is killed", "slow", kill, -1, 3},
}

func (row *platformRow) on(s *site) func(*process) {
	s.suite(row.template)
	if row.disturb == nil {
		return nil
	}
	return row.disturb(s)
}

func TestGitHubWithoutTheAction(t *testing.T) {
	t.Parallel()
	for _, row := range platformRows {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			j := newGitHubJob(s)
			j.withGo()
			// Without a report there is nothing to keep.
			j.killed = row.test < 0
			codes := j.run("github.yml", row.on(s))
			want := map[string]int{"": 0, "Bring assay": 0, "Test": row.test, "Clean up": row.cleanUp, "Keep the verdicts and logs": 0}
			if diff := cmp.Diff(want, codes); diff != "" {
				t.Errorf("the steps end otherwise (-want +got):\n%s", diff)
			}
			s.tested(1)
			s.leavesNothing()
		})
	}
}

func TestGitHubWithTheAction(t *testing.T) {
	t.Parallel()
	requireNode(t)
	for _, row := range platformRows {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			j := newGitHubJob(s)
			j.withGo()
			j.killed = row.test < 0
			codes := j.run("github-action.yml", row.on(s))
			// Nothing is left, so the action's own end changes nothing.
			want := map[string]int{"": 0, "Bring assay": 0, "Test": row.test, "Keep the verdicts and logs": 0, "post 0": 0}
			if diff := cmp.Diff(want, codes); diff != "" {
				t.Errorf("the steps end otherwise (-want +got):\n%s", diff)
			}
			s.tested(1)
			s.leavesNothing()
		})
	}
}

func TestGitHubPromotes(t *testing.T) {
	t.Parallel()
	requireNode(t)
	for _, row := range []struct {
		why, kind string
		test      int
		promoted  bool
	}{
		{"a version that works is made active", "works", 0, true},
		{"a version that does not is left inactive", "broken", 1, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.folder(row.kind)
			j := newGitHubJob(s)
			j.withGo()
			want := map[string]int{"": 0, "Bring assay": 0, "Test": row.test, "post 0": 0}
			if diff := cmp.Diff(want, j.run("github-promote.yml", nil)); diff != "" {
				t.Errorf("the steps end otherwise (-want +got):\n%s", diff)
			}
			if active := s.active(); (active != "v1") != row.promoted {
				t.Errorf("the active version is %q", active)
			}
			s.tested(1)
			s.leavesNothing()
		})
	}
}
