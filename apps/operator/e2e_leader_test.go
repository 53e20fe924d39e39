package operator_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/testbed"
)

// stageOfATest is a moment of a test: a request is held, or the status has a reason.
type stageOfATest struct {
	name, template, more string
	at                   testbed.Moment
	held                 func(*http.Request) bool
	reason               string
	// What the standby makes of it.
	want string
}

func stagesOfATest() []stageOfATest {
	const seconds = "  parameters: [{name: seconds, value: \"6\"}]\n"
	inputs := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v2/organizations/")
	}
	create, remove := testbed.RequestTo(http.MethodPost, "/workspaces"), testbed.RequestTo(http.MethodPost, "/builds")
	return []stageOfATest{
		{name: "reading the inputs", template: "passing", held: inputs, want: "Succeeded"},
		{name: "create arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: create, want: "Succeeded"},
		{name: "building", template: "slow-build", more: seconds, reason: "WaitingForBuild", want: "Succeeded"},
		{name: "agents starting", template: "slow-startup", more: seconds, reason: "WaitingForAgents", want: "Succeeded"},
		{name: "delete sent, never arrived", template: "passing", held: remove, want: "Succeeded"},
		{name: "delete arrived, answer on its way", template: "passing", at: testbed.AfterEffect, held: remove, want: "Succeeded"},
		{name: "deleting", template: "passing", reason: "DeletingWorkspace", want: "Succeeded"},
		{name: "cleaning up after a failure", template: "startup-fails", reason: "AgentStartError", want: "AgentStartError"},
	}
}

// reach waits until the gate holds its request.
func (s *stage) reach(gate *testbed.Gate) {
	s.t.Helper()
	select {
	case <-gate.Reached:
	case <-time.After(patience):
		s.t.Fatal("the request is never sent")
	}
}

// TestLeaderIsKilledInEachStage has a standby take over from a leader that was killed.
func TestLeaderIsKilledInEachStage(t *testing.T) {
	t.Parallel()
	shared := newStage(t, testbed.Require(t), map[string]testbed.Template{
		"passing": testbed.Passing(), "slow-build": slowBuild(), "slow-startup": testbed.SlowStartup(), "startup-fails": testbed.StartupFails(),
	})
	for _, row := range stagesOfATest() {
		t.Run(strings.NewReplacer(" ", "-", ",", "").Replace(row.name), func(t *testing.T) {
			t.Parallel()
			s := shared.another(t)
			door := testbed.NewDoor(t, s.bed.URL)
			s.url = door.URL
			s.controlPlane()
			leader := s.operate()
			s.leads()
			standby := s.operate()
			var gate *testbed.Gate
			if row.held != nil {
				gate = door.Hold(row.at, row.held)
			}
			const name = "test"
			s.test(name, row.template, row.more)
			if gate == nil {
				s.await(name, row.reason, func(got status) bool { return got.Reason == row.reason })
			} else {
				s.reach(gate)
			}
			leader.kill(t)
			if gate != nil {
				gate.Drop()
			}
			if got := s.awaitEnd(name); got.Reason != row.want {
				t.Errorf("%+v, want %s", got, row.want)
			}
			s.requireClean()
			standby.stop(t)
		})
	}
}

// TestShutdownFinishesTheStepInHand ends the operator in order while Coder's answer to its
// create is on its way: the answer is stored before the operator ends.
func TestShutdownFinishesTheStepInHand(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"passing": testbed.Passing()})
	door := testbed.NewDoor(t, s.bed.URL)
	s.url = door.URL
	s.controlPlane()
	first := s.operate()
	gate := door.Hold(testbed.AfterEffect, testbed.RequestTo(http.MethodPost, "/workspaces"))
	s.test("test", "passing", "")
	s.reach(gate)
	if err := first.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	gate.Open()
	if err := <-first.ended; err != nil {
		t.Errorf("the operator ended with %v, want 0", err)
	}
	stored := s.kubectl("--namespace", s.namespace, "get", "ctt", "test", "-o", "jsonpath={.status.workspaceID}")
	if live := s.workspaces(); len(live) != 1 || live[0].ID.String() != stored {
		t.Errorf("the workspace that is stored is %q, those in Coder are %d", stored, len(live))
	}
	second := s.operate()
	if got := s.awaitEnd("test"); got.Phase != "Succeeded" {
		t.Errorf("the next operator: %+v", got)
	}
	second.stop(t)
	s.requireClean()
}

// TestCreateThatNeverArrivedIsNotRepeated kills the leader when its create is on its way to
// Coder and never gets there: the standby cannot know that, so it must not send another one.
func TestCreateThatNeverArrivedIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"passing": testbed.Passing()})
	door := testbed.NewDoor(t, s.bed.URL)
	s.url = door.URL
	s.controlPlane()
	leader := s.operate()
	gate := door.Hold(testbed.BeforeEffect, testbed.RequestTo(http.MethodPost, "/workspaces"))
	s.test("lost", "passing", "")
	s.reach(gate)
	leader.kill(t)
	gate.Drop()
	standby := s.operate()
	s.await("lost", "confirming its create", func(got status) bool { return got.Reason == "ConfirmingCreate" })
	s.requireClean()
	// What became of a create is certain after 15 minutes only: an admin does not wait.
	s.kubectl("--namespace", s.namespace, "delete", "ctt", "lost", "--wait=false")
	s.kubectl("--namespace", s.namespace, "patch", "ctt", "lost", "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
	standby.stop(t)
	s.requireClean()
}

// TestRestartWithFiftyRunningTests kills the only operator while fifty tests run. Their
// template has no agent, since fifty agents would take all of a small machine; so they fail,
// and their workspaces go.
func TestRestartWithFiftyRunningTests(t *testing.T) {
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"agentless": testbed.NoAgent()})
	s.controlPlane()
	first := s.operate()
	// A hundred builds take what they take: neither the tests' own deadlines nor the waits
	// here are about the machine's speed.
	const many, within, every = 50, 25 * time.Minute, 3 * time.Second
	var manifest strings.Builder
	for range many {
		manifest.WriteString(strings.NewReplacer("$NAME", testbed.UniqueName("many"), "$TEMPLATE", s.templates["agentless"]).Replace(`
---
apiVersion: coder.com/v1alpha1
kind: CoderTemplateTest
metadata: {name: $NAME}
spec: {controlPlaneRef: {name: coder}, template: $TEMPLATE, version: {active: true}, timeoutSeconds: 7200}
`))
	}
	s.mustApply(manifest.String())
	count := func(jsonpath, word string) int {
		return strings.Count(s.kubectl("--namespace", s.namespace, "get", "ctt", "-o", "jsonpath="+jsonpath), word)
	}
	s.until(within, every, "some tests are through and the others under way", func() bool {
		return count("{.items[*].status.reason}", "NoAgents") >= 5 && count("{.items[*].status.phase}", "Running") >= 5
	})
	first.kill(t)
	second := s.operate()
	s.until(within, every, "all workspaces are gone", func() bool {
		return count(`{.items[*].status.conditions[?(@.type=="WorkspaceDeleted")].reason}`, "Deleted") == many
	})
	if got := count("{.items[*].status.reason}", "NoAgents"); got != many {
		t.Errorf("%d of %d tests say NoAgents: %s", got, many, s.kubectl("--namespace", s.namespace, "get", "ctt"))
	}
	s.requireClean()
	second.stop(t)
}
