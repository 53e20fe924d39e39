package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/assay-dev/assay/core"
)

// suite is a file that describes the tests of a run. Its form is part of the public
// contract: docs/reference/schemas/suite.schema.json.
type suite struct {
	// Name is shown in reports.
	Name string `yaml:"name"`
	// Defaults count for each test that does not say otherwise.
	Defaults suiteDefaults `yaml:"defaults"`
	Tests    []suiteTest   `yaml:"tests"`
}

type suiteDefaults struct {
	Parameters    parameterSet   `yaml:"parameters"`
	Timeout       *suiteDuration `yaml:"timeout"`
	InputsTimeout *suiteDuration `yaml:"inputsTimeout"`
}

// suiteTest describes a test, or several: one for each version and parameter set.
type suiteTest struct {
	// Name tells the test apart; made of the template by default.
	Name     string `yaml:"name"`
	Template string `yaml:"template"`
	// Version and Versions exclude each other. Without them --version counts, and
	// without that the active version.
	Version  string   `yaml:"version"`
	Versions []string `yaml:"versions"`
	Preset   string   `yaml:"preset"`
	// Parameters win over those of the defaults, and a parameter set over both.
	Parameters    parameterSet            `yaml:"parameters"`
	ParameterSets map[string]parameterSet `yaml:"parameterSets"`
	Timeout       *suiteDuration          `yaml:"timeout"`
	InputsTimeout *suiteDuration          `yaml:"inputsTimeout"`
	// Expect is the class or the reason that the test must end with; Passed by default.
	Expect string `yaml:"expect"`
}

// parameterSet are parameters by name.
type parameterSet map[string]string

// UnmarshalYAML implements yaml.Unmarshaler. It takes a text, a number or a truth value as
// it is written. Errors show no value.
func (p *parameterSet) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: parameters must be names with values, such as {region: eu}", node.Line)
	}
	*p = parameterSet{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		switch _, twice := (*p)[name.Value]; {
		case twice:
			return fmt.Errorf("line %d: the parameter %q is named twice", name.Line, name.Value)
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			return fmt.Errorf("line %d: the value of the parameter %q must be a text, a number, true or false; "+
				"write a list as JSON in quotes, and nothing as \"\"", value.Line, name.Value)
		}
		(*p)[name.Value] = value.Value
	}
	return nil
}

// suiteDuration is a duration as flags take them.
type suiteDuration duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *suiteDuration) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a duration must be one text such as 15m", node.Line)
	}
	if err := (*duration)(d).Set(node.Value); err != nil {
		return fmt.Errorf("line %d: %q: a duration %w", node.Line, node.Value, err)
	}
	return nil
}

// maxNameBytes bounds the name of a test and of a parameter set: they stand in tables.
const maxNameBytes = 128

// maxSuiteBytes bounds a suite file.
const maxSuiteBytes = 1 << 20

// plansOfSuite reads the tests of a suite file. versions are for the tests that name none,
// the timeouts of the flags too. Every error is a usage error that names the file.
func plansOfSuite(path string, versions []string, flags specFlags) (name string, plans []plan, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", nil, usage("--suite: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSuiteBytes+1))
	switch {
	case err != nil:
		return "", nil, usage("--suite: %w", err)
	case len(content) > maxSuiteBytes:
		return "", nil, usage("--suite: %s is larger than 1 MiB: split it", path)
	}
	parsed, err := parseSuite(content)
	if err != nil {
		return "", nil, usage("--suite: %s: %w", path, err)
	}
	plans, lines := parsed.plans(versions, flags)
	if len(lines) > 0 {
		for i := range lines {
			lines[i] = path + ": " + lines[i]
		}
		return "", nil, usageLines(lines)
	}
	return parsed.Name, plans, checkPlans(plans)
}

// wrongKind is how the library tells of a value that does not fit.
var wrongKind = regexp.MustCompile("cannot unmarshal [^;]*")

// parseSuite reads one YAML document and refuses what is not known.
func parseSuite(content []byte) (suite, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var parsed suite
	if err := decoder.Decode(&parsed); err != nil {
		if errors.Is(err, io.EOF) {
			return suite{}, errors.New("is empty: it must list tests")
		}
		// The library names Go's types, which say nothing to the file's author.
		text := strings.NewReplacer("yaml: ", "", "unmarshal errors:\n  ", "", "\n  ", "; ", " not found in type cli.suiteTest", " is not known in a test",
			" not found in type cli.suiteDefaults", " is not known in defaults", " not found in type cli.suite", " is not known").Replace(err.Error())
		// It shows the beginning of a value, which can be anything.
		return suite{}, errors.New(wrongKind.ReplaceAllString(text, "a value is of the wrong kind"))
	}
	if err := decoder.Decode(new(suite)); !errors.Is(err, io.EOF) {
		return suite{}, errors.New("holds a second document: write one file for each suite")
	}
	if len(parsed.Tests) == 0 {
		return suite{}, errors.New("tests: must list at least one test")
	}
	return parsed, nil
}

