package proof

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed switch.go.txt
var switchSource string

// switchFile holds the switch in the instrumented package.
const switchFile = "zz_mutant.go"

// Instrument returns the package's source files with every mutant in them, by base name.
func (p *Package) Instrument() map[string]string {
	all := map[string]string{switchFile: "package " + p.Name + "\n" + switchSource}
	for _, f := range p.files {
		all[f.name] = apply(f.source, f.edits)
	}
	return all
}

// Overlay writes the instrumented files into a folder and returns the file that the go
// command's -overlay flag takes.
func (p *Package) Overlay(folder string) (string, error) {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, source := range p.Instrument() {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(p.Dir, name)] = path
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// compile builds the test binary of the package in a folder.
func compile(ctx context.Context, overlay, dir, binary string) error {
	// Vet would look at the instrumented code.
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the tests of %s: %w\n%s", dir, err, output)
	}
	return nil
}
