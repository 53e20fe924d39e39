package porttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// unlikely is a value that must turn up in no answer.
const unlikely = "zq9unlikelyvalue"

// parameterCases hold for the classic and the dynamic flow alike.
var parameterCases = []struct {
	why        string
	parameters []core.Parameter
	preset     string
	want       []core.ParameterProblem
}{
	{why: "the required one is given, defaults fill in the rest", parameters: []core.Parameter{{Name: ParameterRegion, Value: RegionEU}}},
	{why: "all are given", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionUS}, {Name: ParameterCPUs, Value: "8"}, {Name: ParameterDebug, Value: "true"},
	}},
	{why: "the required one is missing", want: []core.ParameterProblem{{Name: ParameterRegion, Kind: core.ParameterMissing}}},
	{why: "a name that the version does not define", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionEU}, {Name: "regoin", Value: unlikely},
	}, want: []core.ParameterProblem{{Name: "regoin", Kind: core.ParameterUnknown}}},
	{why: "names are compared as written", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionEU}, {Name: "CPUS", Value: "1"},
	}, want: []core.ParameterProblem{{Name: "CPUS", Kind: core.ParameterUnknown}}},
	{
		why: "a value that is no option", parameters: []core.Parameter{{Name: ParameterRegion, Value: unlikely}},
		want: []core.ParameterProblem{{Name: ParameterRegion, Kind: core.ParameterRefused}},
	},
	{why: "a number beyond its maximum", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionEU}, {Name: ParameterCPUs, Value: "9"},
	}, want: []core.ParameterProblem{{Name: ParameterCPUs, Kind: core.ParameterRefused}}},
	{why: "text for a number", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionEU}, {Name: ParameterCPUs, Value: unlikely},
	}, want: []core.ParameterProblem{{Name: ParameterCPUs, Kind: core.ParameterRefused}}},
	{why: "text for a bool", parameters: []core.Parameter{
		{Name: ParameterRegion, Value: RegionEU}, {Name: ParameterDebug, Value: unlikely},
	}, want: []core.ParameterProblem{{Name: ParameterDebug, Kind: core.ParameterRefused}}},
	{why: "several: those asked for come first, in their order", parameters: []core.Parameter{
		{Name: "unknown-b", Value: unlikely}, {Name: ParameterCPUs, Value: "0"}, {Name: "unknown-a", Value: unlikely},
	}, want: []core.ParameterProblem{
		{Name: "unknown-b", Kind: core.ParameterUnknown},
		{Name: ParameterCPUs, Kind: core.ParameterRefused},
		{Name: "unknown-a", Kind: core.ParameterUnknown},
		{Name: ParameterRegion, Kind: core.ParameterMissing},
	}},
	{why: "the preset gives the required one", preset: PresetSmall},
	{
		why: "what is given wins over the preset", preset: PresetSmall, parameters: []core.Parameter{{Name: ParameterCPUs, Value: "9"}},
		want: []core.ParameterProblem{{Name: ParameterCPUs, Kind: core.ParameterRefused}},
	},
	{
		why: "a preset that the version does not have", preset: "tiny", parameters: []core.Parameter{{Name: ParameterRegion, Value: RegionEU}},
		want: []core.ParameterProblem{{Name: "tiny", Kind: core.PresetUnknown}},
	},
}

func parametersClassic(t *testing.T, s stage) { s.checkParameters(t, ClassicParameters, true) }
func parametersDynamic(t *testing.T, s stage) { s.checkParameters(t, DynamicParameters, false) }

func (s stage) checkParameters(t *testing.T, kind TemplateKind, classic bool) {
	subject, owner := s.Template(t, kind), s.member(t).User
	template, err := s.admin.Runner.Template(t.Context(), subject.OrganizationID, subject.TemplateName)
	fine(t, "find template", err)
	equal(t, "classic flow", template.ClassicParameters, classic)
	for _, c := range parameterCases {
		report, err := s.admin.Runner.CheckParameters(t.Context(), core.ParameterQuery{
			VersionID: subject.VersionID, OwnerID: owner.ID, Classic: classic, Parameters: c.parameters, Preset: c.preset,
		})
		if err != nil {
			t.Errorf("%s: check parameters: %v", c.why, err)
			continue
		}
		if !slices.Equal(report.Problems, c.want) {
			t.Errorf("%s: problems %v, want %v", c.why, report.Problems, c.want)
		}
		if strings.Contains(fmt.Sprint(report.Problems), unlikely) {
			t.Errorf("%s: the problems repeat a value: %v", c.why, report.Problems)
		}
	}
	_, err = s.admin.Runner.CheckParameters(t.Context(), core.ParameterQuery{
		VersionID: uuid.New(), OwnerID: owner.ID, Classic: classic,
	})
	refused(t, "check parameters of a missing version", err, core.FailureNotFound)
}

