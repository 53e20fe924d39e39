package pipelines_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// gitlabJob is the part of a job that the example uses.
type gitlabJob struct {
	Image         string
	Timeout       string
	ResourceGroup string `yaml:"resource_group"`
	Variables     map[string]string
	Script        []string
	AfterScript   []string `yaml:"after_script"`
	Artifacts     struct {
		When    string
		Paths   []string
		Reports struct{ JUnit string }
	}
}

func readGitLabJob(t *testing.T) gitlabJob {
	t.Helper()
	var file struct{ Templates gitlabJob }
	if err := yaml.Unmarshal([]byte(readExample(t, "gitlab-ci.yml")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Templates
}

// gitlab plays GitLab's runner: each part of the job has a shell of its own, with the same
// variables.
func (s *site) gitlab(job *gitlabJob, lines []string) *process {
	s.t.Helper()
	env := s.environment(map[string]string{"CI": "true", "CI_PROJECT_DIR": s.checkout, "CODER_SESSION_TOKEN": s.tester})
	for name, value := range job.Variables {
		env[name] = strings.ReplaceAll(strings.ReplaceAll(value, "$CI_PROJECT_DIR", s.checkout), placeholder, s.url)
	}
	// Like GitLab's own script it ends with a line of the runner's.
	return s.start(env, "bash", "-c", "set -eo pipefail\n"+strings.Join(lines, "\n")+"\nexit 0")
}

// terminate ends a step as GitLab and Jenkins do: the shell, and what it has started.
func terminate(s *site) func(*process) {
	return func(p *process) {
		s.workspaces(1)
		if err := syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestGitLab(t *testing.T) {
	t.Parallel()
	for _, row := range []platformRow{
		{"a version that works", "docker", nil, 0, 0},
		{"a version that does not", "broken", nil, 1, 0},
		// The shell dies of it, and assay deletes what it made.
		{"a job that is canceled", "slow", terminate, -1, 0},
		{"a job that is killed", "slow", kill, -1, 3},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			disturb := row.on(s)
			job := readGitLabJob(t)
			p := s.gitlab(&job, job.Script)
			if disturb != nil {
				disturb(p)
			}
			p.want(row.test)
			s.keeps(job.Artifacts.Paths, row.test >= 0)
			s.junit(job.Artifacts.Reports.JUnit, row.test)
			// It runs whatever happened before. Its code is nothing to GitLab, but a person reads it.
			after := s.gitlab(&job, job.AfterScript)
			if code := after.wait(); code != row.cleanUp && !(row.disturb != nil && code == 3) {
				t.Errorf("after_script ends with %d, want %d", code, row.cleanUp)
			}
			s.workspaces(0)
			s.tested(1)
		})
	}
}

// junit fails unless the report that a platform reads tells of one test and its verdict.
func (s *site) junit(path string, code int) {
	s.t.Helper()
	if code < 0 {
		return
	}
	text, err := os.ReadFile(filepath.Join(s.checkout, path))
	if err != nil {
		s.t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		s.t.Fatal(err)
	}
	if len(suites.Suites) != 1 || len(suites.Suites[0].Cases) != 1 {
		s.t.Fatalf("the report does not tell of one test:\n%s", text)
	}
	one := suites.Suites[0].Cases[0]
	if (one.Failure != nil) != (code == 1) || (one.Error != nil) != (code > 1) {
		s.t.Errorf("the report tells another verdict than exit code %d:\n%s", code, text)
	}
}

// keeps fails when a file that a job is to keep is not there.
func (s *site) keeps(paths []string, written bool) {
	s.t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(s.checkout, path)); err != nil && written {
			s.t.Errorf("there is nothing to keep: %v", err)
		}
	}
}

func TestGitLabKeepsItsState(t *testing.T) {
	t.Parallel()
	job := readGitLabJob(t)
	if !strings.HasPrefix(job.Variables["ASSAY_STATE"], "$CI_PROJECT_DIR/") {
		t.Errorf("the state file is in %q, which after_script may not see", job.Variables["ASSAY_STATE"])
	}
	if job.Artifacts.When != "always" || slices.Contains(job.Artifacts.Paths, filepath.Dir(".assay/state.db")) {
		t.Errorf("artifacts %+v: want the verdicts always, and never the state file", job.Artifacts)
	}
	if job.Variables["CODER_SESSION_TOKEN"] != "" || job.Image == "" || job.ResourceGroup == "" || job.Timeout == "" {
		t.Errorf("job %+v", job)
	}
}
