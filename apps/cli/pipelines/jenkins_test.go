package pipelines_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// jenkins plays a Jenkins agent for the pipeline of the example.
type jenkins struct {
	*site
	pipeline jenkinsBlock
	env      map[string]string
}

var (
	assignment = regexp.MustCompile(`^([A-Z_]+) = (.+)$`)
	credential = regexp.MustCompile(`^credentials\('([a-z-]+)'\)$`)
)

func newJenkins(s *site) *jenkins {
	s.t.Helper()
	j := &jenkins{
		site: s, pipeline: parseJenkinsfile(s.t, readExample(s.t, "Jenkinsfile")).at(s.t, "pipeline"),
		env: map[string]string{"WORKSPACE": s.checkout, "CI": "true"},
	}
	for _, line := range j.pipeline.at(s.t, "environment").lines {
		parts := assignment.FindStringSubmatch(line)
		if parts == nil {
			s.t.Fatalf("no assignment: %s", line)
		}
		name, value := parts[1], parts[2]
		switch secret := credential.FindStringSubmatch(value); {
		case secret != nil && secret[1] == "assay-tester-token":
			value = s.tester
		case strings.HasPrefix(value, `"`):
			value = strings.ReplaceAll(strings.Trim(value, `"`), "${WORKSPACE}", s.checkout)
		case value == "'"+placeholder+"'":
			value = s.url
		default:
			s.t.Fatalf("this test does not know the value of %s", line)
		}
		j.env[name] = value
	}
	return j
}

var keeping = regexp.MustCompile(`^(archiveArtifacts artifacts:|junit(?: testResults:)?) '([^']+)'(, allow[A-Za-z]+: true)$`)

// steps runs the steps of a block up to the first that fails. What a step keeps must be
// there, and tell of what the tests ended with, unless they were killed: that is -1.
func (j *jenkins) steps(block jenkinsBlock, tested int, disturb func(*process)) int {
	j.t.Helper()
	written := tested >= 0
	for _, line := range block.lines {
		text, isShell := shell(line)
		if !isShell {
			parts := keeping.FindStringSubmatch(line)
			if parts == nil {
				j.t.Fatalf("this test does not know the step %s", line)
			}
			j.keeps([]string{strings.TrimSuffix(parts[2], "/**")}, written)
			if strings.HasPrefix(line, "junit") {
				j.junit(parts[2], tested)
			}
			continue
		}
		p := j.start(j.environment(j.env), "sh", "-xec", text)
		if disturb != nil {
			disturb(p)
		}
		code := p.wait()
		if strings.Contains(p.output(), j.tester) {
			j.t.Error("the token is printed")
		}
		if code != 0 {
			return code
		}
	}
	return 0
}

func TestJenkins(t *testing.T) {
	t.Parallel()
	for _, row := range []platformRow{
		{"a version that works", "docker", nil, 0, 0},
		{"a version that does not", "broken", nil, 1, 0},
		{"a build that is aborted", "slow", terminate, 143, 0},
		{"a build that is killed", "slow", kill, -1, 3},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			disturb := row.on(s)
			j := newJenkins(s)
			if code := j.steps(j.pipeline.at(t, "stages", "stage('Test')", "steps"), 0, disturb); code != row.test {
				t.Errorf("the stage ends with %d, want %d", code, row.test)
			}
			if code := j.steps(j.pipeline.at(t, "post", "always"), row.test, nil); code != row.cleanUp {
				t.Errorf("post ends with %d, want %d", code, row.cleanUp)
			}
			s.tested(1)
			s.leavesNothing()
		})
	}
}

func TestJenkinsEndsInTime(t *testing.T) {
	t.Parallel()
	options := fmt.Sprint(parseJenkinsfile(t, readExample(t, "Jenkinsfile")).at(t, "pipeline", "options").lines)
	for _, want := range []string{"timeout(time: ", "disableConcurrentBuilds()"} {
		if !strings.Contains(options, want) {
			t.Errorf("the options %s lack %s", options, want)
		}
	}
}