func parametersNone(t *testing.T, s stage) {
	subject, owner := s.Template(t, NoAgents), s.member(t).User
	for _, classic := range []bool{true, false} {
		query := core.ParameterQuery{VersionID: subject.VersionID, OwnerID: owner.ID, Classic: classic}
		report, err := s.admin.Runner.CheckParameters(t.Context(), query)
		fine(t, "check no parameters", err)
		equal(t, "number of problems", len(report.Problems), 0)
		query.Parameters = []core.Parameter{{Name: ParameterRegion, Value: RegionEU}}
		report, err = s.admin.Runner.CheckParameters(t.Context(), query)
		fine(t, "check an unknown parameter", err)
		if want := []core.ParameterProblem{{Name: ParameterRegion, Kind: core.ParameterUnknown}}; !slices.Equal(report.Problems, want) {
			t.Errorf("problems %v, want %v", report.Problems, want)
		}
	}
}

func presetFillsIn(t *testing.T, s stage) {
	subject, owner := s.Template(t, DynamicParameters), s.member(t)
	report, err := owner.Runner.CheckParameters(t.Context(), core.ParameterQuery{
		VersionID: subject.VersionID, OwnerID: owner.User.ID, Preset: PresetSmall,
	})
	fine(t, "check parameters", err)
	if report.PresetID == uuid.Nil {
		t.Error("the report lacks the preset's ID")
	}
	values := slices.Clone(report.PresetValues)
	slices.SortFunc(values, func(a, b core.Parameter) int { return strings.Compare(a.Name, b.Name) })
	if want := []core.Parameter{{Name: ParameterCPUs, Value: "1"}, {Name: ParameterRegion, Value: RegionEU}}; !slices.Equal(values, want) {
		t.Errorf("preset values %v, want %v", values, want)
	}
}

func presetOverridden(t *testing.T, s stage) {
	subject, owner := s.Template(t, DynamicParameters), s.member(t).User
	for _, c := range []struct {
		why   string
		value string
		kept  bool
	}{
		{"another value than the preset's", "2", false},
		{"the preset's own value", "1", true},
	} {
		report, err := s.admin.Runner.CheckParameters(t.Context(), core.ParameterQuery{
			VersionID: subject.VersionID, OwnerID: owner.ID, Preset: PresetSmall,
			Parameters: []core.Parameter{{Name: ParameterCPUs, Value: c.value}},
		})
		fine(t, "check parameters", err)
		equal(t, c.why+": the preset's ID is reported", report.PresetID != uuid.Nil, c.kept)
		equal(t, c.why+": number of preset values", len(report.PresetValues), 2)
		equal(t, c.why+": number of problems", len(report.Problems), 0)
	}
}

func externalAuthRequired(t *testing.T, s stage) {
	subject, owner := s.Template(t, NeedsExternalAuth), s.member(t)
	for _, by := range []Account{s.admin, owner} {
		auths, err := by.Runner.ExternalAuth(t.Context(), subject.VersionID, owner.User.ID)
		fine(t, "read external authentications", err)
		if want := []core.ExternalAuth{{ID: ExternalAuthID}}; !slices.Equal(auths, want) {
			t.Errorf("external authentications %+v, want %+v", auths, want)
		}
	}
}

func externalAuthNone(t *testing.T, s stage) {
	subject, owner := s.Template(t, NoAgents), s.member(t)
	auths, err := s.admin.Runner.ExternalAuth(t.Context(), subject.VersionID, owner.User.ID)
	fine(t, "read external authentications", err)
	equal(t, "number of external authentications", len(auths), 0)
	_, err = s.admin.Runner.ExternalAuth(t.Context(), uuid.New(), owner.User.ID)
	refused(t, "read those of a missing version", err, core.FailureNotFound)
}
