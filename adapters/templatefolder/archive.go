package templatefolder

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// MaxBytes bounds an archive. Coder stores more, and then fails the import: the archive
// travels to the provisioner in one message of at most 4 MiB (Coder fact 61), in which
// the variables and the rest need some room too.
const MaxBytes = 4<<20 - 128<<10

// MaxEntries bounds the files and folders of a template: a folder with more was named by
// mistake, and is not walked to its end.
const MaxEntries = 10_000

// ErrTooManyEntries means that the folder has more than MaxEntries files and folders.
var ErrTooManyEntries = errors.New("the folder has too many files")

// shownFiles is how many of the biggest files an error names.
const shownFiles = 3

// Archive is a folder as Coder takes it.
type Archive struct {
	// Tar is the same whenever the folder's files are.
	Tar []byte
	// Files is how many files are in it.
	Files int
	// Variables are the files with values of variables, which are left out: Terraform
	// would load them in each build, and they often hold secrets.
	Variables []string
}

// file is a file that belongs into an archive.
type file struct {
	name string
	mode fs.FileMode
	size int64
}

// Pack makes the archive of a folder. As the coder command does, it leaves out what is
// hidden, but for .terraform.lock.hcl, the state of Terraform, and files with values of
// variables. A symbolic link to a file of the folder is packed as that file, since Coder
// unpacks no links, unless that file is left out; that and any other link is an error.
// The end of ctx ends it.
func Pack(ctx context.Context, dir string) (Archive, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Archive{}, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	// A folder that is no template is not walked: it may be a whole disk.
	if err := checkTop(root); err != nil {
		return Archive{}, err
	}
	p := packer{ctx: ctx, root: root}
	if err := fs.WalkDir(root.FS(), ".", p.visit); err != nil {
		return Archive{}, err
	}
	if err := p.checkSize(0); err != nil {
		return Archive{}, err
	}
	content, err := p.write()
	if err != nil {
		return Archive{}, err
	}
	if err := p.checkSize(int64(len(content))); err != nil {
		return Archive{}, err
	}
	return Archive{Tar: content, Files: p.count(), Variables: p.variables}, nil
}

// shown is the folder as a person finds it: "." says little.
func shown(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// checkTop refuses a folder without Terraform's files at its top.
func checkTop(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	if !slices.ContainsFunc(entries, isTerraform) {
		return fmt.Errorf("%s has no file *.tf or *.tf.json at its top: name the folder of a template", shown(root.Name()))
	}
	return nil
}

func isTerraform(entry fs.DirEntry) bool {
	name := entry.Name()
	return !entry.IsDir() && leftOut(name) == "" && (strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json"))
}

// packer collects the files of a folder.
type packer struct {
	ctx       context.Context
	root      *os.Root
	entries   int
	files     []file
	variables []string
}

// visit is the fs.WalkDirFunc.
func (p *packer) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case err != nil:
		return fmt.Errorf("read the folder: %w", err)
	case name == ".":
		return nil
	}
	if p.entries++; p.entries > MaxEntries {
		return fmt.Errorf("%w: more than %d: name the folder of a template alone, or move out what is no part of it", ErrTooManyEntries, MaxEntries)
	}
	switch why := leftOut(name); {
	case (why == hidden || why == stateFile) && entry.IsDir():
		return fs.SkipDir
	case why == hidden, why == stateFile:
		return nil
	case strings.ContainsFunc(name, unicode.IsControl):
		// Names are shown, and a line of their own could speak to a pipeline.
		return fmt.Errorf("%q has a line end or another control character in its name: rename it", name)
	case why == variablesFile:
		p.variables = append(p.variables, name)
		return nil
	}
	info, err := p.root.Stat(filepath.FromSlash(name))
	link := entry.Type()&fs.ModeSymlink != 0
	switch {
	case err != nil && link:
		return fmt.Errorf("%s is a symbolic link that leaves the folder or leads nowhere: put a copy in its place", name)
	case err != nil:
		return fmt.Errorf("read the folder: %w", err)
	case link && info.IsDir():
		return fmt.Errorf("%s is a symbolic link to a folder, and Coder unpacks no links: put a copy in its place", name)
	case !info.IsDir() && !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder: move it out of the template", name)
	case link:
		if err := p.checkLink(name); err != nil {
			return err
		}
	}
	p.files = append(p.files, file{name: name, mode: info.Mode(), size: info.Size()})
	return nil
}

func (p *packer) count() int {
	n := 0
	for _, f := range p.files {
		if f.mode.IsRegular() {
			n++
		}
	}
	return n
}

// checkSize refuses what is too large: the files' sum, or an archive of so many bytes.
func (p *packer) checkSize(archived int64) error {
	sum := archived
	if sum == 0 {
		for _, f := range p.files {
			if f.mode.IsRegular() {
				sum += f.size
			}
		}
	}
	if sum <= MaxBytes {
		return nil
	}
	biggest := slices.DeleteFunc(slices.Clone(p.files), func(f file) bool { return !f.mode.IsRegular() })
	slices.SortStableFunc(biggest, func(a, b file) int { return cmp.Compare(b.size, a.size) })
	var named []string
	for _, f := range biggest[:min(shownFiles, len(biggest))] {
		named = append(named, fmt.Sprintf("%s (%s)", f.name, Size(f.size)))
	}
	return fmt.Errorf("the folder has %s, Coder takes %s: move out what is no part of the template; the biggest files are %s",
		Size(sum), Size(MaxBytes), strings.Join(named, ", "))
}

// Size tells a number of bytes to people.
func Size(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	default:
		return fmt.Sprintf("%d B", bytes)
	}
}

// write makes the tar: in the order of the names, without times, users or umask.
func (p *packer) write() ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range p.files {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.add(w, f); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the folder: %w", err)
	}
	return buffer.Bytes(), nil
}

func (p *packer) add(w *tar.Writer, f file) error {
	if f.mode.IsDir() {
		// Coder makes no folder that has no entry.
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: f.name + "/", Mode: 0o755})
	}
	content, err := p.read(f.name)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if f.mode&0o111 != 0 {
		mode = 0o755
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Clean(f.name), Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

// read reads a file that may have grown since it was seen.
func (p *packer) read(name string) ([]byte, error) {
	opened, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, MaxBytes+1))
	if err == nil && len(content) > MaxBytes {
		return nil, errors.New("it grew too large meanwhile")
	}
	return content, err
}
