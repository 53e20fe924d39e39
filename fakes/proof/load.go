package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is the package under proof, with its mutants.
type Package struct {
	// Dir is its folder, absolute.
	Dir     string
	Name    string
	Mutants []Mutant

	files []*file
}

// file is one source file and what mutates it.
type file struct {
	name, source string
	edits        []edit
}

// Load reads the package in a folder, without its tests and without the files named in
// leaveOut, and finds its mutants. It needs the go command, for the types of what the
// package imports.
func Load(ctx context.Context, dir string, leaveOut ...string) (*Package, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources[filepath.Base(name)] = string(source)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	fset := token.NewFileSet()
	lookup, err := exports(ctx, dir)
	if err != nil {
		return nil, err
	}
	pkg, err := parse(fset, sources, importer.ForCompiler(fset, "gc", lookup), leaveOut)
	if err != nil {
		return nil, err
	}
	pkg.Dir = dir
	return pkg, nil
}

// exports finds the compiled export data of everything that the package depends on.
func exports(ctx context.Context, dir string) (importer.Lookup, error) {
	command := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	command.Dir = dir
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list what %s imports: %w: %s", dir, err, problems.String())
	}
	found := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var entry struct{ ImportPath, Export string }
		if err := decoder.Decode(&entry); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		found[entry.ImportPath] = entry.Export
	}
	return func(path string) (io.ReadCloser, error) {
		if found[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(found[path])
	}, nil
}

// parse type-checks the sources, by file name, and finds the mutants.
func parse(fset *token.FileSet, sources map[string]string, imports types.Importer, leaveOut []string) (*Package, error) {
	var names []string
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	trees := make([]*ast.File, len(names))
	for i, name := range names {
		tree, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: imports}
	if _, err := config.Check(trees[0].Name.Name, fset, trees, info); err != nil {
		return nil, fmt.Errorf("type-check: %w", err)
	}
	pkg := &Package{Name: trees[0].Name.Name}
	seen := map[string]int{}
	for i, name := range names {
		f := &file{name: name, source: sources[name]}
		pkg.files = append(pkg.files, f)
		if slices.Contains(leaveOut, name) {
			continue
		}
		w := &walker{pkg: pkg, file: f, tokens: fset.File(trees[i].FileStart), info: info}
		w.walk(trees[i])
	}
	for i := range pkg.Mutants {
		m := &pkg.Mutants[i]
		seen[m.Key()]++
		m.nth = seen[m.Key()]
	}
	return pkg, nil
}

// Mutant finds a mutant by its ID.
func (p *Package) Mutant(id int) (*Mutant, bool) {
	if id < 1 || id > len(p.Mutants) {
		return nil, false
	}
	return &p.Mutants[id-1], true
}

// Plain returns the source of the mutant's file before and after its change.
func (p *Package) Plain(m *Mutant) (before, after string) {
	for _, f := range p.files {
		if f.name == m.File {
			return f.source, f.source[:m.from] + m.text + f.source[m.to:]
		}
	}
	return "", ""
}
