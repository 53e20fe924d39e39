package core_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

func TestParseTemplateRef(t *testing.T) {
	got, err := core.ParseTemplateRef("Acme.docker-dev")
	want := core.TemplateRef{Organization: "Acme", Template: "docker-dev"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; names are kept as written: %+v", got, err, want)
	}
	if got, err := core.ParseTemplateRef("acme.create"); err == nil || got != (core.TemplateRef{}) {
		t.Errorf("got %+v, %v for a reserved name", got, err)
	}
}

func TestSpecDefaults(t *testing.T) {
	spec := core.Spec{}.WithDefaults()
	if spec.TimeoutSeconds != 900 {
		t.Errorf("the default timeout is %d s, want 900", spec.TimeoutSeconds)
	}
	if spec.Timeout() != 15*time.Minute {
		t.Errorf("timeout %s", spec.Timeout())
	}
	if spec.InputsTimeout() != 0 {
		t.Errorf("inputs have a timeout of %s of their own by default", spec.InputsTimeout())
	}
	spec.TimeoutSeconds, spec.InputsTimeoutSeconds = 60, 30
	if spec = spec.WithDefaults(); spec.TimeoutSeconds != 60 || spec.InputsTimeout() != 30*time.Second {
		t.Errorf("what is set is kept: %+v", spec)
	}
}

func TestVersionSelector(t *testing.T) {
	id := uuid.MustParse(versionUUID)
	for _, row := range []struct {
		why      string
		selector core.VersionSelector
		text     string
		id       uuid.UUID
	}{
		{"by name", core.VersionSelector{Name: "v1"}, "v1", uuid.Nil},
		{"by ID", core.VersionSelector{ID: versionUUID}, versionUUID, id},
		{"the active one", core.VersionSelector{Active: true}, "active", uuid.Nil},
	} {
		if got := row.selector.String(); got != row.text {
			t.Errorf("%s: prints as %q, want %q", row.why, got, row.text)
		}
		if got := (core.Spec{Version: row.selector}).VersionID(); got != row.id {
			t.Errorf("%s: ID %s, want %s", row.why, got, row.id)
		}
	}
}
