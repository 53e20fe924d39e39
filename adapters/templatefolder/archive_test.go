package templatefolder_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/adapters/templatefolder"
)

// folder makes a folder with files; a name that ends with a slash is a folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// entry is what a tar says of a file.
type entry struct {
	Name, Content string
	Mode          int64
}

func entries(t *testing.T, archive []byte) []entry {
	t.Helper()
	var all []entry
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(time.Unix(0, 0)) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s tells of this machine: %v, user %d %q", header.Name, header.ModTime, header.Uid, header.Uname)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{header.Name, string(content), header.Mode})
	}
}

func TestPack(t *testing.T) {
	dir := folder(t, map[string]string{
		"main.tf": "main", "scripts/start.sh": "start", "modules/a/a.tf": "a", "empty/": "",
		".terraform.lock.hcl": "locked", "modules/a/.terraform.lock.hcl": "locked too",
		// What is left out.
		".git/config": "x", ".terraform/providers/p": "x", "modules/a/.terraform/p": "x", ".env": "secret", "modules/.hidden": "x",
		"terraform.tfstate": "x", "terraform.tfstate.backup": "x", "terraform.tfstate.d/eu/terraform.tfstate": "x",
		"terraform.tfvars": "secret", "eu.auto.tfvars": "secret", "eu.tfvars": "kept: Terraform does not load it by itself",
	})
	if err := os.Chmod(filepath.Join(dir, "scripts", "start.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../main.tf", filepath.Join(dir, "scripts", "linked.tf")); err != nil {
		t.Fatal(err)
	}
	archive, err := templatefolder.Pack(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{".terraform.lock.hcl", "locked", 0o644},
		{"empty/", "", 0o755},
		{"eu.tfvars", "kept: Terraform does not load it by itself", 0o644},
		{"main.tf", "main", 0o644},
		{"modules/", "", 0o755},
		{"modules/a/", "", 0o755},
		{"modules/a/.terraform.lock.hcl", "locked too", 0o644},
		{"modules/a/a.tf", "a", 0o644},
		{"scripts/", "", 0o755},
		{"scripts/linked.tf", "main", 0o644},
		{"scripts/start.sh", "start", 0o755},
	}
	if diff := cmp.Diff(want, entries(t, archive.Tar)); diff != "" {
		t.Errorf("the archive (-want +got):\n%s", diff)
	}
	if archive.Files != 7 || !cmp.Equal(archive.Variables, []string{"eu.auto.tfvars", "terraform.tfvars"}) {
		t.Errorf("%d files, without %q", archive.Files, archive.Variables)
	}
}

func TestTheSameFilesMakeTheSameArchive(t *testing.T) {
	files := map[string]string{"main.tf": "main", "b/b.tf": "b", "a/a.tf": "a"}
	first, err := templatefolder.Pack(t.Context(), folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, files)
	if err := os.Chtimes(filepath.Join(dir, "main.tf"), time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	second, err := templatefolder.Pack(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Tar, second.Tar) {
		t.Error("the archives differ")
	}
}

func TestPackRefuses(t *testing.T) {
	outside := folder(t, map[string]string{"secret.tf": "secret"})
	for _, row := range []struct {
		why   string
		files map[string]string
		link  [2]string
		says  []string
	}{
		{why: "a folder without Terraform at its top", files: map[string]string{"modules/a.tf": "x", ".hidden.tf": "x"}, says: []string{"has no file *.tf"}},
		{why: "a link out of the folder", files: map[string]string{"main.tf": "x"}, link: [2]string{outside + "/secret.tf", "leaves.tf"}, says: []string{"leaves.tf", "leaves the folder"}},
		{why: "a link out of the folder and back", files: map[string]string{"main.tf": "x", "a/a.tf": "x"}, link: [2]string{"../../x/main.tf", "a/b.tf"}, says: []string{"a/b.tf"}},
		{why: "a link to nowhere", files: map[string]string{"main.tf": "x"}, link: [2]string{"nothing.tf", "dead.tf"}, says: []string{"dead.tf", "leads nowhere"}},
		{
			why: "a link to a file of a hidden folder", files: map[string]string{"main.tf": "x", ".git/config": "x"},
			link: [2]string{".git/config", "notes"}, says: []string{"notes is a symbolic link to .git/config, which is left out as hidden"},
		},
		{
			why: "a link to a hidden file further down", files: map[string]string{"main.tf": "x", "a/.env": "x"},
			link: [2]string{"a/.env", "env.txt"}, says: []string{"env.txt", "a/.env", "hidden"},
		},
		{
			why: "a link to the state", files: map[string]string{"main.tf": "x", "terraform.tfstate.d/eu/x": "x"},
			link: [2]string{"terraform.tfstate.d/eu/x", "state.txt"}, says: []string{"state.txt", "terraform.tfstate.d/eu/x", "Terraform's state"},
		},
		{
			why: "a link to values of variables", files: map[string]string{"main.tf": "x", "terraform.tfvars": "x"},
			link: [2]string{"terraform.tfvars", "x.txt"}, says: []string{"x.txt", "terraform.tfvars", "values of variables"},
		},
		{
			why: "a link to values that Terraform loads further down", files: map[string]string{"main.tf": "x", "a/eu.auto.tfvars": "x"},
			link: [2]string{"eu.auto.tfvars", "a/x.txt"}, says: []string{"a/x.txt", "a/eu.auto.tfvars"},
		},
		{
			why: "a name that would begin a line", files: map[string]string{"main.tf": "x", "a\n::set-env name=a::b": "x"},
			says: []string{`"a\n::set-env name=a::b"`, "rename it"},
		},
		{why: "a link to a folder", files: map[string]string{"main.tf": "x", "a/a.tf": "x"}, link: [2]string{"a", "b"}, says: []string{"b is a symbolic link to a folder"}},
		{
			why: "more than Coder takes", says: []string{"the folder has 4.0 MiB", "big.bin (3.0 MiB), small.bin (1.0 MiB), main.tf (1 B)"},
			files: map[string]string{"main.tf": "x", "big.bin": strings.Repeat("x", 3<<20), "small.bin": strings.Repeat("x", 1<<20), "other.txt": ""},
		},
	} {
		dir := folder(t, row.files)
		if row.link[0] != "" {
			if err := os.Symlink(row.link[0], filepath.Join(dir, row.link[1])); err != nil {
				t.Fatal(err)
			}
		}
		_, err := templatefolder.Pack(t.Context(), dir)
		if err == nil {
			t.Errorf("%s: no error", row.why)
			continue
		}
		for _, text := range row.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", row.why, err, text)
			}
		}
	}
	if _, err := templatefolder.Pack(t.Context(), filepath.Join(outside, "nothing")); err == nil {
		t.Error("a folder that is not there: no error")
	}
	if _, err := templatefolder.Pack(t.Context(), filepath.Join(outside, "secret.tf")); err == nil {
		t.Error("a file in place of a folder: no error")
	}
}

