package cli_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// testActive are the arguments that test the active version of the template docker.
func testActive(more ...string) []string {
	return append([]string{"run", "--template", "coder.docker", "--version", "active"}, more...)
}

func TestPass(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		o := s.run(testActive()...)
		o.want(t, 0, "PASSED  coder.docker version v1 in 38s", "WaitingForAgents", "every agent got ready")
		s.leavesNothing(t)
	})
}

func TestFailures(t *testing.T) {
	failing := world.AgentPlan{
		Name: "main", Steps: world.FailingAgent("main", time.Second, time.Second).Steps,
		Scripts: []world.ScriptLog{{DisplayName: "install", Text: "installing\nno such package: xyzzy"}},
	}
	for _, row := range []struct {
		name           string
		start          world.BuildPlan
		args           []string
		code           int
		stdout, stderr string
		why            string
	}{
		{
			"build",
			world.BuildPlan{Run: time.Second, Outcome: world.Fails, Log: "Error: no such image"},
			nil,
			1, "FAILED  coder.docker version v1 in 1s\n  BuildFailed: ", "\nError: no such image\n", "the build is the template's",
		},
		{
			"script",
			world.BuildPlan{Run: time.Second, Agents: []world.AgentPlan{failing}},
			nil,
			1, "AgentStartError", "--- script \"install\" of agent \"main\" ---\ninstalling\nno such package: xyzzy", "so is the startup script",
		},
		{
			"no agent",
			world.BuildPlan{},
			nil,
			1, "NoAgents", "", "a workspace without agents cannot be used",
		},
		{
			"too slow",
			world.BuildPlan{Run: time.Hour},
			[]string{"--timeout", "1m"},
			1, "DeadlineExceeded", "", "the build ran and took too long",
		},
		{
			"quota",
			world.BuildPlan{Run: time.Second, Outcome: world.Fails, ErrorCode: "INSUFFICIENT_QUOTA"},
			nil,
			3, "INCONCLUSIVE", "", "the owner's quota says nothing about the template",
		},
		{
			"unknown template", good(),
			[]string{"--template", "coder.other"},
			3, "DeadlineExceeded", "TemplateNotFound", "the template may come to exist within --inputs-timeout, and did not",
		},
		{
			"unknown parameter", good(),
			[]string{"--param", "typo=1"},
			1, "ParametersInvalid", "", "coder itself would not have noticed",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", row.start)
				s.run(testActive(row.args...)...).want(t, row.code, row.stdout, row.stderr, row.why)
				s.leavesNothing(t)
			})
		})
	}
}

func TestJSONDocument(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", world.BuildPlan{Run: 3 * time.Second, Outcome: world.Fails})
		o := s.run(testActive("--output", "json")...)
		document := o.document(t)
		workspace, _ := document["workspace"].(map[string]any)
		selected, _ := document["version"].(map[string]any)
		timings, _ := document["timings"].(map[string]any)
		for _, row := range []struct {
			field     string
			got, want any
		}{
			{"id", document["id"], testID},
			{"template", document["template"], "coder.docker"},
			{"version.requested", selected["requested"], "active"},
			{"version.name", selected["name"], "v1"},
			{"version.id", selected["id"], version.ID.String()},
			{"phase", document["phase"], "Failed"},
			{"reason", document["reason"], "BuildFailed"},
			{"outcomeClass", document["outcomeClass"], "TemplateFailed"},
			{"lastWaitReason", document["lastWaitReason"], "WaitingForBuild"},
			{"workspace.name", workspace["name"], workspaceName},
			{"workspace.state", workspace["state"], "deleted"},
			{"timings.startedAt", timings["startedAt"], "2026-03-01T12:00:00Z"},
			{"timings.secondsToResult", timings["secondsToResult"], 3.0},
			{"leakRisk", document["leakRisk"], false},
			{"exitCode", document["exitCode"], 1.0},
		} {
			if row.got != row.want {
				t.Errorf("%s is %v, want %v", row.field, row.got, row.want)
			}
		}
		if message, _ := document["message"].(string); message == "" {
			t.Error("the message is empty")
		}
	})
}

func TestVersionsByNameAndID(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		version := s.template("docker", good())
		for _, selector := range []string{"v1", version.ID.String()} {
			o := s.run("run", "--template", "CODER.Docker", "--version", selector)
			o.want(t, 0, "PASSED", "", "coder ignores the case of organizations and templates")
			s.forgetState(t)
		}
	})
}

