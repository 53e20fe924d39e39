package cli

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/core"
)

const (
	suiteSchemaFile = "../../docs/reference/schemas/suite.schema.json"
	suiteDocument   = "../../docs/how-to/run-many-tests.md"
)

func suiteSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(suiteSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// agrees fails unless the schema takes the suite if and only if it should.
func agrees(t *testing.T, schema *jsonschema.Schema, content string, good bool, why string) {
	t.Helper()
	var document any
	if err := yaml.Unmarshal([]byte(content), &document); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); (err == nil) != good {
		t.Errorf("%s: the schema says %v about\n%s", why, err, content)
	}
}

// planned reads a suite as assay run does.
func planned(t *testing.T, content string) ([]plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := specFlags{timeout: core.DefaultTimeoutSeconds * time.Second, inputsTimeout: 30 * time.Second}
	_, plans, err := plansOfSuite(path, nil, flags)
	return plans, err
}

// TestSchemaAgrees gives suites to both, the schema and the reader.
func TestSchemaAgrees(t *testing.T) {
	schema := suiteSchema(t)
	for _, row := range []struct {
		why, suite string
		good       bool
	}{
		{"the least", "tests: [{template: coder.docker}]", true},
		{"numbers and truth values are parameters too", "tests: [{template: coder.docker, parameters: {cpu: 2, gpu: true, name: x}}]", true},
		{"several versions", "tests: [{template: coder.docker, versions: [active, v1]}]", true},
		{"a time in several units", "tests: [{template: coder.docker, timeout: 1h30m}]", true},
		{"nothing to test", "tests: []", false},
		{"an unknown field", "tests: [{template: coder.docker, parametres: {}}]", false},
		{"an unknown default", "defaults: {template: coder.docker}\ntests: [{template: coder.docker}]", false},
		{"one version and several", "tests: [{template: coder.docker, version: v1, versions: [v2]}]", false},
		{"no organization", "tests: [{template: docker}]", false},
		{"a version that can be none", "tests: [{template: coder.docker, version: a b}]", false},
		{"a wait is no verdict", "tests: [{template: coder.docker, expect: WaitingForBuild}]", false},
		{"a time without a unit", "tests: [{template: coder.docker, timeout: \"90\"}]", false},
		{"a list as a parameter", "tests: [{template: coder.docker, parameters: {a: [b]}}]", false},
	} {
		agrees(t, schema, row.suite, row.good, row.why)
		if _, err := planned(t, row.suite); (err == nil) != row.good {
			t.Errorf("%s: assay says %v about\n%s", row.why, err, row.suite)
		}
	}
}

// TestSuiteOfTheDocument reads the example that the how-to shows.
func TestSuiteOfTheDocument(t *testing.T) {
	content, err := os.ReadFile(suiteDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the document shows no suite")
	}
	agrees(t, suiteSchema(t), example, true, "it is an example")
	plans, err := planned(t, example)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range plans {
		names = append(names, p.name)
	}
	want := []string{
		"coder.docker active", "docker v1.4.0 eu", "docker v1.4.0 us", "docker v1.5.0-rc.1 eu", "docker v1.5.0-rc.1 us",
		"a missing image is refused",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	parameters := []core.Parameter{{Name: "cpu", Value: "4"}, {Name: "region", Value: "us"}}
	if diff := cmp.Diff(parameters, plans[2].spec.Parameters); diff != "" {
		t.Errorf("the set does not win over the defaults: %s", diff)
	}
}

// TestSchemaHasEveryField holds the schema against the fields that are read.
func TestSchemaHasEveryField(t *testing.T) {
	content, err := os.ReadFile(suiteSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Properties map[string]object
		Enum       []string
	}
	var schema struct {
		object `yaml:",inline"`
		Defs   map[string]object `yaml:"$defs"`
	}
	// JSON is YAML.
	if err := yaml.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		described object
		read      any
	}{
		{schema.object, suite{}},
		{schema.Properties["defaults"], suiteDefaults{}},
		{schema.Defs["test"], suiteTest{}},
	} {
		var fields []string
		for field := range reflect.TypeOf(row.read).Fields() {
			fields = append(fields, field.Tag.Get("yaml"))
		}
		slices.Sort(fields)
		if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(row.described.Properties))); diff != "" {
			t.Errorf("%T: %s", row.read, diff)
		}
	}
	verdicts := []string{string(core.OutcomePassed), string(core.OutcomeTemplateFailed), string(core.OutcomeInconclusive)}
	for _, reason := range core.FailureReasons {
		verdicts = append(verdicts, string(reason))
	}
	if diff := cmp.Diff(verdicts, schema.Defs["test"].Properties["expect"].Enum); diff != "" {
		t.Error(diff)
	}
}
