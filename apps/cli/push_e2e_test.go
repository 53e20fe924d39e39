package cli_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/testbed"
)

// pushStage is a template on a real Coder with what pushing to it takes: a tester who owns
// the workspaces and a pusher who may change the template.
type pushStage struct {
	bed            *testbed.Bed
	tester, pusher testbed.User
	template       testbed.Pushed
	reference      string
}

func newPushStage(t *testing.T, bed *testbed.Bed) *pushStage {
	t.Helper()
	template, err := bed.PushTemplate(t.Context(), testbed.UniqueName("push"), testbed.Passing())
	if err != nil {
		t.Fatal(err)
	}
	return &pushStage{
		bed: bed, template: template, reference: "coder." + template.TemplateName,
		tester: newUser(t, bed, testbed.UserOptions{Activate: true}),
		pusher: newUser(t, bed, testbed.UserOptions{Activate: true, Roles: []string{codersdk.RoleTemplateAdmin}}),
	}
}

// assay runs the binary with the tester's token, and the pusher's for push and promote.
func (s *pushStage) assay(t *testing.T, args ...string) ran {
	t.Helper()
	token := filepath.Join(t.TempDir(), "pusher.token")
	if err := os.WriteFile(token, []byte(s.pusher.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	result := assay(t, s.bed.URL, s.tester.Token, append(args, "--template", s.reference, "--push-token-file", token)...)
	if strings.Contains(result.stdout+result.stderr, s.pusher.Token) {
		t.Error("the pusher's token was printed")
	}
	return result
}

// isActive fails unless the version is the active one.
func (s *pushStage) isActive(t *testing.T, want uuid.UUID) {
	t.Helper()
	template, err := s.bed.Client(s.bed.OwnerToken()).Template(t.Context(), s.template.TemplateID)
	if err != nil {
		t.Fatal(err)
	}
	if template.ActiveVersionID != want {
		t.Errorf("version %s is active, want %s", template.ActiveVersionID, want)
	}
}

// version finds a version by name.
func (s *pushStage) version(t *testing.T, name string) codersdk.TemplateVersion {
	t.Helper()
	version, err := s.bed.Client(s.bed.OwnerToken()).TemplateVersionByName(t.Context(), s.template.TemplateID, name)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// folderOf makes a folder of a template's files and more.
func folderOf(t *testing.T, template testbed.Template, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := maps.Clone(template.Files)
	maps.Copy(files, more)
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// published is the part of a run's JSON document that tells of the template.
type published struct {
	ExitCode int
	Push     struct {
		Import, Error string
		Version       struct{ Name string }
	}
	Promotion struct {
		Active, Changed bool
		Reason          string
		Was, Now        struct{ Name string }
	}
}

func publishedBy(t *testing.T, r ran) published {
	t.Helper()
	var document published
	if err := json.Unmarshal([]byte(r.stdout), &document); err != nil {
		t.Fatalf("the standard output is not JSON: %v\n%s\n%s", err, r.stdout, r.stderr)
	}
	return document
}

func wantRan(t *testing.T, r ran, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d; stdout:\n%s\nstderr:\n%s", r.code, code, r.stdout, r.stderr)
	}
	for _, text := range says {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("%q is not said; stdout:\n%s\nstderr:\n%s", text, r.stdout, r.stderr)
		}
	}
}

// promoteOnceThere promotes a version as soon as another one of the name exists.
func promoteOnceThere(ctx context.Context, client *codersdk.Client, template uuid.UUID, name string, version uuid.UUID) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := client.TemplateVersionByName(ctx, template, name); err == nil {
			return client.UpdateActiveTemplateVersion(ctx, template, codersdk.UpdateActiveTemplateVersion{ID: version})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestRealPushTestPromote pushes folders to a template on a real Coder, tests and promotes
// them, and has each step go wrong once.
func TestRealPushTestPromote(t *testing.T) {
	bed := testbed.Require(t)
	s := newPushStage(t, bed)
	before := tokensOf(t, bed, s.tester.ID)
	owner := bed.Client(bed.OwnerToken())
	withVariable := map[string]string{
		"variables.tf":        "variable \"motd\" {\n  type = string\n  sensitive = true\n}\n",
		"modules/nothing.tf":  "locals {\n  nothing = 1\n}\n",
		"modules.tf":          "module \"nothing\" {\n  source = \"./modules\"\n}\n",
		".terraform/ignored":  "x",
		"terraform.tfstate":   "x",
		"terraform.tfvars":    "motd = \"left out\"\n",
		".hidden/not-here.tf": "this is no Terraform",
	}
	secrets := filepath.Join(t.TempDir(), "secrets.yaml")
	if err := os.WriteFile(secrets, []byte("motd: a-secret-motd\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("push, test, promote", func(t *testing.T) {
		folder := folderOf(t, testbed.Passing(), withVariable)
		result := s.assay(t, "run", "--push", folder, "--name", "v2", "--message", "why", "--variables-file", secrets, "--promote")
		wantRan(t, result, 0, "pushed "+s.reference+" version v2 (inactive)\n", "PASSED  "+s.reference+" version v2",
			"promoted "+s.reference+" version v2 (was "+s.template.VersionName+")", "terraform.tfvars is left out", "  == ")
		if strings.Contains(result.stdout+result.stderr, "a-secret-motd") {
			t.Error("a variable's value was printed")
		}
		version := s.version(t, "v2")
		if version.Message != "why" || version.CreatedBy.ID != s.pusher.ID {
			t.Errorf("version by %s with the message %q", version.CreatedBy.Username, version.Message)
		}
		s.isActive(t, version.ID)
	})
	active := s.version(t, "v2").ID

	t.Run("push alone", func(t *testing.T) {
		result := s.assay(t, "push", folderOf(t, testbed.Passing(), nil), "--name", "v3")
		wantRan(t, result, 0)
		if want := "v3 " + s.version(t, "v3").ID.String() + "\n"; result.stdout != want {
			t.Errorf("the standard output is %q, want %q", result.stdout, want)
		}
		wantRan(t, s.assay(t, "push", folderOf(t, testbed.Passing(), nil), "--name", "v3"), 2, `"v3": choose another name`)
		s.isActive(t, active)
	})

	t.Run("a template whose import fails", func(t *testing.T) {
		result := s.assay(t, "run", "--push", folderOf(t, testbed.ImportFails(), nil), "--name", "v4", "--promote", "-o", "json")
		wantRan(t, result, 1, testbed.ImportFailureLine)
		document := publishedBy(t, result)
		if document.Push.Import != "failed" || document.Promotion.Active || document.ExitCode != 1 {
			t.Errorf("document %+v", document)
		}
		s.isActive(t, active)
	})

	t.Run("a folder that is no Terraform", func(t *testing.T) {
		folder := folderOf(t, testbed.Passing(), map[string]string{"broken.tf": "resource \"x\" {\n"})
		result := s.assay(t, "run", "--push", folder, "--name", "v5", "--promote")
		t.Logf("exit code %d\n%s%s", result.code, result.stdout, result.stderr)
		wantRan(t, result, 1, "not promoted: the version was not tested")
		s.isActive(t, active)
	})

	t.Run("a missing variable", func(t *testing.T) {
		// One that the active version had a value for would take that.
		folder := folderOf(t, testbed.Passing(), map[string]string{"variables.tf": "variable \"image\" {\n  type = string\n}\n"})
		wantRan(t, s.assay(t, "push", folder, "--name", "v6"), 1, `the import failed: version "v6"`, "image")
	})

	t.Run("a template whose test fails", func(t *testing.T) {
		result := s.assay(t, "run", "--push", folderOf(t, testbed.BuildFails(), nil), "--name", "v7", "--promote")
		wantRan(t, result, 1, "FAILED  "+s.reference+" version v7", testbed.BuildFailureLine, "not promoted: the test did not pass")
		s.isActive(t, active)
	})

	t.Run("somebody promotes in the middle", func(t *testing.T) {
		other := s.version(t, "v3").ID
		promoted := make(chan error, 1)
		go func() { promoted <- promoteOnceThere(t.Context(), owner, s.template.TemplateID, "v8", other) }()
		result := s.assay(t, "run", "--push", folderOf(t, testbed.Passing(), nil), "--name", "v8", "--promote", "-o", "json")
		if err := <-promoted; err != nil {
			t.Fatal(err)
		}
		wantRan(t, result, 5, "somebody else promoted it")
		document := publishedBy(t, result)
		if document.Promotion.Active || document.Promotion.Now.Name != "v3" || document.ExitCode != 5 {
			t.Errorf("document %+v", document)
		}
		s.isActive(t, other)
		wantRan(t, s.assay(t, "promote", "--version", "v8", "--expect-active", "v2"), 5, `version "v3" is active and not "v2" as expected`)
		wantRan(t, s.assay(t, "promote", "--version", "v8", "--expect-active", "v3"), 0, "version v8 (was v3)")
		wantRan(t, s.assay(t, "promote", "--version", "v8"), 0, "is active already")
		wantRan(t, s.assay(t, "promote", "--version", "v4"), 5, "was not imported (failed)")
		if err := owner.SetArchiveTemplateVersion(t.Context(), other, true); err != nil {
			t.Fatal(err)
		}
		wantRan(t, s.assay(t, "promote", "--version", "v3"), 5, "is archived: unarchive it first")
		s.isActive(t, s.version(t, "v8").ID)
	})

	t.Run("the tester's token may not", func(t *testing.T) {
		folder := folderOf(t, testbed.Passing(), nil)
		wantRan(t, assay(t, bed.URL, s.tester.Token, "push", folder, "--template", s.reference), 3,
			"may not make versions of this template", `"template admin"`)
		wantRan(t, assay(t, bed.URL, s.tester.Token, "promote", "--version", "v2", "--template", s.reference), 3,
			"may not promote versions of this template")
	})

	requireClean(t, bed, s.tester.ID, before)
}

// TestRealArchiveLimit shows why archives are bounded as they are: Coder stores a larger
// one, and fails its import.
func TestRealArchiveLimit(t *testing.T) {
	bed := testbed.Require(t)
	s := newPushStage(t, bed)
	filler := strings.Repeat("0123456789abcde\n", 1<<16)
	files := map[string]string{"a.txt": filler, "b.txt": filler, "c.txt": filler}
	wantRan(t, s.assay(t, "push", folderOf(t, testbed.NoAgent(), files), "--name", "large"), 0)
	files["d.txt"], files["e.txt"] = filler, filler
	wantRan(t, s.assay(t, "push", folderOf(t, testbed.NoAgent(), files), "--name", "larger"), 2, "the folder has 5.0 MiB, Coder takes 3.9 MiB", "a.txt (1.0 MiB)")

	larger := testbed.NoAgent()
	for name, content := range files {
		larger = larger.With(name, content)
	}
	pushed, err := bed.PushVersion(t.Context(), s.template.TemplateID, larger)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Import.Status != codersdk.ProvisionerJobFailed || !strings.Contains(pushed.Import.Error, "payload was too big") {
		t.Errorf("the import of 5 MiB is %s: %s", pushed.Import.Status, pushed.Import.Error)
	}
}
