package operator_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"
	"github.com/google/uuid"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/assay-dev/assay/adapters/testbed"
)

// TestDocumentedCommands runs every sh block of the operator's pages, in order, against a
// real cluster and a real Coder, and has the API server check every yaml block. A page is one
// bash, in a folder that stands for a checkout, with kubectl, helm and Coder's own command
// line; its user is an administrator of the cluster and owner of Coder.
//
// No image can be pulled here and no node runs pods. So after each block the test does what
// the pods of the operator's Deployment would do: it runs the built binary with the arguments
// and the service account of the Deployment, for as long as that exists.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for _, page := range documented {
		if t.Run(page, func(t *testing.T) { r.in(t).read(page) }); t.Failed() {
			// The other pages start from where this one ends.
			break
		}
	}
}

// reader is somebody who follows the pages.
type reader struct {
	t       *testing.T
	cluster *testbed.Kubernetes
	bed     *testbed.Bed
	// folder is the working directory.
	folder      string
	environment []string
	pods        *pods
}

// filledIn are variables that a page lets its reader fill in: the value after "export" is an
// example.
func (r *reader) filledIn() map[string]string { return map[string]string{"CODER_URL": r.bed.URL} }

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, cluster: testbed.RequireOwnKubernetes(t), bed: testbed.RequireOwn(t), folder: t.TempDir()}
	r.pods = &pods{cluster: r.cluster}
	t.Cleanup(func() { r.pods.stop(t) })
	r.checkout()
	tools := r.tools()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := os.ReadFile(r.cluster.Kubeconfig())
	if err == nil {
		err = os.WriteFile(config, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.environment = []string{
		"PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(), "KUBECONFIG=" + config,
		// Logged in to Coder, as after `coder login`.
		"CODER_URL=" + r.bed.URL, "CODER_SESSION_TOKEN=" + r.bed.OwnerToken(),
	}
	// The template that the pages test: it has a parameter and a preset.
	docker := testbed.Passing().With("region.tf", `
data "coder_parameter" "region" {
  name    = "region"
  default = "us"
  mutable = true
}

data "coder_workspace_preset" "large" {
  name       = "Large"
  parameters = { (data.coder_parameter.region.name) = "eu" }
}
`)
	pushed, err := r.bed.PushTemplate(t.Context(), "docker", docker)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := r.bed.PushVersion(t.Context(), pushed.TemplateID, testbed.StartupFails())
	if err != nil {
		t.Fatal(err)
	}
	owner := r.bed.Client(r.bed.OwnerToken())
	for id, name := range map[uuid.UUID]string{pushed.VersionID: "v2", broken.VersionID: "broken"} {
		if _, err := owner.UpdateTemplateVersion(t.Context(), id, codersdk.PatchTemplateVersionRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// checkout makes the folder look like the repository, but for what a page writes there.
func (r *reader) checkout() {
	r.t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"apps", "docs"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(r.folder, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	// A certificate and its authority, which pages about TLS suppose to exist.
	config := r.cluster.Config()
	for name, content := range map[string][]byte{"ca.crt": config.CAData, "tls.crt": config.CertData, "tls.key": config.KeyData} {
		if err := os.WriteFile(filepath.Join(r.folder, name), content, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// tools is a folder with the programs of the test bed.
func (r *reader) tools() string {
	r.t.Helper()
	folder := r.t.TempDir()
	kubectl, err := r.cluster.KubectlFile(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	files, err := testbed.Binaries(r.t.Context(), os.Stderr)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, file := range map[string]string{"kubectl": kubectl, "helm": testbed.RequireHelm(r.t), "coder": files.Coder} {
		if err := os.Symlink(file, filepath.Join(folder, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	return folder
}

// in is the reader of a subtest.
func (r *reader) in(t *testing.T) *reader {
	within := *r
	within.t = t
	return &within
}

// read follows a page.
func (r *reader) read(page string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, page))
	if err != nil {
		r.t.Fatal(err)
	}
	shell := r.newShell()
	for _, block := range blocksOf(string(text)) {
		switch block.language {
		case "sh":
			output, err := shell.run(r.fill(block.text))
			if err != nil {
				r.t.Fatalf("%s:%d: %v\n%s\n%s\n%s", page, block.line, err, block.text, output, r.pods.log())
			}
			r.pods.follow(r.t)
		case "yaml":
			r.check(fmt.Sprintf("%s:%d", page, block.line), block.text)
		}
	}
}

var export = regexp.MustCompile(`(?m)^export ([A-Z_]+)=.*$`)

// fill replaces the examples that a reader replaces.
func (r *reader) fill(text string) string {
	return export.ReplaceAllStringFunc(text, func(line string) string {
		name := export.FindStringSubmatch(line)[1]
		if value, ok := r.filledIn()[name]; ok {
			return fmt.Sprintf("export %s=%s", name, value)
		}
		return line
	})
}

// foreign are kinds of object that the cluster of the test does not know.
var foreign = []string{"kustomize.toolkit.fluxcd.io/", "cert-manager.io/", "monitoring.coreos.com/"}

// check has the API server look at the objects of a block, in a namespace of their own, and
// puts the block beside the commands if its first line is the name of a file.
func (r *reader) check(where, text string) {
	r.t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	if name, ok := strings.CutPrefix(first, "# "); ok && strings.HasSuffix(name, ".yaml") && !strings.Contains(name, " ") {
		if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	var kept []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			r.t.Fatalf("%s: %v", where, err)
		}
		known := !slices.ContainsFunc(foreign, func(group string) bool { return strings.HasPrefix(object.APIVersion, group) })
		if object.Kind != "" && known {
			kept = append(kept, document)
		}
	}
	if len(kept) == 0 {
		return
	}
	file := filepath.Join(r.t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(kept, "\n---\n")), 0o600); err != nil {
		r.t.Fatal(err)
	}
	const namespace = "pages"
	if _, err := r.cluster.Kubectl(r.t.Context(), "create", "namespace", namespace); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
		r.t.Fatal(err)
	}
	if _, err := r.cluster.Kubectl(r.t.Context(), "--namespace", namespace, "apply", "--dry-run=server", "-f", file); err != nil {
		r.t.Fatalf("%s: %v\n%s", where, err, text)
	}
}

// shell is a bash that runs one block after the other.
type shell struct {
	folder string
	input  io.Writer
	pipe   *os.File
	output *bufio.Reader
	blocks int
}

// done ends the output of a block.
const done = "-- done --"

func (r *reader) newShell() *shell {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc")
	command.Dir, command.Env = r.folder, r.environment
	input, err := command.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	output, writer, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	writer.Close()
	r.t.Cleanup(func() {
		input.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
		output.Close()
	})
	fmt.Fprintln(input, "set -euo pipefail")
	return &shell{folder: r.t.TempDir(), input: input, pipe: output, output: bufio.NewReader(output)}
}

// run runs a block and returns what it writes. The first command that fails ends the shell.
func (s *shell) run(text string) (string, error) {
	s.blocks++
	file := filepath.Join(s.folder, fmt.Sprintf("%d.sh", s.blocks))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(s.input, ". %s </dev/null\necho '%s'\n", file, done); err != nil {
		return "", err
	}
	if err := s.pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	var written strings.Builder
	for {
		line, err := s.output.ReadString('\n')
		switch {
		case strings.TrimSpace(line) == done:
			return written.String(), nil
		case errors.Is(err, io.EOF):
			return written.String() + line, errors.New("a command fails")
		case errors.Is(err, os.ErrDeadlineExceeded):
			return written.String() + line, fmt.Errorf("the commands do not end within %v", patience)
		case err != nil:
			return written.String(), err
		}
		written.WriteString(line)
	}
}

// pods stand for those of the operator's Deployment.
type pods struct {
	cluster *testbed.Kubernetes
	// deployed is what runs, as the Deployment says it.
	deployed string
	command  *exec.Cmd
	file     string
}

// follow makes the operator that runs be the one that the Deployment asks for.
func (p *pods) follow(t *testing.T) {
	t.Helper()
	text, err := p.cluster.Kubectl(t.Context(), "get", "deployment", "--all-namespaces", "-l", "app.kubernetes.io/name=assay-operator", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			Metadata struct{ Namespace string }
			Spec     struct {
				Template struct {
					Spec struct {
						ServiceAccountName string
						Containers         []struct{ Args []string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 1 {
		t.Fatalf("there are %d operators: a page has to remove one before it installs another", len(list.Items))
	}
	deployed := fmt.Sprint(list.Items)
	if deployed == p.deployed {
		return
	}
	p.stop(t)
	if p.deployed = deployed; len(list.Items) == 0 {
		return
	}
	pod := list.Items[0].Spec.Template.Spec
	p.start(t, list.Items[0].Metadata.Namespace, pod.ServiceAccountName, pod.Containers[0].Args)
}

func (p *pods) start(t *testing.T, namespace, account string, args []string) {
	t.Helper()
	token, err := p.cluster.Kubectl(t.Context(), "create", "token", account, "--namespace", namespace)
	if err != nil {
		t.Fatal(err)
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(path)
	config := rest.AnonymousClientConfig(p.cluster.Config())
	config.BearerToken = strings.TrimSpace(token)
	kubeconfig := filepath.Join(folder, "service-account")
	if err := testbed.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	log, err := os.CreateTemp(folder, "log-")
	if err != nil {
		t.Fatal(err)
	}
	p.file = log.Name()
	// The last of equal flags counts. What is served is the test's own business.
	p.command = exec.Command(path, append(slices.Clone(args), "--kubeconfig="+kubeconfig, "--leader-election-namespace="+namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=text")...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
}

// stop ends the operator that runs, as the kubelet does.
func (p *pods) stop(t *testing.T) {
	t.Helper()
	if p.command == nil {
		return
	}
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("end the operator: %v", err)
	}
	late := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	_ = p.command.Wait()
	if !late.Stop() {
		t.Errorf("the operator does not end within %v; %s", patience, p.log())
	}
	p.command = nil
}

// log is what the operator that runs, or ran last, has written.
func (p *pods) log() string {
	text, err := os.ReadFile(p.file)
	if err != nil {
		return err.Error()
	}
	return "the operator's log:\n" + string(text)
}
