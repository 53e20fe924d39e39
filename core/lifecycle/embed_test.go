package lifecycle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherModuleCanEmbedTheCore builds and runs a module of its own that requires
// this one and brings its own CodeRunner, store and clock. It also shows that the
// core pulls in nothing but a UUID package.
func TestAnotherModuleCanEmbedTheCore(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another module")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/embed")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/embed\n\ngo 1.26\n\n"+
		"require (\n\tgithub.com/assay-dev/assay v0.0.0\n\tgithub.com/google/uuid "+version(t, root, "github.com/google/uuid")+"\n)\n\n"+
		"replace github.com/assay-dev/assay => "+root+"\n")
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", string(sums))

	if got := goTool(t, folder, "run", "-mod=mod", "."); !strings.HasPrefix(got, "Succeeded: ") || !strings.Contains(got, "(0 workspace left)") {
		t.Errorf("the embedding program printed %q", got)
	}
	deps := goTool(t, folder, "list", "-mod=mod", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	for _, dep := range strings.Fields(deps) {
		if !strings.HasPrefix(dep, "github.com/assay-dev/assay/") && dep != "github.com/google/uuid" && dep != "example.com/embed" {
			t.Errorf("embedding the core pulls in %s", dep)
		}
	}
}

func version(t *testing.T, root, module string) string {
	t.Helper()
	return strings.TrimSpace(goTool(t, root, "list", "-m", "-f", "{{.Version}}", module))
}

func goTool(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = folder
	// Everything it needs is in the module cache already.
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(output)
}