// plans are the tests of the suite, or a line for each thing that is wrong with it.
func (s *suite) plans(versions []string, flags specFlags) (plans []plan, lines []string) {
	for i := range s.Tests {
		test := &s.Tests[i]
		where := fmt.Sprintf("tests[%d]", i)
		expected, err := expectation(firstOf(test.Expect, string(core.OutcomePassed)))
		if err != nil {
			lines = append(lines, where+": expect: "+err.Error())
		}
		wanted, err := test.versions(versions)
		if err != nil {
			lines = append(lines, where+": "+err.Error())
			continue
		}
		if strings.ContainsFunc(test.Name, unicode.IsControl) || len(test.Name) > maxNameBytes {
			lines = append(lines, fmt.Sprintf("%s: name: must be one line of at most %d bytes", where, maxNameBytes))
			continue
		}
		sets := slices.Sorted(maps.Keys(test.ParameterSets))
		if len(sets) == 0 {
			sets = []string{""}
		}
		if all := len(plans) + len(wanted)*len(sets); all > maxPlans {
			return nil, append(lines, tooMany(all).Error())
		}
		if slices.ContainsFunc(sets, func(set string) bool { return strings.ContainsFunc(set, unicode.IsControl) || len(set) > maxNameBytes }) {
			lines = append(lines, fmt.Sprintf("%s: parameterSets: a name must be one line of at most %d bytes", where, maxNameBytes))
			continue
		}
		for _, version := range wanted {
			for _, set := range sets {
				spec, problems := s.spec(test, version, set, flags)
				for _, problem := range problems {
					lines = append(lines, where+": "+problem)
				}
				plans = append(plans, plan{name: test.title(version, len(wanted) > 1, set), spec: spec, expected: expected})
			}
		}
	}
	return plans, lines
}

// versions are those that are to be tested.
func (t *suiteTest) versions(given []string) ([]string, error) {
	switch {
	case t.Version != "" && len(t.Versions) > 0:
		return nil, errors.New("version and versions: name either one version or several")
	case t.Version != "":
		return []string{t.Version}, nil
	case len(t.Versions) > 0:
		return t.Versions, nil
	case len(given) > 0:
		return given, nil
	default:
		return []string{"active"}, nil
	}
}

// title names one of the tests that are described together.
func (t *suiteTest) title(version string, several bool, set string) string {
	parts := []string{firstOf(t.Name, t.Template)}
	if several || t.Name == "" {
		parts = append(parts, version)
	}
	if set != "" {
		parts = append(parts, set)
	}
	return strings.Join(parts, " ")
}

func (s *suite) spec(test *suiteTest, version, set string, flags specFlags) (core.Spec, []string) {
	spec := core.Spec{Template: test.Template, Version: core.ParseVersion(version), Preset: test.Preset, ControlPlaneRef: pendingRef}
	values := parameterSet{}
	for _, from := range []parameterSet{s.Defaults.Parameters, test.Parameters, test.ParameterSets[set]} {
		maps.Copy(values, from)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		spec.Parameters = append(spec.Parameters, core.Parameter{Name: name, Value: values[name]})
	}
	var problems []string
	seconds := func(field string, flag time.Duration, chosen ...*suiteDuration) int {
		for _, d := range chosen {
			if d != nil {
				flag = time.Duration(*d)
			}
		}
		if flag%time.Second != 0 {
			problems = append(problems, fmt.Sprintf("%s: %v: must be whole seconds", field, flag))
		}
		return int(flag / time.Second)
	}
	spec.TimeoutSeconds = seconds("timeout", flags.timeout, s.Defaults.Timeout, test.Timeout)
	spec.InputsTimeoutSeconds = seconds("inputsTimeout", flags.inputsTimeout, s.Defaults.InputsTimeout, test.InputsTimeout)
	if len(problems) > 0 {
		return spec, problems
	}
	if err := spec.Validate(); err != nil {
		for _, one := range flatten(err) {
			problems = append(problems, suiteError(one, spec))
		}
	}
	return spec, problems
}

// suiteError names the file's fields instead of the spec's.
func suiteError(err error, spec core.Spec) string {
	var field *core.FieldError
	if !errors.As(err, &field) {
		return err.Error()
	}
	name, value := field.Field, field.Value
	switch {
	case strings.HasPrefix(name, "version"):
		name = "version"
	case strings.HasPrefix(name, "parameters["):
		var index int
		if _, err := fmt.Sscanf(name, "parameters[%d].", &index); err == nil && index < len(spec.Parameters) {
			// Its value stays unnamed.
			return fmt.Sprintf("parameters: %q: %s", spec.Parameters[index].Name, field.Rule)
		}
	case name == "timeoutSeconds":
		name, value = "timeout", spec.Timeout().String()
	case name == "inputsTimeoutSeconds":
		name, value = "inputsTimeout", spec.InputsTimeout().String()
	}
	rule := strings.NewReplacer("timeoutSeconds", "timeout", "unset for no bound", "0s for no bound").Replace(field.Rule)
	if value == "" {
		return fmt.Sprintf("%s: %s", name, rule)
	}
	return fmt.Sprintf("%s: %q: %s", name, value, rule)
}
