package artifacts_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/artifacts"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
	"github.com/assay-dev/assay/ports/porttest"
)

var testID = uuid.MustParse("ebce859a-7be7-402b-a6bb-9e77bd9da518")

const secret = "correct-horse-battery"

// newSink has a sink whose documents are the phase and the reason.
func newSink(t *testing.T, dir string) *artifacts.Sink {
	t.Helper()
	sink := artifacts.New(artifacts.Config{Dir: dir, Mask: core.NewMask(secret), Document: func(record core.Record) any {
		return map[string]any{"phase": record.Status.Phase, "reason": record.Status.Reason}
	}})
	t.Cleanup(func() { sink.Close(context.Background()) })
	return sink
}

func TestContracts(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		porttest.StatusSink(t, func(t *testing.T) ports.StatusSink { return newSink(t, t.TempDir()) })
	})
	t.Run("evidence", func(t *testing.T) {
		porttest.EvidenceSink(t, func(t *testing.T) ports.EvidenceSink { return newSink(t, t.TempDir()) })
	})
}

func failed() core.Record {
	record := core.Record{ID: testID, Spec: core.Spec{Template: "acme.docker", Version: core.VersionSelector{Active: true}}}
	record.Status.TemplateVersionName = "v2.1.0"
	record.Status.Phase, record.Status.Reason = core.PhaseFailed, core.ReasonAgentStartError
	return record
}

func evidence(record core.Record) core.Evidence {
	agent := core.Agent{ID: uuid.MustParse("00000004-0000-4000-8000-000000000001"), Name: "dev", Status: core.AgentConnected, Lifecycle: core.AgentStartError}
	return core.Evidence{
		TestID: record.ID, Record: record, CoderVersion: "v2.36.1",
		Workspace: core.Workspace{
			ID: uuid.MustParse("00000003-0000-4000-8000-000000000001"), Name: core.WorkspaceName(record.ID),
			Latest: core.Build{Number: 1, Transition: core.TransitionStart, Job: core.Job{Status: core.JobSucceeded}, Agents: []core.Agent{agent}},
		},
		Logs: []core.Log{
			{Source: "build", Text: "Creating with " + secret + "\x1b[31m\r\n"},
			{Source: "Startup Script", AgentID: agent.ID, Text: "cut within a secr\nnpm error 404\n", Truncated: true},
		},
	}
}

// tree is what is in a folder: the texts of its files by their paths.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != dir && info.Mode().Perm() != 0o700 {
				t.Errorf("%s has the mode %v", path, info.Mode())
			}
			return nil
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestArtifactsOfAFailedTest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "artifacts")
	sink := newSink(t, dir)
	record := failed()
	running := record
	running.Status.Phase = core.PhaseRunning
	sink.Transition(core.StoredTransition{After: running})
	if got := sink.Folder(testID); got != "" {
		t.Errorf("a test that runs has the folder %q", got)
	}
	sink.Transition(core.StoredTransition{Before: running, After: record})
	if err := sink.Evidence(t.Context(), evidence(record)); err != nil {
		t.Fatal(err)
	}
	sink.Close(t.Context())
	if problems := sink.Problems(); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
	const folder = "acme.docker-v2.1.0-ebce859a"
	if got := sink.Folder(testID); got != filepath.Join(dir, folder) {
		t.Errorf("the folder is %q", got)
	}
	got := tree(t, dir)
	var agents map[string]any
	if err := json.Unmarshal([]byte(got[folder+"/agents.json"]), &agents); err != nil {
		t.Fatal(err)
	}
	if agents["coderVersion"] != "v2.36.1" || agents["agents"].([]any)[0].(map[string]any)["lifecycle"] != "start_error" {
		t.Errorf("agents.json says %v", agents)
	}
	delete(got, folder+"/agents.json")
	want := map[string]string{
		folder + "/test.json":                    "{\n  \"phase\": \"Failed\",\n  \"reason\": \"AgentStartError\"\n}\n",
		folder + "/build.log":                    "Creating with ***\n",
		folder + "/agent-dev-Startup-Script.log": "[the beginning of this log was cut]\nnpm error 404\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The document of the run's end takes the place of the one before.
	sink.Put(record, map[string]string{"verdict": "FAILED"})
	sink.Close(t.Context())
	if got := tree(t, dir)[folder+"/test.json"]; got != "{\n  \"verdict\": \"FAILED\"\n}\n" {
		t.Errorf("test.json is %q", got)
	}
}

