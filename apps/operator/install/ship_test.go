package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestShippedFilesAreCurrent fails for a file that `make generate` would write anew.
func TestShippedFilesAreCurrent(t *testing.T) {
	folder := t.TempDir()
	if err := Ship("..", folder); err != nil {
		t.Fatal(err)
	}
	written := 0
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		written++
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not current (%v); run make generate", name, err)
		}
		return nil
	})
	if err != nil || written < 7 {
		t.Errorf("looked at %d files: %v", written, err)
	}
}

// written makes a folder with these roles and a definition.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, "manifests", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const (
	role = `{kind: ClusterRole, metadata: {name: assay-operator}, rules: [
  {apiGroups: [coder.com], resources: [codertemplatetests], verbs: [get]},
  {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]},
  {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}]}`
	managedRole = `{kind: ClusterRole, metadata: {name: assay-operator-managed}, rules: [
  {apiGroups: [apps], resources: [deployments], verbs: [create]}]}`
)

func TestRulesGoWhereTheyAreNeeded(t *testing.T) {
	for _, row := range []struct {
		why   string
		files map[string]string
		// bound are the roles of the base, with the resource of each one's only rule.
		bound map[string]string
	}{
		{
			"leading is for one namespace, and what belongs to the cluster stands alone",
			map[string]string{"rbac/role.yaml": role, "crd/a.yaml": "a"},
			map[string]string{
				"ClusterRole assay-operator": "codertemplatetests", "ClusterRole assay-operator-metrics": "subjectaccessreviews",
				"Role assay-operator-leader": "leases",
			},
		},
		{
			"managed control planes take a role of their own",
			map[string]string{"rbac/role.yaml": role, "rbac/managed_role.yaml": managedRole, "crd/a.yaml": "a"},
			map[string]string{
				"ClusterRole assay-operator": "codertemplatetests", "ClusterRole assay-operator-metrics": "subjectaccessreviews",
				"Role assay-operator-leader": "leases", "ClusterRole assay-operator-managed": "deployments",
			},
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			to := t.TempDir()
			if err := Ship(written(t, row.files), to); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(to, "manifests", "install", "roles.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			found, bound := map[string]string{}, map[string]bool{}
			for _, part := range strings.Split(string(text), "\n---\n") {
				var role rbacv1.ClusterRole
				var binding rbacv1.ClusterRoleBinding
				if err := yaml.Unmarshal([]byte(part), &role); err != nil {
					t.Fatal(err)
				}
				if err := yaml.Unmarshal([]byte(part), &binding); err != nil {
					t.Fatal(err)
				}
				if len(role.Rules) == 1 {
					found[role.Kind+" "+role.Name] = role.Rules[0].Resources[0]
				}
				if len(binding.Subjects) == 1 && binding.Subjects[0].Name == account {
					bound[binding.RoleRef.Kind+" "+binding.RoleRef.Name] = true
				}
			}
			if diff := cmp.Diff(row.bound, found); diff != "" {
				t.Errorf("the roles differ (-want +got):\n%s", diff)
			}
			for name := range row.bound {
				if !bound[name] {
					t.Errorf("%s is not bound", name)
				}
			}
		})
	}
}

func TestShipSaysWhatIsWrong(t *testing.T) {
	for _, row := range []struct {
		why   string
		files map[string]string
		want  string
	}{
		{"no role", map[string]string{"crd/a.yaml": "a"}, "role.yaml"},
		{"no definition", map[string]string{"rbac/role.yaml": role}, "run make generate"},
		{"another role", map[string]string{"rbac/role.yaml": managedRole, "crd/a.yaml": "a"}, "want the rules of assay-operator"},
		{"a role that grants nothing", map[string]string{"rbac/role.yaml": "{metadata: {name: assay-operator}}", "crd/a.yaml": "a"}, "found 0"},
		{
			"a broken role of managed control planes",
			map[string]string{"rbac/role.yaml": role, "rbac/managed_role.yaml": "{rule: 1}", "crd/a.yaml": "a"},
			"managed_role.yaml",
		},
	} {
		if err := Ship(written(t, row.files), t.TempDir()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error is %v, want %q", row.why, err, row.want)
		}
	}
}
