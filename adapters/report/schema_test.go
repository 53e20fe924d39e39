package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assay-dev/assay/adapters/report"
)

const schemas = "../../docs/reference/schemas/"

// published loads schemas by their published address from this repository.
type published struct{}

func (published) Load(address string) (any, error) {
	file, err := os.Open(schemas + path.Base(address))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return jsonschema.UnmarshalJSON(file)
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(published{})
	compiler.AssertFormat()
	schema, err := compiler.Compile("https://assay.dev/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestDocumentsAreAsTheirSchemasSay(t *testing.T) {
	run, test := compile(t, "run.schema.json"), compile(t, "test.schema.json")
	for _, name := range []string{"mixed", "passed"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		check(t, run, text, name+".json")
		lines, err := os.ReadFile("testdata/" + name + ".ndjson")
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(lines) {
			check(t, test, line, name+".ndjson")
		}
	}
}

func check(t *testing.T, schema *jsonschema.Schema, text []byte, name string) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// TestSchemasRefuse shows that the schemas say something.
func TestSchemasRefuse(t *testing.T) {
	run := compile(t, "run.schema.json")
	for _, row := range []struct {
		why    string
		change func(run map[string]any, test map[string]any)
	}{
		{"a field is missing", func(run, _ map[string]any) { delete(run, "exitCode") }},
		{"a test's field is missing", func(_, test map[string]any) { delete(test, "workspace") }},
		{"an ID is none", func(_, test map[string]any) { test["id"] = "1" }},
		{"a time is none", func(run, _ map[string]any) { run["endedAt"] = "soon" }},
		{"there is no such verdict", func(_, test map[string]any) { test["verdict"] = "FINE" }},
		{"a code is text", func(_, test map[string]any) { test["exitCode"] = "0" }},
	} {
		text, err := os.ReadFile("testdata/passed.json")
		if err != nil {
			t.Fatal(err)
		}
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		row.change(document, document["tests"].([]any)[0].(map[string]any))
		if run.Validate(document) == nil {
			t.Errorf("%s: the schema takes it", row.why)
		}
	}
}

// property is what a schema says of one field.
type property struct {
	Description string              `json:"description"`
	Properties  map[string]property `json:"properties"`
	Items       *property           `json:"items"`
	Required    []string            `json:"required"`
	Ref         string              `json:"$ref"`
}

// TestSchemasHaveEveryField: the fields of the types, each with a description, and no
// others; those that are always there are required.
func TestSchemasHaveEveryField(t *testing.T) {
	for name, of := range map[string]reflect.Type{
		"run.schema.json": reflect.TypeFor[report.Run](), "test.schema.json": reflect.TypeFor[report.Test](),
	} {
		text, err := os.ReadFile(schemas + name)
		if err != nil {
			t.Fatal(err)
		}
		var schema property
		decoder := json.NewDecoder(bytes.NewReader(text))
		if err := decoder.Decode(&schema); err != nil {
			t.Fatal(err)
		}
		compareFields(t, name, of, schema)
	}
}

func compareFields(t *testing.T, at string, of reflect.Type, schema property) {
	t.Helper()
	var fields, required []string
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fields = append(fields, name)
		if options == "" {
			required = append(required, name)
		}
		p := schema.Properties[name]
		if p.Description == "" {
			t.Errorf("%s: %s has no description", at, name)
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice && p.Items != nil {
			inner, p = inner.Elem(), *p.Items
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() && inner != reflect.TypeFor[uuid.UUID]() && p.Ref == "" {
			compareFields(t, at+" "+name, inner, p)
		}
	}
	var described []string
	for name := range schema.Properties {
		described = append(described, name)
	}
	for _, names := range [][]string{fields, required, described, schema.Required} {
		slices.Sort(names)
	}
	if diff := cmp.Diff(fields, described); diff != "" {
		t.Errorf("%s: other fields than the type has (-type +schema):\n%s", at, diff)
	}
	if diff := cmp.Diff(required, schema.Required); diff != "" {
		t.Errorf("%s: other fields are required than are always there (-type +schema):\n%s", at, diff)
	}
}
