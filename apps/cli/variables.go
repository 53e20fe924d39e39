package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/core"
)

// maxVariablesFile bounds the file of --variables-file, in bytes: the values travel with
// the archive.
const maxVariablesFile = 1 << 20

// values are the variables of both flags, in the order of their names; --variable wins.
func (f *pushFlags) values() ([]core.Variable, error) {
	values, err := readVariables(f.variablesFile)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, pair := range f.variables {
		name, value, found := strings.Cut(pair, "=")
		switch {
		case !found || name == "":
			return nil, usage("--variable: number %d of %d: must be NAME=VALUE, for example --variable image=debian", i+1, len(f.variables))
		case seen[name]:
			return nil, usage("--variable: %q is given twice", name)
		}
		seen[name], values[name] = true, value
	}
	variables := make([]core.Variable, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		variables = append(variables, core.Variable{Name: name, Value: core.NewSecret(values[name])})
	}
	return variables, nil
}

// yamlLine finds the place in an error of the YAML reader, which can repeat values.
var yamlLine = regexp.MustCompile(`line \d+`)

// readVariables reads a YAML file of names and values. Numbers and truth values count as
// they are written; lists and maps become what Terraform reads as its own.
func readVariables(path string) (map[string]string, error) {
	values := map[string]string{}
	if path == "" {
		return values, nil
	}
	content, err := readBounded(path, maxVariablesFile)
	if err != nil {
		return nil, usage("--variables-file: %w", err)
	}
	bad := func(what string) error {
		return usage("--variables-file: %s %s: write one \"NAME: VALUE\" a line, each name once", path, what)
	}
	var document yaml.Node
	var nodes map[string]yaml.Node
	err = yaml.Unmarshal(content, &document)
	if line := aliasIn(&document); line > 0 {
		// What an alias stands for can be many times as long as the file.
		return nil, bad(fmt.Sprintf("has a YAML alias in line %d, which is not taken", line))
	}
	if err := cmp.Or(err, document.Decode(&nodes)); err != nil {
		return nil, bad(strings.TrimSpace("holds no names with values " + yamlLine.FindString(err.Error())))
	}
	for name, node := range nodes {
		switch {
		case node.Tag == "!!null":
			return nil, bad(fmt.Sprintf("has no value for %q", name))
		case node.Kind == yaml.ScalarNode:
			values[name] = node.Value
		default:
			var value any
			if err := node.Decode(&value); err != nil {
				return nil, bad(fmt.Sprintf("has a value for %q that cannot be read", name))
			}
			encoded, err := json.Marshal(value)
			if err != nil {
				return nil, bad(fmt.Sprintf("has a value for %q that Terraform has no form for", name))
			}
			values[name] = literal(encoded)
		}
	}
	return values, nil
}

// readBounded reads a file, which may be a pipe.
func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, errors.New(path + " has more than 1 MiB: give the template large files in its folder")
	}
	return content, nil
}

// aliasIn finds the line of an alias, 0 for none.
func aliasIn(node *yaml.Node) int {
	if node.Kind == yaml.AliasNode {
		return node.Line
	}
	for _, inner := range node.Content {
		if line := aliasIn(inner); line > 0 {
			return line
		}
	}
	return 0
}

// literal is a list or a map in JSON as Terraform's own language has it, in which "${" and
// "%{" in a text begin something to compute, and two escapes of JSON do not exist.
func literal(encoded []byte) string { return terraformForm.Replace(string(encoded)) }

var (
	// The pair of backslashes comes first, so that none of them begins another escape.
	terraformForm = strings.NewReplacer(`\\`, `\\`, `\b`, `\u0008`, `\f`, `\u000c`, "${", "$${", "%{", "%%{")
	plainText     = strings.NewReplacer("$${", "${", "%%{", "%{")
)

// secretsOfVariables lists what must not be shown of variables.
func secretsOfVariables(variables []core.Variable) []string {
	secrets := make([]string, 0, len(variables))
	for _, variable := range variables {
		secrets = append(secrets, variable.Value.Reveal())
		decoder := json.NewDecoder(strings.NewReader(variable.Value.Reveal()))
		decoder.UseNumber()
		var within any
		if decoder.Decode(&within) == nil && !decoder.More() {
			secrets = append(secrets, secretsWithin(within)...)
		}
	}
	return secrets
}

// secretsWithin are the texts, numbers and keys in a list or a map, each as it is written
// and as Terraform shows it.
func secretsWithin(value any) []string {
	var found []string
	text := func(written, shown string) {
		if found = append(found, written); shown != written {
			found = append(found, shown)
		}
	}
	switch value := value.(type) {
	case string:
		text(value, plainText.Replace(value))
	case json.Number:
		shown := value.String()
		if number, err := value.Float64(); err == nil && strings.ContainsAny(shown, ".eE") {
			shown = strconv.FormatFloat(number, 'f', -1, 64)
		}
		text(value.String(), shown)
	case []any:
		for _, element := range value {
			found = append(found, secretsWithin(element)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = append(append(found, secretsWithin(key)...), secretsWithin(value[key])...)
		}
	}
	return found
}
