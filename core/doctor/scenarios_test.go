package doctor_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/core/doctor"
	"github.com/assay-dev/assay/core/lifecycle/scenarios"
	"github.com/assay-dev/assay/fakes/scenario"
	"github.com/assay-dev/assay/ports"
)

// foreseen are the reasons that the doctor can know before a test: those of lifecycle 5.1
// and 5.2, but for the control plane's own and the workspace's name, which a test makes up.
var foreseen = []core.Reason{
	core.ReasonOperatorAccessNotReady, core.ReasonCoderUnavailable, core.ReasonCoderAnswerMismatch,
	core.ReasonOwnerNotConfigured, core.ReasonOwnerNotEligible, core.ReasonTemplateNotFound, core.ReasonTemplateDeprecated,
	core.ReasonVersionNotFound, core.ReasonVersionMismatch, core.ReasonVersionArchived, core.ReasonVersionImportFailed,
	core.ReasonVersionImporting, core.ReasonParametersInvalid, core.ReasonExternalAuthRequired, core.ReasonExternalAgentUnsupported,
}

// unlike are the stories whose first reason the doctor cannot know.
var unlike = map[string]string{
	"050-plane-missing":        "the doctor is given a connection",
	"051-plane-without-url":    "the doctor is given a connection",
	"052-plane-without-access": "the doctor is given a connection",
}

// more are stories that the lifecycle tells otherwise.
var more = map[string]string{
	"import that failed before": `# The version's import failed before the test began.
coder   template acme.docker
        version v1 active
        version v2 import 0s fails
test    template=acme.docker version=v2
`,
}

// stories are all stories by name.
func stories(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(scenarios.Files, "*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	all := maps.Clone(more)
	for _, file := range names {
		text, err := fs.ReadFile(scenarios.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(file, ".txt")] = string(text)
	}
	return all
}

// TestDoctorForeseesWhatTheEngineMeets runs every story of the lifecycle twice: once with
// the doctor, before the engine's first request, and once without it. The reason that the
// doctor finds must be the first one that the test waits or ends with.
func TestDoctorForeseesWhatTheEngineMeets(t *testing.T) {
	met := map[core.Reason]bool{}
	for name, text := range stories(t) {
		if unlike[name] != "" {
			continue
		}
		want := firstReason(t, name, text)
		if want != "" && !slices.Contains(foreseen, want) {
			want = ""
		}
		findings := examined(t, name, text)
		if findings == nil {
			if want != "" {
				t.Errorf("%s: the doctor was not asked, and the test meets %s", name, want)
			}
			continue
		}
		var got core.Reason
		if decisive := findings.Decisive(); decisive != nil {
			got = decisive.Reason
		}
		if got != want {
			t.Errorf("%s: the doctor foresees %q, the test meets %q:\n%+v", name, got, want, findings)
		}
		met[got] = true
	}
	for _, reason := range foreseen {
		if !met[reason] {
			t.Errorf("no story has the doctor foresee %s", reason)
		}
	}
}

func parse(t *testing.T, name, text string) *scenario.Script {
	t.Helper()
	script, err := scenario.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return script
}

// firstReason is the first reason of the test after it began, or none.
func firstReason(t *testing.T, name, text string) core.Reason {
	t.Helper()
	var heard reasons
	if _, err := scenario.RunWith(parse(t, name, text), scenario.Options{Sink: &heard}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, reason := range heard {
		if reason != "" && reason != core.ReasonInitializing {
			return reason
		}
	}
	return ""
}

// examined are the doctor's findings through the first connection that the story's engine
// makes, faults included; nil if it makes none or dies before.
func examined(t *testing.T, name, text string) doctor.Findings {
	t.Helper()
	var findings doctor.Findings
	var story *scenario.Story
	asked := false
	_, err := scenario.RunWith(parse(t, name, text), scenario.Options{
		Begin:   func(s *scenario.Story) { story = s },
		Lenient: true,
		Above: func(runner ports.CodeRunner) ports.CodeRunner {
			if !asked {
				asked = true
				findings = doctor.Examine(t.Context(), runner, doctor.Question{Policy: story.Plane().Policy, Spec: spec(t, story)}, nil)
			}
			return runner
		},
	})
	if err != nil {
		t.Fatalf("%s with the doctor: %v", name, err)
	}
	return findings
}

func spec(t *testing.T, story *scenario.Story) core.Spec {
	t.Helper()
	record, err := story.Store().Load(t.Context(), story.Test(), ports.Live)
	if err != nil {
		t.Fatal(err)
	}
	return record.Spec
}

// reasons is a ports.StatusSink that remembers every reason.
type reasons []core.Reason

// Transition implements ports.StatusSink.
func (r *reasons) Transition(transition core.StoredTransition) {
	*r = append(*r, transition.After.Status.Reason)
}