// A link can lead over other links, and only its end counts.
func TestPackFollowsLinksToTheirEnd(t *testing.T) {
	dir := folder(t, map[string]string{"main.tf": "main", ".env": "secret"})
	for name, target := range map[string]string{"first.tf": "second.tf", "second.tf": "main.tf", "third.tf": "fourth.tf"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	fourth := filepath.Join(dir, "fourth.tf")
	if err := os.Symlink("main.tf", fourth); err != nil {
		t.Fatal(err)
	}
	if archive, err := templatefolder.Pack(t.Context(), dir); err != nil || archive.Files != 5 {
		t.Errorf("%d files, error %v", archive.Files, err)
	}
	if err := errors.Join(os.Remove(fourth), os.Symlink(".env", fourth)); err != nil {
		t.Fatal(err)
	}
	if _, err := templatefolder.Pack(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "fourth.tf is a symbolic link to .env") {
		t.Errorf("error %v", err)
	}
}

func TestPackEndsEarly(t *testing.T) {
	dir := folder(t, map[string]string{"a/a.tf": ""})
	if err := os.Symlink("nowhere", filepath.Join(dir, "dead")); err != nil {
		t.Fatal(err)
	}
	if _, err := templatefolder.Pack(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "has no file *.tf") {
		t.Errorf("a folder that is no template is walked: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := templatefolder.Pack(ctx, folder(t, map[string]string{"main.tf": ""})); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// The headers of many small files can be what is too much.
func TestManySmallFiles(t *testing.T) {
	files := map[string]string{"main.tf": "x"}
	for i := range 4200 {
		files["f/"+strings.Repeat("x", i%5)+time.Duration(i).String()] = "x"
	}
	if _, err := templatefolder.Pack(t.Context(), folder(t, files)); err == nil || !strings.Contains(err.Error(), "Coder takes 3.9 MiB") {
		t.Errorf("error %v", err)
	}
}
