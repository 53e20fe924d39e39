package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/adapters/artifacts"
	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

// reportFlags name the files that a run is told in, beside the standard output.
type reportFlags struct{ junit, html, json, artifacts string }

func (f *reportFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.junit, "junit", "", "also write the verdicts as JUnit XML to `FILE`")
	flags.StringVar(&f.html, "html", "", "also write the verdicts as a page of HTML to `FILE`")
	flags.StringVar(&f.json, "json", "", "also write the verdicts as one JSON document to `FILE`")
	flags.StringVar(&f.artifacts, "artifacts", "", "keep the logs and states of failed tests, masked, below `DIR`")
}

// reportFile is a file that is written when the run has ended. Its place is tried before
// anything is started.
type reportFile struct {
	flag, path string
	write      func(io.Writer, *report.Run) error
	// draft is what becomes the file.
	draft *os.File
}

// reportFiles are the files of one run.
type reportFiles []*reportFile

// open makes the drafts of the files, and the folder of the artifacts. Every error is a
// usage error and leaves no draft.
func (f *reportFlags) open(ctx context.Context) (reportFiles, error) {
	if f.artifacts != "" {
		sink := artifacts.New(artifacts.Config{Dir: f.artifacts})
		err := sink.Prepare()
		sink.Close(ctx)
		if err != nil {
			return nil, usage("--artifacts: %w: name a folder that may be written", err)
		}
	}
	var files reportFiles
	named := map[string]string{}
	for _, file := range []*reportFile{
		{flag: "--junit", path: f.junit, write: func(out io.Writer, run *report.Run) error { return report.WriteJUnit(out, *run) }},
		{flag: "--html", path: f.html, write: func(out io.Writer, run *report.Run) error { return report.WriteHTML(out, *run) }},
		{flag: "--json", path: f.json, write: func(out io.Writer, run *report.Run) error { return report.WriteJSON(out, run) }},
	} {
		if file.path == "" {
			continue
		}
		if other := named[filepath.Clean(file.path)]; other != "" {
			files.discard()
			return nil, usage("%s and %s: name the same file %s: give each its own", other, file.flag, file.path)
		}
		named[filepath.Clean(file.path)] = file.flag
		if err := file.open(); err != nil {
			files.discard()
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func (f *reportFile) open() (err error) {
	if f.path == "-" {
		return usage("%s: - is no file: name one; --output is for the standard output", f.flag)
	}
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return usage("%s: %s is no regular file: name one that may be replaced", f.flag, f.path)
	}
	f.draft, err = os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".*")
	if err != nil {
		return usage("%s: %s cannot be written: %w: name a file in a folder that exists and may be written", f.flag, f.path, errors.Unwrap(err))
	}
	return nil
}

// discard removes what was not written.
func (files reportFiles) discard() {
	for _, f := range files {
		if f.draft != nil {
			_ = f.draft.Close()
			_ = os.Remove(f.draft.Name())
		}
	}
}

// write writes the files. A report that is asked for and is not there must be noticed, so
// it makes a pass inconclusive; no other verdict changes.
func (files reportFiles) write(env Env, run *report.Run, code int, err error) (int, error) {
	for _, f := range files {
		if failed := f.finish(run); failed != nil {
			fmt.Fprintf(env.Stderr, "assay: %s: the report could not be written: %v\n", f.flag, failed)
			code = worstExit(code, exitInconclusive)
		}
	}
	return code, err
}

// finish replaces the file as a whole, so that a full disk leaves no half of it.
func (f *reportFile) finish(run *report.Run) error {
	draft := f.draft
	err := f.write(draft, run)
	// A report is for others to read, and the logs in it are masked; CreateTemp thinks of
	// secrets.
	err = errors.Join(err, draft.Chmod(0o644), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(draft.Name())
	}
	f.draft = nil
	return err
}

// newArtifacts makes the sink of --artifacts, nil without the flag.
func newArtifacts(dir string, secrets []string) *artifacts.Sink {
	if dir == "" {
		return nil
	}
	return artifacts.New(artifacts.Config{
		Dir: dir, Mask: core.NewMask(secrets...),
		// What is known while the test runs; keepArtifacts knows more in the end.
		Document: func(record core.Record) any { return report.NewTest(&record) },
	})
}

// artifactsPatience bounds how long a slow disk is waited for when all tests have ended.
const artifactsPatience = 10 * time.Second

// keepArtifacts writes what the run ended with and tells what could not be written. It
// changes no verdict: the artifacts explain one.
func keepArtifacts(ctx context.Context, env Env, sink *artifacts.Sink, attempts [][]attempt, signal os.Signal) {
	if sink == nil {
		return
	}
	for _, ofPlan := range attempts {
		for i := range ofPlan {
			if a := &ofPlan[i]; a.notBegun == nil {
				sink.Put(a.ending.record, a.document(signal, len(ofPlan) > 1))
			}
		}
	}
	closing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := env.Clock.AfterFunc(artifactsPatience, cancel)
	sink.Close(closing)
	timer.Stop()
	cancel()
	for _, problem := range sink.Problems() {
		fmt.Fprintf(env.Stderr, "assay: --artifacts: %v\n", problem)
	}
}

// tellGitHub writes annotations and the summary of the step where the run is a step of
// GitHub Actions. What goes wrong changes no verdict.
func tellGitHub(env Env, run *report.Run) {
	if env.lookup(envGitHub) != "true" {
		return
	}
	// The runner reads commands from either stream; the standard output is the reader's of
	// the verdicts.
	for _, annotation := range report.Annotations(*run) {
		fmt.Fprintln(env.Stderr, annotation)
	}
	path := env.lookup("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(report.WriteGitHubSummary(file, *run), file.Close())
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "assay: GITHUB_STEP_SUMMARY: the summary could not be written: %v\n", err)
	}
}
