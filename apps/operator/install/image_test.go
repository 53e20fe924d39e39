package install_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestImagesAreOfTheOperator keeps both ways to build an image at the main package, and
// both unprivileged. Nothing builds an image here: that takes a container runtime, or a
// registry for the base.
func TestImagesAreOfTheOperator(t *testing.T) {
	const top, command = "../../..", "./apps/operator/cmd/assay-operator"
	files, err := filepath.Glob(filepath.Join(top, command, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", command, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err != nil || parsed.Name.Name != "main" {
			t.Errorf("%s is not of a main package: %v", file, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(top, ".ko.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var ko struct {
		DefaultBaseImage string
		Builds           []struct {
			Main string
			Env  []string
		}
	}
	if err := yaml.Unmarshal(text, &ko); err != nil {
		t.Fatal(err)
	}
	built := false
	for _, build := range ko.Builds {
		built = built || build.Main == command && slices.Contains(build.Env, "CGO_ENABLED=0")
	}
	if !built {
		t.Errorf("ko builds %+v, want %s without cgo", ko.Builds, command)
	}
	docker, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{command + "\n", "CGO_ENABLED=0 ", "FROM " + ko.DefaultBaseImage + "\n", "USER 65532:65532\n"} {
		if !strings.Contains(string(docker), want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	module, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "\ngo 1.26") || !strings.Contains(string(docker), "golang:1.26 ") {
		t.Error("the Dockerfile and go.mod name different releases of Go")
	}
}
