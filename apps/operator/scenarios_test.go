package operator

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
)

// fewerReads are the stories whose faults strike reads by their number, where the operator
// needs fewer of them: the same faults strike later. They come to the same verdict.
var fewerReads = map[string]string{
	"055-coder-unavailable": "what a stream tells spares a read of the workspace, and it is the first two of those that fail",
}

// ownWords are messages of a control plane, which are its adapter's.
var ownWords = strings.NewReplacer(
	"give the control plane an operator token", "set operatorAccess.tokenSecretRef: the control plane has no token for the operator",
	"the control plane has no usable URL yet", `the CoderControlPlane \"main\" has no URL yet`,
)

// TestScenarios tells every story of the core through the operator: its trail must be that
// of the bare engine, to the second.
func TestScenarios(t *testing.T) {
	eachStory(t, func(t *testing.T, name string, script *scenario.Script) {
		result := throughOperator(t, script, false)
		if fewerReads[name] != "" {
			sameVerdict(t, script, result)
			return
		}
		want := strings.Split(ownWords.Replace(strings.Join(script.Trail, "\n")), "\n")
		if diff := cmp.Diff(want, result.Trail); diff != "" {
			t.Errorf("the trail differs (-bare engine +operator):\n%s", diff)
		}
	})
}

// TestScenariosWithEveryEvent has the streams tell of everything, as Coder's do: also of
// what the test's own requests do. So the operator acts sooner; it must come to the same
// verdict by the same requests.
func TestScenariosWithEveryEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("a variation of TestScenarios")
	}
	eachStory(t, func(t *testing.T, _ string, script *scenario.Script) {
		sameVerdict(t, script, throughOperator(t, script, true))
	})
}

// TestARotatedTokenWakesItsTests is a story that the core has no use for: nothing but the
// Secret changes, and the test need not wait for its next look.
func TestARotatedTokenWakesItsTests(t *testing.T) {
	script, err := scenario.Parse(`
coder   template acme.docker
        version v2 active
        start build 5s ok, agent connects +1s, script ok +1s
        delete build 5s ok
fault   operator 1 answers 401
at      00:07 plane rotates
test    template=acme.docker version=active
`)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := scenario.Run(script)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(bare.Trail, "\n"), "00:07 > create") {
		t.Fatalf("the story does not show it:\n%s", strings.Join(bare.Trail, "\n"))
	}
	if diff := cmp.Diff(bare.Trail, throughOperator(t, script, false).Trail); diff != "" {
		t.Errorf("the trail differs (-bare engine +operator):\n%s", diff)
	}
}

func eachStory(t *testing.T, tell func(t *testing.T, name string, script *scenario.Script)) {
	t.Helper()
	files, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(scenarios.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := scenario.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			tell(t, name, script)
		})
	}
}

// throughOperator tells a story in a bubble of its own.
func throughOperator(t *testing.T, script *scenario.Script, everyEvent bool) (result *scenario.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t)
		defer f.kill()
		var err error
		if result, err = scenario.RunWith(script, scenario.Options{Front: f, AllEvents: everyEvent}); err != nil {
			t.Fatal(err)
		}
	})
	return result
}

// sameVerdict compares what a story came to with what it comes to on the bare engine.
func sameVerdict(t *testing.T, script *scenario.Script, result *scenario.Result) {
	t.Helper()
	bare, err := scenario.Run(script)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verdict(bare), verdict(result)); diff != "" {
		t.Errorf("it came to something else (-bare engine +operator):\n%s", diff)
	}
}

// verdict is the changing requests of a story, without their times, and how it ended.
func verdict(result *scenario.Result) []string {
	var lines []string
	for _, line := range result.Trail {
		if _, request, ok := strings.Cut(line, " > "); ok {
			lines = append(lines, request)
		}
	}
	status := &result.Record.Status
	lines = append(lines, fmt.Sprint(status.Phase, " ", status.Reason, " ", status.OutcomeClass, " held: ", result.Record.Held))
	for _, condition := range status.Conditions {
		lines = append(lines, fmt.Sprint(condition.Type, " ", condition.Status, " ", condition.Reason))
	}
	return lines
}