func TestKeepOnFailure(t *testing.T) {
	for _, row := range []struct {
		name   string
		start  world.BuildPlan
		signal time.Duration
		code   int
		stdout string
		kept   bool
		why    string
	}{
		{"failure", world.BuildPlan{Run: time.Second, Outcome: world.Fails}, 0, 1, ": retained", true, "somebody wants to look at it"},
		{"pass", good(), 0, 0, ": deleted", false, "a pass leaves nothing to look at"},
		{"interrupted", good(), 10 * time.Second, 130, ": deleted", false, "without a verdict there is no failure"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", row.start)
				if row.signal > 0 {
					s.signalAt(row.signal, syscall.SIGINT)
				}
				s.run(testActive("--keep-on-failure")...).want(t, row.code, row.stdout, "", row.why)
				if kept := len(s.live()) > 0; kept != row.kept {
					t.Errorf("the workspace is kept: %v, want %v: %s", kept, row.kept, row.why)
				}
			})
		})
	}
}

func TestSignals(t *testing.T) {
	for _, row := range []struct {
		name           string
		signals        map[time.Duration]os.Signal
		deleting       world.BuildPlan
		args           []string
		code           int
		stdout, stderr string
		left           bool
		why            string
	}{
		{
			"SIGINT during the build",
			map[time.Duration]os.Signal{10 * time.Second: syscall.SIGINT},
			world.BuildPlan{Run: time.Second},
			nil,
			130, "INTERRUPTED", "stopping: ", false, "the build is canceled and the workspace deleted",
		},
		{
			"SIGTERM during the build",
			map[time.Duration]os.Signal{10 * time.Second: syscall.SIGTERM},
			world.BuildPlan{Run: time.Second},
			nil,
			143, "INTERRUPTED", "", false, "the code says which signal it was",
		},
		{
			"SIGINT, then SIGTERM",
			map[time.Duration]os.Signal{10 * time.Second: syscall.SIGINT, 11 * time.Second: syscall.SIGTERM},
			world.BuildPlan{Run: time.Minute},
			nil,
			4, "INTERRUPTED", "a second signal ended the run", true, "nobody waited for the delete build",
		},
		{
			"cleanup that takes too long",
			map[time.Duration]os.Signal{10 * time.Second: syscall.SIGINT},
			world.BuildPlan{Run: time.Hour},
			[]string{"--cleanup-timeout", "2m"},
			4, "INTERRUPTED", "longer than --cleanup-timeout", true, "the workspace may still exist",
		},
		{
			"SIGINT after the verdict",
			map[time.Duration]os.Signal{25 * time.Second: syscall.SIGINT},
			world.BuildPlan{Run: time.Minute},
			nil,
			1, "FAILED", "", false, "a final test keeps its verdict",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", world.BuildPlan{Queue: time.Second, Run: 20 * time.Second, Outcome: world.Fails},
					func(v *world.VersionSpec) { v.Delete = []world.BuildPlan{row.deleting} })
				for at, signal := range row.signals {
					s.signalAt(at, signal)
				}
				s.run(testActive(row.args...)...).want(t, row.code, row.stdout, row.stderr, row.why)
				if left := len(s.live()) > 0; left != row.left {
					t.Errorf("a workspace is left: %v, want %v: %s", left, row.left, row.why)
				}
				if row.left {
					s.run("list").want(t, 0, "docker", "", "the record is kept")
				}
			})
		})
	}
}

func TestCleanupThatTakesTooLongAfterAFailure(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", world.BuildPlan{Run: time.Second, Outcome: world.Fails},
			func(v *world.VersionSpec) { v.Delete = []world.BuildPlan{{Outcome: world.Fails}} })
		o := s.run(testActive("--output", "json")...)
		o.want(t, 4, `"reason": "BuildFailed"`, workspaceName, "a leak wins over the class")
		if document := o.document(t); document["leakRisk"] != true || document["exitCode"] != 4.0 {
			t.Errorf("the document says leakRisk %v and exitCode %v", document["leakRisk"], document["exitCode"])
		}
		if end := s.clock.Monotonic(); end < 10*time.Minute || end > 11*time.Minute {
			t.Errorf("it ended after %v, want the default cleanup timeout of 10 minutes", end)
		}
	})
}

func TestForeignWorkspaceOfTheName(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		other := s.template("other", good())
		_, err := s.People(s.tester.ID).Create(world.CreateWorkspace{Owner: s.tester.ID, Name: workspaceName, Version: other.ID})
		if err != nil {
			t.Fatal(err)
		}
		s.run(testActive()...).want(t, 3, "WorkspaceNameConflict", "", "somebody else's workspace says nothing about the template")
		if live := s.live(); len(live) != 1 {
			t.Errorf("workspaces %v, want the foreign one untouched", live)
		}
	})
}