func TestNamesAreSafe(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	long := strings.Repeat("long", 500)
	names := []string{"", ".", "..", "../../up", "/etc/passwd", `C:\x`, "a\x00b", "\xff\xfe", "dev", "DEV", "ünï", long, "-", secret, "CON", "\u202e", "a\nb"}
	for _, name := range names {
		dir := t.TempDir()
		sink := newSink(t, dir)
		record := failed()
		record.Name = name
		e := evidence(record)
		e.Workspace.Latest.Agents, e.Logs = nil, e.Logs[:1]
		for _, agent := range names {
			id := uuid.New()
			e.Workspace.Latest.Agents = append(e.Workspace.Latest.Agents, core.Agent{ID: id, Name: agent})
			e.Logs = append(e.Logs, core.Log{Source: name, AgentID: id, Text: "text\n"}, core.Log{Source: name, AgentID: id, Text: "text\n"})
		}
		if err := sink.Evidence(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if problems := sink.Problems(); len(problems) != 0 {
			t.Errorf("%q: problems %v", name, problems)
		}
		found := tree(t, dir)
		if len(found) != 2+2*len(names) {
			t.Errorf("%q: %d files", name, len(found))
		}
		lower := map[string]bool{}
		for path, text := range found {
			if strings.Contains(path+text, secret) {
				t.Errorf("%q shows the secret", path)
			}
			lower[strings.ToLower(path)] = true
			for part := range strings.SplitSeq(path, "/") {
				if !safe.MatchString(part) || len(part) > 200 {
					t.Errorf("%q becomes %q", name, part)
				}
			}
		}
		if len(lower) != len(found) {
			t.Errorf("%q: files that a disk cannot tell apart: %v", name, found)
		}
	}
}

func TestMuchIsBounded(t *testing.T) {
	dir := t.TempDir()
	sink := newSink(t, dir)
	e := evidence(failed())
	agent := e.Workspace.Latest.Agents[0]
	for range 1500 {
		e.Workspace.Latest.Agents = append(e.Workspace.Latest.Agents, core.Agent{ID: uuid.New(), Name: "x"})
		e.Logs = append(e.Logs, core.Log{Source: "x", AgentID: agent.ID})
	}
	if err := sink.Evidence(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	found := tree(t, dir)
	if len(found) != 202 || found["acme.docker-v2.1.0-ebce859a/omitted.txt"] != "1302 more logs\n" {
		t.Errorf("%d files, omitted: %q", len(found), found["acme.docker-v2.1.0-ebce859a/omitted.txt"])
	}
	if agents := found["acme.docker-v2.1.0-ebce859a/agents.json"]; strings.Count(agents, `"lifecycle"`) != 1000 || !strings.Contains(agents, `"moreAgents": 501`) {
		t.Errorf("agents.json has %d agents", strings.Count(agents, `"lifecycle"`))
	}
}

// TestSlowDisk has a disk that does not answer, by way of a document that does not come.
func TestSlowDisk(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{})
	sink := artifacts.New(artifacts.Config{Dir: t.TempDir(), Document: func(core.Record) any {
		close(asked)
		<-release
		return nil
	}})
	record := failed()
	sink.Transition(core.StoredTransition{After: record})
	<-asked
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sink.Evidence(over, evidence(record)); !errors.Is(err, context.Canceled) {
		t.Errorf("evidence: %v", err)
	}
	sink.Close(over)
	if problems := sink.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Error(), "not complete") {
		t.Errorf("problems %v", problems)
	}
	close(release)
	sink.Close(t.Context())
	if _, err := os.Stat(filepath.Join(sink.Folder(testID), "build.log")); err != nil {
		t.Errorf("what was late is not written: %v", err)
	}
}

func TestProblemsAreKeptOnceAndBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sink := newSink(t, filepath.Join(file, "artifacts"))
	if err := sink.Prepare(); err == nil || !strings.Contains(err.Error(), "make the folder for artifacts") {
		t.Errorf("prepare: %v", err)
	}
	if len(sink.Problems()) != 0 {
		t.Error("what Prepare told is told again")
	}
	for range 15 {
		if err := sink.Evidence(t.Context(), evidence(failed())); err != nil {
			t.Errorf("a problem is told twice: %v", err)
		}
	}
	problems := sink.Problems()
	if len(problems) != 11 || !strings.Contains(problems[10].Error(), "5 more") {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
	sink.Put(failed(), func() {})
	sink.Close(t.Context())
	if got := sink.Problems(); !strings.Contains(got[10].Error(), "6 more") {
		t.Errorf("a document that is none: %v", got)
	}
}

func TestPassedTestsHaveADocumentOnly(t *testing.T) {
	dir := t.TempDir()
	sink := newSink(t, dir)
	record := failed()
	record.Name = "smoke"
	record.Status.Phase, record.Status.Reason = core.PhaseSucceeded, core.ReasonSucceeded
	sink.Transition(core.StoredTransition{After: record})
	asked := core.Record{ID: uuid.MustParse("11111111-0000-4000-8000-000000000000"), Spec: failed().Spec, DeletionRequestedAt: time.Unix(1, 0)}
	sink.Transition(core.StoredTransition{After: asked})
	sink.Close(t.Context())
	var names []string
	for name := range tree(t, dir) {
		names = append(names, name)
	}
	if len(names) != 2 || tree(t, dir)["smoke-ebce859a/test.json"] == "" || tree(t, dir)["acme.docker-active-11111111/test.json"] == "" {
		t.Errorf("files %q", names)
	}
}
