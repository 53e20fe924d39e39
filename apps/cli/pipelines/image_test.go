package pipelines_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestImageIsOfTheCommand keeps both ways to build the image at the main package, and
// both unprivileged. Nothing builds an image here: that takes a container runtime, or a
// registry for the base.
func TestImageIsOfTheCommand(t *testing.T) {
	const command = "./apps/cli/cmd/assay"
	var ko struct {
		DefaultBaseImage string `yaml:"defaultBaseImage"`
		Builds           []struct {
			ID, Main string
			Env      []string
		}
	}
	if err := yaml.Unmarshal(readFile(t, ".ko.yaml"), &ko); err != nil {
		t.Fatal(err)
	}
	built := false
	for _, build := range ko.Builds {
		built = built || build.ID == "assay" && build.Main == command && slices.Contains(build.Env, "CGO_ENABLED=0")
	}
	if !built {
		t.Errorf("ko builds %+v, want %s without cgo", ko.Builds, command)
	}
	if !strings.Contains(string(readFile(t, command, "main.go")), "\npackage main\n") {
		t.Errorf("%s is no main package", command)
	}
	docker := string(readFile(t, "apps/cli/Dockerfile"))
	for _, want := range []string{
		"-o /assay " + command + "\n", "CGO_ENABLED=0 ", "FROM " + ko.DefaultBaseImage + "\n", "USER 65532:65532\n",
		"ENTRYPOINT [\"/assay\"]\n", "github.com/assay-dev/assay/apps/cli.Version=$VERSION",
		// The state file's folder is the user's.
		"--chown=65532:65532 /state /state\n", "ENV XDG_STATE_HOME=/state\n",
	} {
		if !strings.Contains(docker, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(readFile(t, "go.mod"))
	if release == nil || !strings.Contains(docker, "golang:"+string(release[1])+" ") {
		t.Errorf("the Dockerfile and go.mod name different releases of Go: %q", release)
	}
	if user := strings.LastIndex(docker, "\nUSER "); user < strings.LastIndex(docker, "\nFROM ") {
		t.Error("the last stage runs as root")
	}
	// The image for jobs takes the program from where this one has it.
	if !bytes.Contains(readFile(t, "docs/how-to/pipelines/Dockerfile"), []byte("COPY --from=assay /assay /usr/local/bin/assay\n")) {
		t.Error("the image for jobs takes the program from elsewhere")
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{repository}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