func TestSecretsStaySecret(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		const value = "hunter2-parameter"
		s.template("docker",
			world.BuildPlan{Run: time.Second, Outcome: world.Fails, Log: "password is " + value + "\ntoken is " + s.token + "\nthe end"},
			func(v *world.VersionSpec) { v.Parameters = []world.ParameterSpec{{Name: "password", Type: "string"}} })
		o := s.run(testActive("--param", "password="+value, "--debug")...)
		o.want(t, 1, "BuildFailed", "password is ***\ntoken is ***\nthe end", "evidence is masked")
		for _, secret := range []string{value, s.token} {
			if strings.Contains(o.stdout+o.stderr, secret) {
				t.Errorf("%q was printed", secret)
			}
		}
		for _, file := range []string{s.stateFile(), s.stateFile() + "-wal"} {
			content, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(content), s.token) {
				t.Errorf("the token is stored in %s", file)
			}
		}
	})
}

func TestLiveView(t *testing.T) {
	for _, row := range []struct {
		name, variable, value string
		live, colored         bool
		why                   string
	}{
		{"terminal", "", "", true, true, "a terminal is redrawn, in colors"},
		{"NO_COLOR", "NO_COLOR", "1", true, false, "NO_COLOR takes the colors only"},
		{"dumb terminal", "TERM", "dumb", false, false, "a dumb terminal can do nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.template("docker", good())
				s.width = 60
				s.env[row.variable] = row.value
				o := s.run(testActive()...)
				o.want(t, 0, "PASSED", "", row.why)
				if live := strings.Contains(o.stderr, "\x1b[K"); live != row.live {
					t.Errorf("redrawn: %v, want %v: %s", live, row.live, row.why)
				}
				if colored := strings.Contains(o.stderr, "\x1b[32m"); colored != row.colored {
					t.Errorf("colored: %v, want %v: %s", colored, row.colored, row.why)
				}
				if strings.Contains(o.stdout, "\x1b") {
					t.Errorf("the verdict holds terminal commands: %q", o.stdout)
				}
			})
		})
	}
}

func TestEngineLogsReachTheReader(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", good())
		o := s.run(testActive("--debug")...)
		o.want(t, 0, "PASSED", "", "debugging changes no verdict")
	})
}

func TestListAndShow(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.run("list").want(t, 0, "No tests yet", "", "no state file is no error")
		s.run("list", "--output", "json").want(t, 0, "[]\n", "", "a program wants an empty list")
		s.storedNothing(t, "reading makes no file")
		s.template("docker", good())
		s.run(testActive()...).want(t, 0, "PASSED", "", "the test to list")
		s.run("list").want(t, 0, "61737361  2026-03-01T12:00:00Z  coder.docker  v1", "", "the table")
		s.run("list", "-o", "json").want(t, 0, `"state": "deleted"`, "", "the documents")
		s.run("show", "6173").want(t, 0, "Phase         Succeeded", "", "the beginning of the ID is enough")
		if document := s.run("show", testID, "--output", "json").document(t); document["phase"] != string(core.PhaseSucceeded) {
			t.Errorf("the document's phase is %v", document["phase"])
		}
		s.run("show", "abc").want(t, 2, "", `no test with the ID "abc"`, "a wrong ID")
		s.run("show").want(t, 2, "", "takes the ID of one test", "no ID")
	})
}

// TestLastLineOfTheLog watches a build whose log grows, at a terminal.
func TestLastLineOfTheLog(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.template("docker", world.BuildPlan{Run: 20 * time.Second, Log: "pulling the image of region-eu-secret", Agents: good().Agents},
			func(v *world.VersionSpec) { v.Parameters = []world.ParameterSpec{{Name: "region", Default: "us"}} })
		s.width = 120
		o := s.run(testActive("--param", "region=region-eu-secret")...)
		o.want(t, 0, "PASSED", "build ", "it passes")
		if !strings.Contains(o.stderr, "Starting start...") && !strings.Contains(o.stderr, "pulling the image of ***") {
			t.Errorf("no line of the log is shown:\n%q", o.stderr)
		}
		if strings.Contains(o.stderr, "region-eu-secret") {
			t.Error("a parameter's value is shown")
		}
		s.forgetState(t)
		s.width = 0
		asked := s.Requests()["read build log"]
		s.run(testActive()...).want(t, 0, "PASSED", "", "the same without a terminal")
		if again := s.Requests()["read build log"]; again != asked {
			t.Errorf("the log was read %d times for nobody", again-asked)
		}
	})
}
