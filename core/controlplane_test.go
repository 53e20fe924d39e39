package core_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

const token = "s3cr3t-t0ken"

func TestSecretNeverPrints(t *testing.T) {
	secret := core.NewSecret(token)
	connection := core.Connection{URL: "https://coder.example.com", Token: secret}
	plane := &core.ControlPlane{Ref: "main", Connection: connection}
	hidden := struct{ connection core.Connection }{connection}
	values := map[string]any{
		"itself": secret, "a pointer": &secret, "in a struct": connection, "deep in a pointer": plane,
		"in a slice": []core.Secret{secret}, "in a map": map[string]core.Secret{"a": secret}, "in an unexported field": hidden,
	}
	for what, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%t", "%p", "%08.3f", "%c", "%U"} {
			if got := fmt.Sprintf(verb, value); leaks(got) {
				t.Errorf("%s, %s: %s", what, verb, got)
			}
		}
		encoded, err := json.Marshal(value)
		if err != nil || leaks(string(encoded)) {
			t.Errorf("%s, JSON: %s, %v", what, encoded, err)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", value)
		if leaks(log.String()) {
			t.Errorf("%s, log: %s", what, &log)
		}
		if err := fmt.Errorf("dial %v: refused", value); leaks(err.Error()) {
			t.Errorf("%s, error: %v", what, err)
		}
	}
	if got := fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret); got != strings.TrimSpace(strings.Repeat("[redacted] ", 4)) {
		t.Errorf("prints as %s", got)
	}
}

// leaks looks for the token, in hexadecimal too.
func leaks(text string) bool {
	return strings.Contains(text, token) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", token))
}

func TestSecret(t *testing.T) {
	if got := core.NewSecret(token).Reveal(); got != token {
		t.Errorf("reveals %q", got)
	}
	if core.NewSecret(token).Empty() {
		t.Error("a secret is not empty")
	}
	for why, empty := range map[string]core.Secret{"the zero value": {}, "an empty value": core.NewSecret("")} {
		if !empty.Empty() || empty.Reveal() != "" {
			t.Errorf("%s is an empty secret", why)
		}
	}
	// Connections are compared to see whether a control plane changed.
	if a, b := core.NewSecret(token), core.NewSecret(strings.Clone(token)); a != b {
		t.Error("equal secrets compare equal")
	}
	if core.NewSecret(token) == core.NewSecret("other") || core.NewSecret("") != (core.Secret{}) {
		t.Error("secrets compare by their values")
	}
}

func TestPolicyOwner(t *testing.T) {
	for _, row := range []struct {
		why, written string
		want         uuid.UUID
	}{
		{"a UUID", versionUUID, uuid.MustParse(versionUUID)},
		{"nothing", "", uuid.Nil},
		{"a name", "tester", uuid.Nil},
	} {
		if got := (core.Policy{OwnerUserID: row.written}).Owner(); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
	if (core.Policy{}) != (core.Policy{AllowRetain: false, AllowPrivilegedOwner: false, AllowPersonalOwner: false}) {
		t.Error("a policy allows nothing by default")
	}
}
