package templatefolder_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/templatefolder"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{
		"-C", dir, "-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false",
	}, args...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
}

func TestRevision(t *testing.T) {
	repository := folder(t, map[string]string{"docker/main.tf": "x", "other/main.tf": "x", ".gitignore": "*.log\n"})
	dir := filepath.Join(repository, "docker")
	if _, err := templatefolder.ReadRevision(t.Context(), dir); err == nil {
		t.Error("a folder without a repository has a revision")
	}
	git(t, repository, "init", "-q")
	if _, err := templatefolder.ReadRevision(t.Context(), dir); err == nil {
		t.Error("a repository without a commit has a revision")
	}
	git(t, repository, "add", "-A")
	git(t, repository, "commit", "-q", "-m", "Use another image\n\nIt is smaller.")
	for _, row := range []struct {
		why, file string
		dirty     bool
	}{
		{"a clean folder", "", false},
		{"a change elsewhere in the repository", "other/main.tf", false},
		{"a file that Git ignores", "docker/x.log", false},
		{"a new file", "docker/new.tf", true},
		{"a changed file", "docker/main.tf", true},
	} {
		if row.file != "" {
			if err := os.WriteFile(filepath.Join(repository, filepath.FromSlash(row.file)), []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		revision, err := templatefolder.ReadRevision(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(revision.Commit) < 7 || revision.Subject != "Use another image" || revision.Dirty != row.dirty {
			t.Errorf("%s: %+v", row.why, revision)
		}
	}
}

// TestRevisionRunsNoProgramOfTheRepository has the repository's own configuration name
// programs that Git would run.
func TestRevisionRunsNoProgramOfTheRepository(t *testing.T) {
	for _, row := range []struct {
		why, filter string
		// config is set to the program, by way of an included file or not.
		config   []string
		included bool
	}{
		{"a filter", "x", []string{"filter.x.clean"}, false},
		{"a filter that goes on", "x", []string{"filter.x.process"}, false},
		{"a name with an equals sign", "x=y", []string{"filter.x=y.clean"}, false},
		{"a filter of an included file", "x", []string{"filter.x.clean"}, true},
		{"a monitor and a checker of signatures", "x", []string{"core.fsmonitor", "gpg.program"}, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			repository := folder(t, map[string]string{"main.tf": "x", "same.tf": "x", ".gitattributes": "*.tf filter=" + row.filter + "\n"})
			git(t, repository, "init", "-q")
			git(t, repository, "add", "-A")
			git(t, repository, "commit", "-q", "-m", "Begin")
			ran := filepath.Join(t.TempDir(), "ran")
			file := filepath.Join(repository, ".git", "config")
			if row.included {
				file = filepath.Join(t.TempDir(), "more")
				git(t, repository, "config", "include.path", file)
			}
			for _, name := range append(row.config, "log.showSignature", "filter."+row.filter+".required") {
				value := "true"
				if slices.Contains(row.config, name) {
					value = "touch '" + ran + "'; cat"
				}
				git(t, repository, "config", "--file", file, name, value)
			}
			// The same text again, at another time: Git has to read it.
			long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(filepath.Join(repository, "same.tf"), long, long); err != nil {
				t.Fatal(err)
			}
			for _, dirty := range []bool{false, true} {
				if dirty {
					if err := os.WriteFile(filepath.Join(repository, "main.tf"), []byte("y"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				revision, err := templatefolder.ReadRevision(t.Context(), repository)
				if err != nil || revision.Dirty != dirty {
					t.Errorf("%+v, error %v, want dirty %v", revision, err, dirty)
				}
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("a program of the repository was run")
			}
		})
	}
}
