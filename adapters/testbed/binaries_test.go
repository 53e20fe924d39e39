//go:build unix

package testbed

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func cacheOf(t *testing.T) func(string) string {
	return env(map[string]string{"ASSAY_TESTBED_CACHE": t.TempDir()})
}

func writeProgram(_ context.Context, _ component, target string) error {
	return os.WriteFile(target, []byte("program"), 0o755)
}

func TestFindBuildsOnceAndSaysSo(t *testing.T) {
	var progress bytes.Buffer
	builds := 0
	b := builder{getenv: cacheOf(t), progress: &progress, build: func(ctx context.Context, c component, target string) error {
		builds++
		return writeProgram(ctx, c, target)
	}}
	for range 2 {
		file, err := b.find(t.Context(), coderComponent)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "program" {
			t.Fatalf("%s holds %q, %v", file, text, err)
		}
	}
	if builds != 1 {
		t.Errorf("built %d times", builds)
	}
	if want := "building coder v2.36.1 (about 5 minutes, once)\n"; !strings.HasPrefix(progress.String(), want) {
		t.Errorf("progress %q, want it to begin with %q", progress.String(), want)
	}
}

func TestFindBuildsOnceForSeveral(t *testing.T) {
	getenv := cacheOf(t)
	var builds atomic.Int32
	entered := make(chan struct{})
	release := make(chan struct{})
	build := func(ctx context.Context, c component, target string) error {
		builds.Add(1)
		close(entered)
		<-release
		return writeProgram(ctx, c, target)
	}
	waits := make(chan string, 1)
	var all sync.WaitGroup
	find := func(progress *lineWriter) {
		all.Go(func() {
			b := builder{getenv: getenv, progress: progress, build: build}
			if _, err := b.find(context.Background(), tofuComponent); err != nil {
				t.Error(err)
			}
		})
	}
	find(&lineWriter{})
	<-entered
	find(&lineWriter{lines: waits})
	if got, want := <-waits, "waiting for another process that builds tofu v1.12.6\n"; got != want {
		t.Errorf("progress %q, want %q", got, want)
	}
	close(release)
	all.Wait()
	if builds.Load() != 1 {
		t.Errorf("built %d times", builds.Load())
	}
}

// lineWriter sends each line on; without a channel it drops them.
type lineWriter struct{ lines chan<- string }

func (w *lineWriter) Write(p []byte) (int, error) {
	if w.lines != nil {
		w.lines <- string(p)
	}
	return len(p), nil
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	getenv := cacheOf(t)
	broken := errors.New("compiler says no")
	b := builder{getenv: getenv, progress: &bytes.Buffer{}, build: func(_ context.Context, _ component, target string) error {
		if err := os.WriteFile(target, []byte("half"), 0o755); err != nil {
			t.Fatal(err)
		}
		return broken
	}}
	if _, err := b.find(t.Context(), coderComponent); !errors.Is(err, broken) || !strings.Contains(err.Error(), "build coder v2.36.1") {
		t.Fatalf("got %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(getenv("ASSAY_TESTBED_CACHE"), "*", "*", "*"))
	builds, _ := filepath.Glob(filepath.Join(getenv("ASSAY_TESTBED_CACHE"), "*", "*.build"))
	if len(left)+len(builds) != 0 {
		t.Errorf("left in the cache: %v %v", left, builds)
	}
	b.build = writeProgram
	if _, err := b.find(t.Context(), coderComponent); err != nil {
		t.Errorf("a later build: %v", err)
	}
}

func TestInterruptedBuildIsForgotten(t *testing.T) {
	getenv := cacheOf(t)
	folder := coderComponent.folder(getenv("ASSAY_TESTBED_CACHE")) + ".build"
	if err := os.MkdirAll(filepath.Join(folder, "module"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := builder{getenv: getenv, progress: &bytes.Buffer{}, build: func(ctx context.Context, c component, target string) error {
		if left, _ := os.ReadDir(filepath.Dir(target)); len(left) > 0 {
			t.Errorf("the build found %v", left)
		}
		return writeProgram(ctx, c, target)
	}}
	if _, err := b.find(t.Context(), coderComponent); err != nil {
		t.Fatal(err)
	}
}

func TestWaitForTheLockEndsWithTheContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), file, func() { t.Error("nobody held the lock") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, file, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	unlock()
	again, err := lock(t.Context(), file, func() { t.Error("the lock was not released") })
	if err != nil {
		t.Fatal(err)
	}
	again()
}
