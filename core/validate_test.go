package core_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
)

const versionUUID = "3f2a7c1e-0000-4000-8000-000000000001"

// validSpec is a spec that keeps every rule of lifecycle section 2.
func validSpec() core.Spec {
	return core.Spec{
		Template: "acme.docker", Version: core.VersionSelector{Active: true},
		TimeoutSeconds: 900, ControlPlaneRef: "main",
	}
}

// parameters makes n parameters of different names.
func parameters(n int) []core.Parameter {
	all := make([]core.Parameter, n)
	for i := range all {
		all[i] = core.Parameter{Name: "p" + strconv.Itoa(i), Value: "v"}
	}
	return all
}

func TestValidate(t *testing.T) {
	long := strings.Repeat
	ttl := func(seconds int) *int { return &seconds }
	for _, row := range []struct {
		why  string
		edit func(*core.Spec)
		// fields are those that break a rule, in order; none for a valid spec.
		fields []string
	}{
		{why: "the plain spec is valid", edit: func(*core.Spec) {}},

		{why: "a template is two names", edit: func(s *core.Spec) { s.Template = "acme" }, fields: []string{"template"}},
		{why: "and not three", edit: func(s *core.Spec) { s.Template = "acme.docker.x" }, fields: []string{"template"}},
		{why: "an organization has a name", edit: func(s *core.Spec) { s.Template = ".docker" }, fields: []string{"template"}},
		{why: "a template has a name", edit: func(s *core.Spec) { s.Template = "acme." }, fields: []string{"template"}},
		{why: "one character is a name", edit: func(s *core.Spec) { s.Template = "a.b" }},
		{why: "32 characters are a name", edit: func(s *core.Spec) { s.Template = long("a", 32) + "." + long("b", 32) }},
		{why: "33 are too many for an organization", edit: func(s *core.Spec) { s.Template = long("a", 33) + ".b" }, fields: []string{"template"}},
		{why: "33 are too many for a template", edit: func(s *core.Spec) { s.Template = "a." + long("b", 33) }, fields: []string{"template"}},
		{why: "single hyphens join parts", edit: func(s *core.Spec) { s.Template = "a-1-b.c-2" }},
		{why: "double hyphens do not", edit: func(s *core.Spec) { s.Template = "a--b.c" }, fields: []string{"template"}},
		{why: "a name does not begin with a hyphen", edit: func(s *core.Spec) { s.Template = "-a.c" }, fields: []string{"template"}},
		{why: "a name does not end with a hyphen", edit: func(s *core.Spec) { s.Template = "a.c-" }, fields: []string{"template"}},
		{why: "underscores are for versions only", edit: func(s *core.Spec) { s.Template = "a.c_d" }, fields: []string{"template"}},
		{why: "a line feed at the end does not slip through", edit: func(s *core.Spec) { s.Template = "a.c\n" }, fields: []string{"template"}},
		{why: "new is reserved", edit: func(s *core.Spec) { s.Template = "new.c" }, fields: []string{"template"}},
		{why: "create is reserved", edit: func(s *core.Spec) { s.Template = "a.create" }, fields: []string{"template"}},
		{why: "reserved words are compared as written", edit: func(s *core.Spec) { s.Template = "New.CREATE" }},

		{why: "a version is selected", edit: func(s *core.Spec) { s.Version = core.VersionSelector{} }, fields: []string{"version"}},
		{why: "by one means: not by name and active", edit: func(s *core.Spec) { s.Version.Name = "v1" }, fields: []string{"version"}},
		{
			why: "not by name and ID", fields: []string{"version"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: "v1", ID: versionUUID} },
		},
		{why: "64 characters are a version name", edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: long("v", 64)} }},
		{
			why: "65 are too many", fields: []string{"version.name"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: long("v", 65)} },
		},
		{why: "a version name has dots, hyphens, underscores", edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: "v1.2-rc_3"} }},
		{
			why: "but not two in a row", fields: []string{"version.name"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: "v1..2"} },
		},
		{
			why: "nor spaces", fields: []string{"version.name"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{Name: "v 1"} },
		},
		{why: "an ID is a UUID", edit: func(s *core.Spec) { s.Version = core.VersionSelector{ID: versionUUID} }},
		{
			why: "and nothing else", fields: []string{"version.id"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{ID: "v1"} },
		},
		{
			why: "in its plain form, as Coder writes it", fields: []string{"version.id"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{ID: "urn:uuid:" + versionUUID} },
		},
		{
			why: "the nil UUID names nothing", fields: []string{"version.id"},
			edit: func(s *core.Spec) { s.Version = core.VersionSelector{ID: "00000000-0000-0000-0000-000000000000"} },
		},

		{why: "64 parameters", edit: func(s *core.Spec) { s.Parameters = parameters(64) }},
		{why: "65 are too many", edit: func(s *core.Spec) { s.Parameters = parameters(65) }, fields: []string{"parameters"}},
		{
			why: "a parameter has a name", fields: []string{"parameters[0].name"},
			edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Value: "v"}} },
		},
		{why: "of 128 characters, not bytes", edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: long("ü", 128)}} }},
		{
			why: "129 are too many", fields: []string{"parameters[0].name"},
			edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: long("n", 129)}} },
		},
		{
			why: "names are unique", fields: []string{"parameters[1].name"},
			edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: "a"}, {Name: "a"}} },
		},
		{why: "case makes another name", edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: "a"}, {Name: "A"}} }},
		{why: "a value may be empty", edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: "a"}} }},
		{why: "a value has 4096 characters, not bytes", edit: func(s *core.Spec) {
			s.Parameters = []core.Parameter{{Name: "a", Value: long("ü", 4096)}}
		}},
		{
			why: "4097 are too many", fields: []string{"parameters[0].value"},
			edit: func(s *core.Spec) { s.Parameters = []core.Parameter{{Name: "a", Value: long("v", 4097)}} },
		},

		{why: "a preset may be named", edit: func(s *core.Spec) { s.Preset = "large, with GPU" }},
		{why: "a preset's name ends somewhere", edit: func(s *core.Spec) { s.Preset = long("p", 129) }, fields: []string{"preset"}},

		{
			why: "JSON would store other characters than were given", fields: []string{"parameters[0].name", "parameters[0].value", "preset"},
			edit: func(s *core.Spec) {
				s.Parameters, s.Preset = []core.Parameter{{Name: "\xff", Value: "\xff"}}, "\xff"
			},
		},
		{why: "60 seconds are the shortest timeout", edit: func(s *core.Spec) { s.TimeoutSeconds = 60 }},
		{why: "59 are too short", edit: func(s *core.Spec) { s.TimeoutSeconds = 59 }, fields: []string{"timeoutSeconds"}},
		{why: "7200 seconds are the longest", edit: func(s *core.Spec) { s.TimeoutSeconds = 7200 }},
		{why: "7201 are too long", edit: func(s *core.Spec) { s.TimeoutSeconds = 7201 }, fields: []string{"timeoutSeconds"}},

		{why: "one second is the shortest wait for inputs", edit: func(s *core.Spec) { s.InputsTimeoutSeconds = 1 }},
		{why: "negative ones do not exist", edit: func(s *core.Spec) { s.InputsTimeoutSeconds = -1 }, fields: []string{"inputsTimeoutSeconds"}},
		{why: "inputs may take the whole timeout", edit: func(s *core.Spec) { s.InputsTimeoutSeconds = 900 }},
		{why: "and no longer", edit: func(s *core.Spec) { s.InputsTimeoutSeconds = 901 }, fields: []string{"inputsTimeoutSeconds"}},

		{why: "a TTL of 0 is one", edit: func(s *core.Spec) { s.TTLSecondsAfterFinished = ttl(0) }},
		{why: "a negative one is not", edit: func(s *core.Spec) { s.TTLSecondsAfterFinished = ttl(-1) }, fields: []string{"ttlSecondsAfterFinished"}},

		{why: "a control plane is named", edit: func(s *core.Spec) { s.ControlPlaneRef = "" }, fields: []string{"controlPlaneRef"}},

		{
			why: "every broken rule is told, not only the first", fields: []string{"template", "timeoutSeconds", "controlPlaneRef"},
			edit: func(s *core.Spec) { s.Template, s.TimeoutSeconds, s.ControlPlaneRef = "", 0, "" },
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			spec := validSpec()
			row.edit(&spec)
			err := spec.Validate()
			if diff := cmp.Diff(row.fields, brokenFields(t, err)); diff != "" {
				t.Errorf("fields that break a rule (-want +got):\n%s\nerror: %v", diff, err)
			}
		})
	}
}

// brokenFields lists the fields of every *FieldError in err.
func brokenFields(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var fields []string
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		var broken *core.FieldError
		if !errors.As(one, &broken) {
			t.Errorf("%v is no *core.FieldError", one)
			continue
		}
		if broken.Rule == "" {
			t.Errorf("%s: the error does not say the rule", broken.Field)
		}
		fields = append(fields, broken.Field)
	}
	return fields
}

func TestValidateNeverRepeatsAParameterValue(t *testing.T) {
	const value = "hunter2"
	spec := validSpec()
	spec.Parameters = []core.Parameter{
		{Name: "", Value: value}, {Name: "a", Value: value}, {Name: "a", Value: strings.Repeat(value, 1000)},
	}
	if err := spec.Validate(); err == nil || strings.Contains(err.Error(), value) {
		t.Errorf("want an error without the value, got: %v", err)
	}
}

func TestFieldError(t *testing.T) {
	for _, row := range []struct {
		why  string
		err  core.FieldError
		want string
	}{
		{"with a value", core.FieldError{Field: "version.name", Value: "v 1", Rule: "must be x"}, `version.name: "v 1": must be x`},
		{"without one", core.FieldError{Field: "preset", Rule: "must be x"}, "preset: must be x"},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
}
