package testbed

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// variants are all templates of the bed, by a name for tests.
func variants() map[string]Template {
	return map[string]Template{
		"passing": Passing(), "startup-fails": StartupFails(), "startup-timeout": StartupTimeout(),
		"slow-startup": SlowStartup(), "build-fails": BuildFails(), "slow-build": SlowBuild(),
		"no-agent": NoAgent(), "never-connects": AgentNeverConnects(), "parameters": Parameters(),
		"presets": Presets(), "import-fails": ImportFails(), "external-auth": ExternalAuth(),
		"no-provisioner": NoProvisioner(),
	}
}

func TestEveryFileBelongsToAVariant(t *testing.T) {
	used := map[string]bool{}
	for _, variant := range variants() {
		for name := range variant.Files {
			used[name] = true
		}
	}
	files, err := fs.ReadDir(templateFiles, "templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !used[file.Name()] {
			t.Errorf("no variant uses %s", file.Name())
		}
	}
}

func TestFailuresPrintTheirLines(t *testing.T) {
	for _, row := range []struct {
		reason   string
		template Template
		line     string
	}{
		{"startup script", StartupFails(), StartupFailureLine},
		{"build", BuildFails(), BuildFailureLine},
		{"import", ImportFails(), ImportFailureLine},
		{"slow build", SlowBuild(), SlowBuildLine},
	} {
		found := false
		for _, content := range row.template.Files {
			found = found || strings.Contains(content, row.line)
		}
		if !found {
			t.Errorf("%s: no file has the line %q", row.reason, row.line)
		}
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	original := NoAgent()
	changed := original.With("extra.tf", "# more")
	if _, there := original.Files["extra.tf"]; there || changed.Files["extra.tf"] != "# more" {
		t.Errorf("original %v, changed %v", original.Files, changed.Files)
	}
}

func TestArchive(t *testing.T) {
	first, err := archiveOf(Presets().Files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := archiveOf(Presets().Files)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same files give two archives")
	}
	got := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = string(text)
	}
	for name, content := range Presets().Files {
		if got[name] != content {
			t.Errorf("%s holds %q", name, got[name])
		}
	}
}
