package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// component is a program that is built from a Go module.
type component struct {
	// name is the file's name.
	name string
	// pin is the folder of its module below pins.
	pin string
	// version is the version that the pin requires of module.
	module, version string
	// pkg is the main package.
	pkg string
	// ldflags are the linker's flags.
	ldflags string
	// variable names a file to use instead.
	variable string
	// takes tells a person how long a build without any cache lasts on two
	// cores.
	takes string
}

// The versions stand here and in the pins; a test holds them together. The
// stamps make the programs report the versions that they are: Coder takes a
// build without one for a development build and switches experiments on.
var (
	coderComponent = component{
		name: "coder", pin: "coder", module: "github.com/coder/coder/v2", version: "v2.36.1",
		pkg: "github.com/coder/coder/v2/cmd/coder",
		ldflags: "-s -w -X github.com/coder/coder/v2/buildinfo.tag=2.36.1" +
			" -X github.com/coder/coder/v2/buildinfo.agpl=true",
		variable: "ASSAY_TESTBED_CODER", takes: "about 5 minutes",
	}
	tofuComponent = component{
		name: "tofu", pin: "tofu", module: "github.com/opentofu/opentofu", version: "v1.12.6",
		pkg:      "github.com/opentofu/opentofu/cmd/tofu",
		ldflags:  "-s -w -X github.com/opentofu/opentofu/version.dev=no",
		variable: "ASSAY_TESTBED_TOFU", takes: "about 3 minutes",
	}
	providerComponent = component{
		name: "provider", pin: "provider", module: "github.com/coder/terraform-provider-coder/v2", version: "v2.19.0",
		pkg:      "github.com/coder/terraform-provider-coder/v2",
		ldflags:  "-s -w",
		variable: "ASSAY_TESTBED_PROVIDER", takes: "about 1 minute",
	}

	etcdComponent = component{
		name: "etcd", pin: "etcd", module: "go.etcd.io/etcd/server/v3", version: "v3.7.3",
		pkg:      "go.etcd.io/etcd/server/v3",
		ldflags:  "-s -w",
		variable: "ASSAY_TESTBED_ETCD", takes: "about 1 minute",
	}
	apiServerComponent         = kubernetesComponent("kube-apiserver", "ASSAY_TESTBED_KUBE_APISERVER", "about 5 minutes")
	controllerManagerComponent = kubernetesComponent("kube-controller-manager", "ASSAY_TESTBED_KUBE_CONTROLLER_MANAGER", "about 2 minutes")
	schedulerComponent         = kubernetesComponent("kube-scheduler", "ASSAY_TESTBED_KUBE_SCHEDULER", "about 1 minute")
	kubectlComponent           = kubernetesComponent("kubectl", "ASSAY_TESTBED_KUBECTL", "about 1 minute")

	kwokComponent = component{
		name: "kwok", pin: "kwok", module: "sigs.k8s.io/kwok", version: "v0.8.0",
		pkg:      "sigs.k8s.io/kwok/cmd/kwok",
		ldflags:  "-s -w",
		variable: "ASSAY_TESTBED_KWOK", takes: "about 2 minutes",
	}

	helmComponent = component{
		name: "helm", pin: "helm", module: "helm.sh/helm/v4", version: "v4.3.2",
		pkg:      "helm.sh/helm/v4/cmd/helm",
		ldflags:  "-s -w -X helm.sh/helm/v4/internal/version.version=v4.3.2",
		variable: "ASSAY_TESTBED_HELM", takes: "about 2 minutes",
	}
)

// kubernetesComponent is a program of Kubernetes. They share a pin, and most of
// the packages that they are built from: the first one takes longest.
func kubernetesComponent(name, variable, takes string) component {
	return component{
		name: name, pin: "kubernetes", module: "k8s.io/kubernetes", version: "v1.37.2",
		pkg: "k8s.io/kubernetes/cmd/" + name,
		ldflags: "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2" +
			" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37" +
			" -X k8s.io/component-base/version.gitTreeState=clean",
		variable: variable, takes: takes,
	}
}

// override is the file that the environment names for a component, or empty.
// A name that leads nowhere is an error rather than a reason to build.
func (c component) override(getenv func(string) string) (string, error) {
	file := getenv(c.variable)
	if file == "" {
		return "", nil
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.variable, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.variable, err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s: %s is not an executable file", c.variable, file)
	}
	return file, nil
}

// folder is where the cache keeps the component for this platform.
func (c component) folder(cache string) string {
	return filepath.Join(cache, c.name+"-"+c.version, runtime.GOOS+"_"+runtime.GOARCH)
}

// file is the component's program in the cache.
func (c component) file(cache string) string { return filepath.Join(c.folder(cache), c.name) }

func (c component) String() string { return c.name + " " + c.version }

// cacheFolder is the folder that holds what was built.
func cacheFolder(getenv func(string) string) (string, error) {
	if folder := getenv("ASSAY_TESTBED_CACHE"); folder != "" {
		return filepath.Abs(folder)
	}
	base := getenv("XDG_CACHE_HOME")
	// A relative XDG_CACHE_HOME counts as unset, by its specification.
	if !filepath.IsAbs(base) {
		base = ""
		if home := getenv("HOME"); home != "" {
			base = filepath.Join(home, ".cache")
		}
	}
	if base == "" {
		return "", errors.New("no folder for the cache: set ASSAY_TESTBED_CACHE, XDG_CACHE_HOME or HOME")
	}
	return filepath.Join(base, "assay-testbed"), nil
}
