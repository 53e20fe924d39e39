package core_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// wellFormed is the rule for names in words, without a regular expression: parts of
// letters and digits, joined by single separators.
func wellFormed(name, separators string, longest int) bool {
	if len(name) < 1 || len(name) > longest {
		return false
	}
	apart := true // no part has begun
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			apart = false
		case strings.IndexByte(separators, c) < 0 || apart:
			return false
		default:
			apart = true
		}
	}
	return !apart
}

func FuzzParseTemplateRef(f *testing.F) {
	for _, ref := range []string{
		"acme.docker", "ACME.Docker-2", "a.b", "acme", "acme.docker.x", ".", "acme.", ".docker", "new.docker", "acme.create", "New.x",
		"a--b.c", "-a.b", "a-.b", "a_b.c", "a.b\n", "a.b ", "ä.b", "a.\xff", strings.Repeat("a", 32) + "." + strings.Repeat("b", 33),
	} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		organization, template, found := strings.Cut(ref, ".")
		legal := found
		for _, name := range []string{organization, template} {
			legal = legal && wellFormed(name, "-", core.MaxNameLength) && name != "new" && name != "create"
		}
		parsed, err := core.ParseTemplateRef(ref)
		if (err == nil) != legal {
			t.Fatalf("legal: %t, error: %v", legal, err)
		}
		if err != nil {
			var field *core.FieldError
			if !errors.As(err, &field) || field.Field != "template" || field.Rule == "" {
				t.Errorf("the error does not name the field and the rule: %#v", err)
			}
			return
		}
		if parsed.Organization != organization || parsed.Template != template {
			t.Errorf("parsed as %+v", parsed)
		}
	})
}

// FuzzValidate changes one spec in every field at once.
func FuzzValidate(f *testing.F) {
	add := func(name, id string, active bool, parameter, value, preset string, timeout, inputs, ttl int) {
		f.Add(name, id, active, parameter, value, preset, timeout, inputs, ttl)
	}
	add("", "", true, "region", "eu", "", 900, 0, 0)
	add("v1.2_3-rc.1", "", false, "region", "", "fast", 60, 60, 3600)
	add("", "3f2a7c1e-0000-4000-8000-000000000001", false, "region", "", "", 7200, 1, -1)
	add("", uuid.Nil.String(), false, "region", "", "", 59, 60, 0)
	add("", "{3f2a7c1e-0000-4000-8000-000000000001}", false, "region", "", "", 7201, -1, 0)
	add("", "urn:uuid:3f2a7c1e-0000-4000-8000-000000000001", false, "", "", "", 900, 901, 0)
	add("v1..2", "", true, strings.Repeat("ä", 129), strings.Repeat("🐢", 4097), strings.Repeat("p", 129), 900, 0, 0)
	add(strings.Repeat("v", 65), "", false, "\xff", "\x00", "\xff", 900, 0, 0)
	add("v1\n", "", false, "region", "", "", 900, 0, 0)
	f.Fuzz(func(t *testing.T, name, id string, active bool, parameter, value, preset string, timeout, inputs, ttl int) {
		const secret = "s3cr3t-v4lue"
		value += secret
		spec := core.Spec{
			Template: "acme.docker", Version: core.VersionSelector{Name: name, ID: id, Active: active}, Preset: preset,
			Parameters:     []core.Parameter{{Name: parameter, Value: value}, {Name: "region"}},
			TimeoutSeconds: timeout, InputsTimeoutSeconds: inputs, TTLSecondsAfterFinished: &ttl, ControlPlaneRef: "main",
		}
		broken := map[string]bool{}
		for _, err := range parts(spec.Validate()) {
			var field *core.FieldError
			if !errors.As(err, &field) || field.Field == "" || field.Rule == "" {
				t.Fatalf("the error does not name the field and the rule: %#v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats a parameter's value: %v", err)
			}
			broken[field.Field] = true
		}
		runes := utf8.RuneCountInString
		_, notUUID := uuid.Parse(id)
		for field, want := range map[string]bool{
			"version":              (name != "") && (id != "") || (name != "") && active || (id != "") && active || name == "" && id == "" && !active,
			"version.name":         !active && id == "" && name != "" && !wellFormed(name, "_.-", core.MaxVersionNameLength),
			"version.id":           !active && name == "" && id != "" && (len(id) != 36 || notUUID != nil || uuid.MustParse(id) == uuid.Nil),
			"parameters[0].name":   !utf8.ValidString(parameter) || runes(parameter) < 1 || runes(parameter) > core.MaxParameterNameLength,
			"parameters[0].value":  !utf8.ValidString(value) || runes(value) > core.MaxParameterValueLength,
			"parameters[1].name":   parameter == "region",
			"preset":               !utf8.ValidString(preset) || runes(preset) > core.MaxParameterNameLength,
			"timeoutSeconds":       timeout < core.MinTimeoutSeconds || timeout > core.MaxTimeoutSeconds,
			"inputsTimeoutSeconds": inputs < 0 || inputs > timeout, "ttlSecondsAfterFinished": ttl < 0,
		} {
			if broken[field] != want {
				t.Errorf("%s is broken: %t, want %t: %v", field, broken[field], want, spec.Validate())
			}
			delete(broken, field)
		}
		if len(broken) > 0 {
			t.Errorf("fields that nobody changed are broken: %v", broken)
		}
	})
}

// parts are the errors that were joined.
func parts(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return nil
}

func FuzzWorkspaceName(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), "ktt-000000000000000000000000000")
	f.Add([]byte{0xff}, "ktt-0123456789abcdef0123456789ab\n")
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		var test uuid.UUID
		copy(test[:], raw)
		if made := core.WorkspaceName(test); len(made) != 32 || !core.IsTestWorkspaceName(made) || !wellFormed(made, "-", core.MaxNameLength) {
			t.Errorf("%s is made for %s", made, test)
		}
		hex := strings.TrimPrefix(name, "ktt-")
		is := len(name) == 32 && len(hex) == 28 && strings.Trim(hex, "0123456789abcdef") == ""
		if core.IsTestWorkspaceName(name) != is {
			t.Errorf("%q is a test's name: want %t", name, is)
		}
	})
}
