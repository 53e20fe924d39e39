package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assay-dev/assay/core"
)

func TestSecretsWithinVariables(t *testing.T) {
	for _, row := range []struct {
		why, value string
		within     []string
	}{
		{"a text is one secret", "plain", nil},
		{"nothing is none", "", nil},
		{"texts in a list", `["one",["two"]]`, []string{"one", "two"}},
		{"keys and values of a map", `{"key":"value"}`, []string{"key", "value"}},
		{"a number, as it is written", `[12345678901234567890]`, []string{"12345678901234567890"}},
		{"a number, as Terraform shows it", `{"pin":1.5e+21}`, []string{"pin", "1.5e+21", "1500000000000000000000"}},
		{"a text with an escape, as Terraform shows it", `["a$${b","%%{c"]`, []string{"a$${b", "a${b", "%%{c", "%{c"}},
		{"truth values are no secrets", `[true,null]`, nil},
		{"what only begins like a number is a text", "12 apples", nil},
	} {
		got := secretsOfVariables([]core.Variable{{Name: "a", Value: core.NewSecret(row.value)}})
		if diff := cmp.Diff(append([]string{row.value}, row.within...), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestReadVariables(t *testing.T) {
	for _, row := range []struct{ why, file, want string }{
		{"a text stays as it is", `v: a${b}`, `a${b}`},
		{"a number is as it is written", `v: 010`, `010`},
		{"a list becomes Terraform's", `v: [a, 1, true]`, `["a",1,true]`},
		{"texts in a list are not computed", `v: ["a${b}", "%{if c}", "$${d}"]`, `["a$${b}","%%{if c}","$$${d}"]`},
		{"nor those in a map, or its keys", `v: {"${k}": {x: "${y}"}}`, `{"$${k}":{"x":"$${y}"}}`},
		{"signs that begin nothing stay", `v: ["5 $", "7 %", "$x{"]`, `["5 $","7 %","$x{"]`},
		{"JSON's own escapes are not Terraform's", `v: ["\b\f\\b\n"]`, `["\u0008\u000c\\b\n"]`},
	} {
		path := filepath.Join(t.TempDir(), "variables.yaml")
		if err := os.WriteFile(path, []byte(row.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readVariables(path); err != nil || got["v"] != row.want {
			t.Errorf("%s: %q, error %v, want %q", row.why, got["v"], err, row.want)
		}
	}
}

func TestReadVariablesRefuses(t *testing.T) {
	for _, row := range []struct{ why, file, says string }{
		{"more than is read", "v: " + strings.Repeat("x", maxVariablesFile), "more than 1 MiB"},
		{"an alias in a value", "a: &a [x]\nv: [*a, *a]", "has a YAML alias in line 2"},
		{"an alias in an alias", "a: &a [x]\nb: &b [*a, *a]\nv: [*b, *b]", "has a YAML alias in line 2"},
		{"an alias as a value", "a: &a [x]\nv: *a", "has a YAML alias in line 2"},
		{"an alias that is merged", "a: &a {x: y}\nv: {<<: *a}", "has a YAML alias in line 2"},
	} {
		path := filepath.Join(t.TempDir(), "variables.yaml")
		if err := os.WriteFile(path, []byte(row.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readVariables(path); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %d values, error %v, want %q", row.why, len(got), err, row.says)
		}
	}
	if _, err := readVariables("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("a file without an end: %v", err)
	}
}
