package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// configFile is a file that people write, as the Go types describe it that read it.
type configFile struct {
	// title and flag name it, about says what it is.
	title, flag, about string
	// source is the Go file, typeName the struct of one entry, and path where entries are.
	source, typeName, path string
}

// configFiles are the files of assay-server. Their sources are below the root of the
// repository.
var configFiles = []configFile{
	{"Control planes", "--control-planes", "The Coder deployments that can be tested on, by name. Read again when it changes; one that cannot be used leaves things as they were.", "adapters/planefile/parse.go", "plane", "controlPlanes.NAME"},
	{"Tokens", "--tokens", "Whose tokens are taken, and what they may do. Read again when it changes. `assay-server token NAME` makes a token and prints its entry.", "apps/http/access/tokens.go", "entry", "tokens[]"},
	{"Roles of an issuer's groups", "--oidc-roles", "What the groups in an OpenID Connect issuer's tokens may do. Read again when it changes.", "apps/http/access/oidc.go", "rolesDocument", ""},
	{"Webhooks", "--webhooks", "Who is told of tests. Read at the start.", "adapters/webhook/receivers.go", "Receiver", "receivers[]"},
}

// writeConfigFiles writes the reference of the files. A field without a comment is an
// error: nobody would know what it is for.
func writeConfigFiles(page, root string) error {
	var text bytes.Buffer
	fmt.Fprint(&text, "# The files of assay-server\n\nGenerated from the code that reads them by `make docs-reference`. They are YAML; an unknown field is refused, with its line. "+
		"None of them holds a token or a secret: they say where one is.\n")
	for _, file := range configFiles {
		if err := file.write(&text, root); err != nil {
			return fmt.Errorf("%s: %w", file.source, err)
		}
	}
	return os.WriteFile(page, text.Bytes(), 0o644)
}

func (c configFile) write(out io.Writer, root string) error {
	fields, err := fieldsOf(filepath.Join(root, filepath.FromSlash(c.source)), c.typeName)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## %s: `%s FILE`\n\n%s\n", c.title, c.flag, c.about)
	if c.path != "" {
		fmt.Fprintf(out, "\nBelow `%s`:\n", c.path)
	}
	fmt.Fprint(out, "\n| field | value | what it is |\n| --- | --- | --- |\n")
	for _, field := range fields {
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", field.key, field.value, field.about)
	}
	return nil
}

type fieldDoc struct{ key, value, about string }

// fieldsOf are the fields of a struct that YAML fills.
func fieldsOf(source, typeName string) ([]fieldDoc, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found *ast.StructType
	ast.Inspect(parsed, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok && spec.Name.Name == typeName {
			found, _ = spec.Type.(*ast.StructType)
		}
		return found == nil
	})
	if found == nil {
		return nil, fmt.Errorf("there is no struct %s", typeName)
	}
	// Comments name fields as Go does, readers as YAML does.
	var names []string
	var fields []fieldDoc
	for _, field := range found.Fields.List {
		key := yamlKey(field)
		if key == "" {
			continue
		}
		names = append(names, field.Names[0].Name, "`"+key+"`")
	}
	inYAML := strings.NewReplacer(names...)
	for _, field := range found.Fields.List {
		key := yamlKey(field)
		if key == "" {
			continue
		}
		about := strings.TrimSpace(strings.ReplaceAll(field.Doc.Text(), "\n", " "))
		if about == "" {
			return nil, errors.New(typeName + "." + field.Names[0].Name + " has no comment")
		}
		value, ok := values[typeText(field.Type)]
		if !ok {
			// Such a field is there to be refused.
			continue
		}
		about = strings.ReplaceAll(inYAML.Replace(about), "|", "\\|")
		for _, beginning := range []string{"is ", "are ", ""} {
			if rest, ok := strings.CutPrefix(about, "`"+key+"` "+beginning); ok {
				about = rest
				break
			}
		}
		fields = append(fields, fieldDoc{key, value, about})
	}
	return fields, nil
}

func yamlKey(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	return reflect.StructTag(tag).Get("yaml")
}

// values says for people what Go's types take.
var values = map[string]string{
	"string": "text", "bool": "true or false", "[]string": "list of texts", "time.Time": "time (RFC 3339)",
	"map[string]string": "map", "map[string]map[string]string": "map of maps",
}

func typeText(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.MapType:
		return "map[" + typeText(e.Key) + "]" + typeText(e.Value)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	default:
		return ""
	}
}
