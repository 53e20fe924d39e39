package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

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
	flags.Var((*once)(&f.template), "template", "template as `ORGANIZATION.NAME`")
	flags.Var((*once)(&f.version), "version", "version of the template: its `NAME`, its ID, or \"active\"")
	f.registerRest(flags)
}

// registerRest registers the flags that do not name what is tested.
func (f *specFlags) registerRest(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.params, "param", nil, "parameter of the workspace as `NAME=VALUE`; may be repeated. Stored in plain text: no secrets")
	flags.StringVar(&f.preset, "preset", "", "`NAME` of a preset of the version; --param wins over it")
	f.timeout, f.inputsTimeout = core.DefaultTimeoutSeconds*time.Second, 30*time.Second
	flags.Var((*duration)(&f.timeout), "timeout", "bound of the run up to its verdict, 1m to 2h")
	flags.Var((*duration)(&f.inputsTimeout), "inputs-timeout", "bound of the waits before the workspace is created; 0 for none")
}

// once is the value of a flag that counts once and is not empty: an empty variable in its
// place is a mistake that must not mean the default.
type once string

var _ pflag.Value = (*once)(nil)

// String implements pflag.Value.
func (o *once) String() string { return string(*o) }

// Type implements pflag.Value.
func (*once) Type() string { return "string" }

// Set implements pflag.Value.
func (o *once) Set(value string) error {
	switch {
	case value == "":
		return errors.New("is empty: give a value or leave the flag out")
	case *o != "":
		return errors.New("may be given once")
	}
	*o = once(value)
	return nil
}

// duration is the value of a flag that takes a time.Duration. Unlike pflag's own, it
// tells those who do not know Go how to write one.
type duration time.Duration

var _ pflag.Value = (*duration)(nil)

// String implements pflag.Value.
func (d *duration) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (*duration) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *duration) Set(value string) error {
	parsed, err := time.ParseDuration(value)
	if err != nil {
		return errors.New("must be a number with a unit, such as 90s, 15m or 1h")
	}
	*d = duration(parsed)
	return nil
}

// spec is the description of the test, or a usage error that names every flag that
// breaks a rule.
func (f *specFlags) spec() (core.Spec, error) {
	var missing []string
	if f.template == "" {
		missing = append(missing, `--template is missing: name the template as ORGANIZATION.NAME, for example "--template coder.docker"`)
	}
	if f.version == "" {
		missing = append(missing, `--version is missing: give a version's name or ID, or "--version active"`)
	}
	if len(missing) > 0 {
		return core.Spec{}, usageLines(missing)
	}
	parameters, err := parseParameters(f.params)
	if err != nil {
		return core.Spec{}, err
	}
	spec := core.Spec{
		Template: f.template, Version: core.ParseVersion(f.version), Parameters: parameters, Preset: f.preset,
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
		if field.Field == "inputsTimeoutSeconds" && spec.InputsTimeoutSeconds >= 0 && spec.TimeoutSeconds < core.MinTimeoutSeconds {
			// It is measured by --timeout, which is what is wrong.
			continue
		}
		lines = append(lines, flagError(field, spec))
	}
	return usageLines(lines)
}

// usageLines is one usage error of several lines that each stand for themselves.
func usageLines(lines []string) error { return usage("%s", strings.Join(lines, "\nassay: ")) }

func flagError(field *core.FieldError, spec core.Spec) string {
	name, value := field.Field, field.Value
	switch {
	case strings.HasPrefix(name, "version"):
		name = "--version"
	case strings.HasPrefix(name, "parameters"):
		return parameterError(field, spec.Parameters)
	case name == "timeoutSeconds":
		name, value = "--timeout", spec.Timeout().String()
	case name == "inputsTimeoutSeconds":
		name, value = "--inputs-timeout", spec.InputsTimeout().String()
	default:
		name = "--" + name
	}
	rule := strings.NewReplacer("timeoutSeconds", "--timeout", "unset for no bound", "0 for no bound").Replace(field.Rule)
	if value == "" {
		return fmt.Sprintf("%s: %s", name, rule)
	}
	return fmt.Sprintf("%s: %q: %s", name, value, rule)
}

// parameterError tells which --param breaks a rule: by the name, or by the place where
// the name is what is wrong.
func parameterError(field *core.FieldError, parameters []core.Parameter) string {
	var index int
	var part string
	if _, err := fmt.Sscanf(field.Field, "parameters[%d].%s", &index, &part); err != nil || index >= len(parameters) {
		return fmt.Sprintf("--param: may be given %d times at most, is given %d times", core.MaxParameters, len(parameters))
	}
	name := parameters[index].Name
	switch {
	case part == "value":
		return fmt.Sprintf("--param: %q: its value %s", name, field.Rule)
	case field.Value == "":
		return fmt.Sprintf("--param: number %d of %d: its name %s", index+1, len(parameters), field.Rule)
	default:
		return fmt.Sprintf("--param: %q: %s", name, field.Rule)
	}
}

// flatten lists the errors that errors.Join joined.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
