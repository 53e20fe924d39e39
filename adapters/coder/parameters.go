package coder

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// The codes that Coder gives to diagnostics of an evaluation.
const (
	codeRequired      = "required"
	codeOwnerNotFound = "owner_not_found"
)

// CheckParameters implements ports.InputChecker with one request, two with a preset.
func (r *Runner) CheckParameters(ctx context.Context, query core.ParameterQuery) (core.ParameterReport, error) {
	report, known, err := r.preset(ctx, query)
	if err != nil || !known {
		return report, err
	}
	given := make(map[string]string, len(query.Parameters)+len(report.PresetValues))
	for _, values := range [][]core.Parameter{report.PresetValues, query.Parameters} {
		for _, parameter := range values {
			given[parameter.Name] = parameter.Value
		}
	}
	var verdicts []verdict
	if query.Classic {
		verdicts, err = r.classicVerdicts(ctx, query.VersionID, given)
	} else {
		verdicts, err = r.dynamicVerdicts(ctx, query.VersionID, query.OwnerID, given)
	}
	if err != nil {
		return core.ParameterReport{}, err
	}
	report.Problems = problems(query.Parameters, verdicts)
	return report, nil
}

// preset finds the preset asked for. It reports false, with the problem, when the
// version has none of the name.
func (r *Runner) preset(ctx context.Context, query core.ParameterQuery) (core.ParameterReport, bool, error) {
	var report core.ParameterReport
	if query.Preset == "" {
		return report, true, nil
	}
	var presets []codersdk.Preset
	path := "/templateversions/" + query.VersionID.String() + "/presets"
	if _, err := r.get(ctx, "read presets", path, nil, &presets); err != nil {
		return report, false, err
	}
	i := slices.IndexFunc(presets, func(p codersdk.Preset) bool { return p.Name == query.Preset })
	if i < 0 {
		report.Problems = []core.ParameterProblem{{Name: query.Preset, Kind: core.PresetUnknown}}
		return report, false, nil
	}
	report.PresetID = presets[i].ID
	for _, parameter := range presets[i].Parameters {
		value := core.Parameter{Name: parameter.Name, Value: parameter.Value}
		report.PresetValues = append(report.PresetValues, value)
		overridden := func(p core.Parameter) bool { return p.Name == value.Name && p.Value != value.Value }
		if slices.ContainsFunc(query.Parameters, overridden) {
			// Coder lets a preset win over parameters: its ID must not be sent.
			report.PresetID = uuid.Nil
		}
	}
	return report, true, nil
}

// verdict is what Coder thinks of one parameter of the version; Kind is empty when
// nothing is wrong with it.
type verdict struct {
	name string
	kind core.ParameterProblemKind
}

// problems lists those of the parameters asked for, in their order, then those of
// the version's other parameters.
func problems(asked []core.Parameter, verdicts []verdict) []core.ParameterProblem {
	var found []core.ParameterProblem
	add := func(name string, kind core.ParameterProblemKind) {
		if kind != "" {
			found = append(found, core.ParameterProblem{Name: name, Kind: kind})
		}
	}
	for _, parameter := range asked {
		i := slices.IndexFunc(verdicts, func(v verdict) bool { return v.name == parameter.Name })
		if i < 0 {
			add(parameter.Name, core.ParameterUnknown)
			continue
		}
		add(parameter.Name, verdicts[i].kind)
	}
	for _, v := range verdicts {
		if !slices.ContainsFunc(asked, func(p core.Parameter) bool { return p.Name == v.name }) {
			add(v.name, v.kind)
		}
	}
	return found
}

// classicVerdicts applies the version's static rules with the function that Coder's
// server and CLI use.
func (r *Runner) classicVerdicts(ctx context.Context, version uuid.UUID, given map[string]string) ([]verdict, error) {
	var defined []codersdk.TemplateVersionParameter
	path := "/templateversions/" + version.String() + "/rich-parameters"
	if _, err := r.get(ctx, "read parameters", path, nil, &defined); err != nil {
		return nil, err
	}
	verdicts := make([]verdict, 0, len(defined))
	for _, parameter := range defined {
		v := verdict{name: parameter.Name}
		var value *codersdk.WorkspaceBuildParameter
		if text, ok := given[parameter.Name]; ok {
			value = &codersdk.WorkspaceBuildParameter{Name: parameter.Name, Value: text}
		}
		var resolver codersdk.ParameterResolver
		if parameter.Required && (value == nil || value.Value == "") {
			v.kind = core.ParameterMissing
		} else if _, err := resolver.ValidateResolve(parameter, value); err != nil {
			// The error repeats the value.
			v.kind = core.ParameterRefused
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// dynamicVerdicts has Coder evaluate the version for the owner and the values.
//
// Diagnostics of the evaluation as a whole name no parameter and are left out: the
// create request meets the same ones and is refused for them.
func (r *Runner) dynamicVerdicts(ctx context.Context, version, owner uuid.UUID, given map[string]string) ([]verdict, error) {
	const op = "evaluate parameters"
	var evaluated codersdk.DynamicParametersResponse
	path := "/templateversions/" + version.String() + "/dynamic-parameters/evaluate"
	if err := r.ask(ctx, op, path, codersdk.DynamicParametersRequest{Inputs: given, OwnerID: owner}, &evaluated); err != nil {
		return nil, err
	}
	for _, diagnostic := range evaluated.Diagnostics {
		if diagnostic.Extra.Code == codeOwnerNotFound {
			return nil, &core.Failure{Class: core.FailureNotFound, Op: op, Message: "coder cannot read the owner for this caller"}
		}
	}
	verdicts := make([]verdict, 0, len(evaluated.Parameters))
	for _, parameter := range evaluated.Parameters {
		v := verdict{name: parameter.Name}
		for _, diagnostic := range parameter.Diagnostics {
			switch {
			case diagnostic.Severity != codersdk.DiagnosticSeverityError:
			case diagnostic.Extra.Code == codeRequired && given[parameter.Name] == "":
				v.kind = core.ParameterMissing
			case v.kind == "":
				v.kind = core.ParameterRefused
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}
