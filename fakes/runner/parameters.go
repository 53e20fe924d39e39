package runner

import (
	"context"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/world"
)

// CheckParameters implements ports.InputChecker.
func (r *Runner) CheckParameters(ctx context.Context, query core.ParameterQuery) (core.ParameterReport, error) {
	to := "/dynamic-parameters/evaluate"
	if query.Classic {
		to = "/rich-parameters"
	}
	c, err := r.read(ctx, "check parameters", path{"/templateversions/", query.VersionID, to})
	if err != nil {
		return core.ParameterReport{}, err
	}
	report, values, err := c.presetValues(query)
	if err != nil {
		return core.ParameterReport{}, c.failure(err)
	}
	for _, p := range query.Parameters {
		values[p.Name] = p.Value
	}
	judged, err := c.judge(query, values)
	if err != nil {
		return core.ParameterReport{}, c.failure(err)
	}
	report.Problems = append(report.Problems, problems(query.Parameters, judged)...)
	return report, nil
}

// judge asks for the version's parameters with what its rules say about the values.
func (c call) judge(query core.ParameterQuery, values map[string]string) ([]world.EvaluatedParameter, error) {
	if !query.Classic {
		return c.world.EvaluateParameters(c.actor, query.VersionID, query.OwnerID, values)
	}
	specs, err := c.world.Parameters(c.actor, query.VersionID)
	if err != nil {
		return nil, err
	}
	judged := make([]world.EvaluatedParameter, 0, len(specs))
	for _, spec := range specs {
		value, given := values[spec.Name]
		judged = append(judged, world.EvaluatedParameter{Spec: spec, Value: value, Problem: spec.Judge(value, given, true)})
	}
	return judged, nil
}

// problems lists what is wrong in the order of the parameters asked for, then of the
// version's.
func problems(asked []core.Parameter, judged []world.EvaluatedParameter) []core.ParameterProblem {
	var found []core.ParameterProblem
	report := func(name string, problem *world.ParameterProblem) {
		kind := core.ParameterRefused
		if problem.Missing {
			kind = core.ParameterMissing
		}
		found = append(found, core.ParameterProblem{Name: name, Kind: kind})
	}
	byName := make(map[string]*world.ParameterProblem, len(judged))
	for _, j := range judged {
		byName[j.Spec.Name] = j.Problem
	}
	for _, p := range asked {
		problem, defined := byName[p.Name]
		switch {
		case !defined:
			found = append(found, core.ParameterProblem{Name: p.Name, Kind: core.ParameterUnknown})
		case problem != nil:
			report(p.Name, problem)
			byName[p.Name] = nil
		}
	}
	for _, j := range judged {
		if byName[j.Spec.Name] != nil {
			report(j.Spec.Name, j.Problem)
		}
	}
	return found
}

// presetValues finds the preset asked for and starts the values with its own.
func (c call) presetValues(query core.ParameterQuery) (core.ParameterReport, map[string]string, error) {
	var report core.ParameterReport
	values := map[string]string{}
	if query.Preset == "" {
		return report, values, nil
	}
	presets, err := c.world.Presets(c.actor, query.VersionID)
	if err != nil {
		return report, nil, err
	}
	for _, preset := range presets {
		if preset.Name != query.Preset {
			continue
		}
		if !overridden(preset, query.Parameters) {
			report.PresetID = preset.ID
		}
		for _, value := range preset.Sorted() {
			values[value.Name] = value.Value
			report.PresetValues = append(report.PresetValues, core.Parameter{Name: value.Name, Value: value.Value})
		}
		return report, values, nil
	}
	report.Problems = []core.ParameterProblem{{Name: query.Preset, Kind: core.PresetUnknown}}
	return report, values, nil
}

// overridden tells whether a parameter asked for has another value than in the preset.
func overridden(preset world.Preset, asked []core.Parameter) bool {
	for _, value := range preset.Sorted() {
		for _, p := range asked {
			if p.Name == value.Name && p.Value != value.Value {
				return true
			}
		}
	}
	return false
}
