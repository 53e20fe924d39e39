package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/assay-dev/assay/core"
)

// specFlags describe the test.
type specFlags struct {
	template, version, preset string
	params                    []string
	timeout, inputsTimeout    time.Duration
}

func (f *specFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.template, "template", "", "template as `ORGANIZATION.NAME`")
	flags.StringVar(&f.version, "version", "", "version of the template: its `NAME`, its ID, or \"active\"")
	flags.StringArrayVar(&f.params, "param", nil, "parameter of the workspace as `NAME=VALUE`; may be repeated. Stored in plain text: no secrets")
	flags.StringVar(&f.preset, "preset", "", "`NAME` of a preset of the version; --param wins over it")
	flags.DurationVar(&f.timeout, "timeout", core.DefaultTimeoutSeconds*time.Second, "bound of the run up to its verdict, 1m to 2h")
	flags.DurationVar(&f.inputsTimeout, "inputs-timeout", 30*time.Second, "bound of the waits before the workspace is created; 0 for none")
}

// spec is the description of the test, or a usage error that names every flag that
// breaks a rule.
func (f *specFlags) spec() (core.Spec, error) {
	switch {
	case f.template == "":
		return core.Spec{}, usage(`--template is missing: name the template as ORGANIZATION.NAME, for example "--template coder.docker"`)
	case f.version == "":
		return core.Spec{}, usage(`--version is missing: give a version's name or ID, or "--version active"`)
	}
	parameters, err := parseParameters(f.params)
	if err != nil {
		return core.Spec{}, err
	}
	spec := core.Spec{
		Template: f.template, Version: parseVersion(f.version), Parameters: parameters, Preset: f.preset,
		ControlPlaneRef: pendingRef,
	}
	if spec.TimeoutSeconds, err = wholeSeconds("--timeout", f.timeout); err != nil {
		return core.Spec{}, err
	}
	if spec.InputsTimeoutSeconds, err = wholeSeconds("--inputs-timeout", f.inputsTimeout); err != nil {
		return core.Spec{}, err
	}
	if err := spec.Validate(); err != nil {
		return core.Spec{}, specError(err, spec)
	}
	return spec, nil
}

// parseVersion reads --version. A version that is itself named "active", or like a
// UUID, can be given by its ID only.
func parseVersion(version string) core.VersionSelector {
	if version == "active" {
		return core.VersionSelector{Active: true}
	}
	if id, err := uuid.Parse(version); err == nil {
		return core.VersionSelector{ID: id.String()}
	}
	return core.VersionSelector{Name: version}
}

// parseParameters reads NAME=VALUE pairs. Its errors show no value.
func parseParameters(pairs []string) ([]core.Parameter, error) {
	var parameters []core.Parameter
	for i, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, usage("--param: number %d of %d: must be NAME=VALUE, for example --param region=eu", i+1, len(pairs))
		}
		parameters = append(parameters, core.Parameter{Name: name, Value: value})
	}
	return parameters, nil
}

func wholeSeconds(flag string, d time.Duration) (int, error) {
	if d%time.Second != 0 {
		return 0, usage("%s: %v: must be whole seconds", flag, d)
	}
	return int(d / time.Second), nil
}

// specError names the flags instead of the spec's fields.
func specError(err error, spec core.Spec) error {
	var lines []string
	for _, one := range flatten(err) {
		var field *core.FieldError
		if !errors.As(one, &field) {
			lines = append(lines, one.Error())
			continue
		}
		lines = append(lines, flagError(field, spec))
	}
	return usage("%s", strings.Join(lines, "\nassay: "))
}

func flagError(field *core.FieldError, spec core.Spec) string {
	name, value := field.Field, field.Value
	base, rest, _ := strings.Cut(name, "[")
	switch {
	case strings.HasPrefix(name, "version"):
		name = "--version"
	case base == "parameters":
		name = "--param"
		var index int
		if _, err := fmt.Sscanf(rest, "%d]", &index); err == nil && index < len(spec.Parameters) {
			value = spec.Parameters[index].Name
		}
	case name == "timeoutSeconds":
		name, value = "--timeout", spec.Timeout().String()
	case name == "inputsTimeoutSeconds":
		name, value = "--inputs-timeout", spec.InputsTimeout().String()
	default:
		name = "--" + name
	}
	rule := strings.ReplaceAll(field.Rule, "timeoutSeconds", "--timeout")
	if value == "" {
		return fmt.Sprintf("%s: %s", name, rule)
	}
	return fmt.Sprintf("%s: %q: %s", name, value, rule)
}

// flatten lists the errors that errors.Join joined.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
