package testbed

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

var allComponents = []component{
	coderComponent, tofuComponent, providerComponent,
	etcdComponent, apiServerComponent, controllerManagerComponent, schedulerComponent, kubectlComponent, kwokComponent,
	helmComponent,
}

// env is a lookup in a fixed environment.
func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestPinsAgreeWithTheComponents(t *testing.T) {
	for _, c := range allComponents {
		t.Run(c.name, func(t *testing.T) {
			pin := readPin(t, c)
			var version string
			for _, r := range pin.Require {
				if r.Mod.Path == c.module {
					version = r.Mod.Version
				}
			}
			if version != c.version {
				t.Errorf("the pin requires %s %q, the component says %s", c.module, version, c.version)
			}
			if !strings.HasPrefix(c.pkg, c.module) {
				t.Errorf("package %s is not in module %s", c.pkg, c.module)
			}
			if !slices.ContainsFunc(pin.Tool, func(tool *modfile.Tool) bool { return tool.Path == c.pkg }) {
				t.Errorf("the pin's tools lack %s", c.pkg)
			}
		})
	}
}

func readPin(t *testing.T, c component) *modfile.File {
	t.Helper()
	file := filepath.Join("pins", c.pin, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := modfile.Parse(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pin
}

// Kubernetes v1.X.Y is built from libraries that are published as v0.X.Y.
func TestKubernetesIsOfOneVersion(t *testing.T) {
	want := strings.Replace(apiServerComponent.version, "v1.", "v0.", 1)
	pin := readPin(t, apiServerComponent)
	if len(pin.Replace) == 0 {
		t.Fatal("the pin replaces nothing")
	}
	for _, r := range pin.Replace {
		if r.New.Path != r.Old.Path || r.New.Version != want {
			t.Errorf("%s is replaced by %s %s, want %s", r.Old.Path, r.New.Path, r.New.Version, want)
		}
	}
}

func TestComponentsShareNoFile(t *testing.T) {
	names, variables := map[string]bool{}, map[string]bool{}
	for _, c := range allComponents {
		if names[c.name] || variables[c.variable] {
			t.Errorf("%s has the name or the variable %s of another component", c, c.variable)
		}
		names[c.name], variables[c.variable] = true, true
	}
}

func TestProgramsReportTheirVersions(t *testing.T) {
	for _, row := range []struct {
		component component
		want      string
	}{
		{coderComponent, "buildinfo.tag=" + strings.TrimPrefix(coderComponent.version, "v") + " "},
		{helmComponent, "version.version=" + helmComponent.version},
		{apiServerComponent, "version.gitVersion=" + apiServerComponent.version + " "},
		{apiServerComponent, "version.gitMinor=" + strings.Split(apiServerComponent.version, ".")[1] + " "},
	} {
		if !strings.Contains(row.component.ldflags, row.want) {
			t.Errorf("%s: linker flags %q lack %q", row.component, row.component.ldflags, row.want)
		}
	}
}

func TestCacheFolder(t *testing.T) {
	for _, row := range []struct {
		why     string
		env     map[string]string
		want    string
		wantErr string
	}{
		{"the variable wins", map[string]string{"ASSAY_TESTBED_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c", ""},
		{"then the user's cache", map[string]string{"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/assay-testbed", ""},
		{"a relative one does not count", map[string]string{"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/assay-testbed", ""},
		{"then the home", map[string]string{"HOME": "/h"}, "/h/.cache/assay-testbed", ""},
		{"else it says what to set", nil, "", "set ASSAY_TESTBED_CACHE"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := cacheFolder(env(row.env))
			if got != row.want || !saysWhy(err, row.wantErr) {
				t.Errorf("got %q, %v; want %q, %q", got, err, row.want, row.wantErr)
			}
		})
	}
}

func TestCacheKeyNamesVersionAndPlatform(t *testing.T) {
	got := coderComponent.file("/cache")
	want := "/cache/coder-v2.36.1/" + runtime.GOOS + "_" + runtime.GOARCH + "/coder"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOverride(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "program")
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why, value, want, wantErr string
	}{
		{"unset means build", "", "", ""},
		{"an executable file is taken", program, program, ""},
		{"a typo is an error, not a build", filepath.Join(folder, "absent"), "", "ASSAY_TESTBED_TOFU"},
		{"a file that cannot run", text, "", "not an executable file"},
		{"a folder", folder, "", "not an executable file"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := tofuComponent.override(env(map[string]string{"ASSAY_TESTBED_TOFU": row.value}))
			if got != row.want || !saysWhy(err, row.wantErr) {
				t.Errorf("got %q, %v; want %q, %q", got, err, row.want, row.wantErr)
			}
		})
	}
}

// saysWhy reports whether an error is there if and only if a text is wanted,
// and has that text.
func saysWhy(err error, want string) bool {
	if err == nil || want == "" {
		return err == nil && want == ""
	}
	return strings.Contains(err.Error(), want)
}
