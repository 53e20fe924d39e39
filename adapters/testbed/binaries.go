package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Files are the programs of a bed, as absolute names.
type Files struct {
	Coder    string
	Tofu     string
	Provider string
	// Postgres is a folder with initdb and postgres.
	Postgres string
}

// Binaries finds the programs that the environment names, takes the others
// from the cache, and builds what the cache lacks. A build takes minutes and
// needs the go command and the source of this module; progress receives a line
// when one begins and ends (nil: none). Several callers at once, in one process
// or in several, build each program once.
func Binaries(ctx context.Context, progress io.Writer) (Files, error) {
	postgres, err := findPostgres(os.Getenv, os.DirFS("/"))
	if err != nil {
		return Files{}, err
	}
	files := Files{Postgres: postgres}
	err = newBuilder(progress).fill(ctx, []want{
		{providerComponent, &files.Provider},
		{tofuComponent, &files.Tofu},
		{coderComponent, &files.Coder},
	})
	return files, err
}

// KubernetesFiles are the programs of a [Kubernetes], as absolute names.
type KubernetesFiles struct {
	Etcd              string
	APIServer         string
	ControllerManager string
	Scheduler         string
	Kwok              string
	Kubectl           string
}

// KubernetesBinaries does for Kubernetes what [Binaries] does for Coder.
func KubernetesBinaries(ctx context.Context, progress io.Writer) (KubernetesFiles, error) {
	var files KubernetesFiles
	err := newBuilder(progress).fill(ctx, []want{
		{etcdComponent, &files.Etcd},
		{apiServerComponent, &files.APIServer},
		{controllerManagerComponent, &files.ControllerManager},
		{schedulerComponent, &files.Scheduler},
		{kwokComponent, &files.Kwok},
		{kubectlComponent, &files.Kubectl},
	})
	return files, err
}

// HelmBinary does for Helm, which renders and checks charts, what [Binaries]
// does for Coder.
func HelmBinary(ctx context.Context, progress io.Writer) (file string, err error) {
	err = newBuilder(progress).fill(ctx, []want{{helmComponent, &file}})
	return file, err
}

// want is a component and where the name of its program belongs.
type want struct {
	component component
	file      *string
}

// builder finds or makes one component's file.
type builder struct {
	getenv   func(string) string
	progress io.Writer
	// build makes the component's program at the file named target. It may
	// use the folder of that file for itself.
	build func(ctx context.Context, c component, target string) error
}

func newBuilder(progress io.Writer) builder {
	if progress == nil {
		progress = io.Discard
	}
	return builder{getenv: os.Getenv, progress: progress, build: goBuild}
}

// fill finds one component after the other, and leaves alone what has a file.
func (b builder) fill(ctx context.Context, wants []want) error {
	for _, w := range wants {
		if *w.file != "" {
			continue
		}
		file, err := b.find(ctx, w.component)
		if err != nil {
			return err
		}
		*w.file = file
	}
	return nil
}

func (b builder) find(ctx context.Context, c component) (string, error) {
	file, err := c.override(b.getenv)
	if err != nil || file != "" {
		return file, err
	}
	cache, err := cacheFolder(b.getenv)
	if err != nil {
		return "", err
	}
	file = c.file(cache)
	if exists(file) {
		return file, nil
	}
	if err := os.MkdirAll(c.folder(cache), 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	unlock, err := lock(ctx, c.folder(cache)+".lock", func() {
		fmt.Fprintf(b.progress, "waiting for another process that builds %s\n", c)
	})
	if err != nil {
		return "", fmt.Errorf("lock the cache for %s: %w", c, err)
	}
	defer unlock()
	if exists(file) {
		return file, nil
	}
	return file, b.make(ctx, c, cache)
}

// make builds beside the final place and renames, so that a file in the cache
// is always whole. The caller holds the lock: what an interrupted build left
// there belongs to nobody.
func (b builder) make(ctx context.Context, c component, cache string) error {
	work := c.folder(cache) + ".build"
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("remove an interrupted build: %w", err)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	defer os.RemoveAll(work)
	fmt.Fprintf(b.progress, "building %s (%s, once)\n", c, c.takes)
	begin := time.Now()
	target := filepath.Join(work, c.name)
	if err := b.build(ctx, c, target); err != nil {
		return fmt.Errorf("build %s: %w", c, err)
	}
	if err := os.Rename(target, c.file(cache)); err != nil {
		return fmt.Errorf("place %s: %w", c, err)
	}
	fmt.Fprintf(b.progress, "built %s in %s\n", c, time.Since(begin).Round(time.Second))
	return nil
}

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// goBuild copies the pin, because the go command may complete its go.mod, and
// builds from the copy.
func goBuild(ctx context.Context, c component, target string) error {
	source, err := sourceFolder(ctx)
	if err != nil {
		return err
	}
	module := filepath.Join(filepath.Dir(target), "module")
	if err := os.Mkdir(module, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, "pins", c.pin, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(module, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("copy the pin: %w", err)
		}
	}
	command := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-trimpath", "-buildvcs=false",
		"-ldflags", c.ldflags, "-o", target, c.pkg)
	command.Dir = module
	command.Env = append(os.Environ(), "GOWORK=off", "GOOS=", "GOARCH=")
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w: %s", err, lastLines(output, 20))
	}
	return nil
}

// sourceFolder is this package's folder in its module, which holds the pins:
// they are modules of their own and cannot be embedded.
func sourceFolder(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", packagePath).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, lastLines(exit.Stderr, 3))
		}
		return "", fmt.Errorf("find the pins (run in the module's folder, with the go command in PATH, "+
			"or name the programs by their variables): %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}

const packagePath = "github.com/assay-dev/assay/adapters/testbed"

func lastLines(text []byte, n int) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
