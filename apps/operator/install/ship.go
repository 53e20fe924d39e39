package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// names of the roles, and of the service account that they are bound to.
const (
	account = "assay-operator"
	leader  = account + "-leader"
	metrics = account + "-metrics"
	managed = account + "-managed"
	// namespace is where the kustomize base puts the operator.
	namespace = "assay-system"
)

// notice heads each file that is written.
const notice = "# Written by `make generate` from manifests/rbac. Do not edit.\n"

// roles are the rules of the operator by where they are bound.
type roles struct {
	work, leader, metrics, managed []rbacv1.PolicyRule
}

// Ship reads the generated manifests below the folder from, which is apps/operator, and
// writes what is derived from them below the folder to.
func Ship(from, to string) error {
	r, err := readRoles(filepath.Join(from, "manifests", "rbac"))
	if err != nil {
		return err
	}
	base, err := r.base()
	if err != nil {
		return err
	}
	files := map[string][]byte{filepath.Join("manifests", "install", "roles.yaml"): base}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"work": r.work, "leader": r.leader, "metrics": r.metrics, "managed": r.managed,
	} {
		text, err := yaml.Marshal(rules)
		if err != nil {
			return err
		}
		files[filepath.Join("chart", "files", "rbac", name+".yaml")] = append([]byte(notice), text...)
	}
	crds, err := filepath.Glob(filepath.Join(from, "manifests", "crd", "*.yaml"))
	if err != nil || len(crds) == 0 {
		return errors.Join(err, errors.New("manifests/crd: no definitions: run make generate"))
	}
	for _, file := range crds {
		if files[filepath.Join("chart", "files", "crd", filepath.Base(file))], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	for name, content := range files {
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readRoles reads the role of the operator, and that of managed control planes where it
// exists.
func readRoles(folder string) (roles, error) {
	all, err := readRole(filepath.Join(folder, "role.yaml"), account)
	if err != nil {
		return roles{}, err
	}
	var r roles
	for _, rule := range all {
		switch {
		case slices.Contains(rule.APIGroups, "coordination.k8s.io"):
			r.leader = append(r.leader, rule)
		case slices.Contains(rule.APIGroups, "authentication.k8s.io"), slices.Contains(rule.APIGroups, "authorization.k8s.io"):
			r.metrics = append(r.metrics, rule)
		default:
			r.work = append(r.work, rule)
		}
	}
	r.managed, err = readRole(filepath.Join(folder, "managed_role.yaml"), managed)
	if errors.Is(err, fs.ErrNotExist) {
		r.managed, err = []rbacv1.PolicyRule{}, nil
	}
	return r, err
}

func readRole(file, name string) ([]rbacv1.PolicyRule, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
	}
	if role.Name != name || len(role.Rules) == 0 {
		return nil, fmt.Errorf("read %s: want the rules of %s, found %d of %q", filepath.Base(file), name, len(role.Rules), role.Name)
	}
	return role.Rules, nil
}

// base is the roles and bindings of the kustomize base.
func (r roles) base() ([]byte, error) {
	var objects []any
	for _, role := range []struct {
		name  string
		rules []rbacv1.PolicyRule
	}{{account, r.work}, {managed, r.managed}, {metrics, r.metrics}} {
		if len(role.rules) == 0 {
			continue
		}
		objects = append(objects,
			&rbacv1.ClusterRole{TypeMeta: kind("ClusterRole"), ObjectMeta: metav1.ObjectMeta{Name: role.name}, Rules: role.rules},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: role.name},
				RoleRef: reference("ClusterRole", role.name), Subjects: subjects(),
			})
	}
	objects = append(objects,
		&rbacv1.Role{TypeMeta: kind("Role"), ObjectMeta: metav1.ObjectMeta{Name: leader, Namespace: namespace}, Rules: r.leader},
		&rbacv1.RoleBinding{
			TypeMeta: kind("RoleBinding"), ObjectMeta: metav1.ObjectMeta{Name: leader, Namespace: namespace},
			RoleRef: reference("Role", leader), Subjects: subjects(),
		})
	out := bytes.NewBufferString(notice)
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: name}
}

func reference(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}}
}
