package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/adapters/testbed"
)

// binary builds the operator once for the tests of this process.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "assay-operator-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "assay-operator")
	if output, err := exec.Command("go", "build", "-o", path, "./cmd/assay-operator").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w: %s", err, output)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("ASSAY_E2E") == "1" {
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// stage is a namespace of a real cluster with a control plane that a real Coder runs,
// worked with through kubectl alone.
type stage struct {
	t         *testing.T
	cluster   *testbed.Kubernetes
	bed       *testbed.Bed
	namespace string
	// url is where the operator reaches Coder.
	url string
	// user is who the operator is, and leases the namespace of its lease.
	user, leases string
	// environment is what the operator's has besides the test's.
	environment []string

	tester    testbed.User
	templates map[string]string
}

// newStage installs the definitions, makes a namespace and pushes the templates.
func newStage(t *testing.T, bed *testbed.Bed, templates map[string]testbed.Template) *stage {
	t.Helper()
	return newStageOn(t, testbed.RequireKubernetes(t), bed, templates, "manifests/crd")
}

func newStageOn(t *testing.T, cluster *testbed.Kubernetes, bed *testbed.Bed, templates map[string]testbed.Template, definitions string) *stage {
	t.Helper()
	s := newEmptyStage(t, cluster, bed, definitions)
	s.push(templates)
	return s
}

// newEmptyStage does not ask Coder for anything yet.
func newEmptyStage(t *testing.T, cluster *testbed.Kubernetes, bed *testbed.Bed, definitions string) *stage {
	t.Helper()
	s := &stage{t: t, cluster: cluster, bed: bed, url: bed.URL, templates: map[string]string{}}
	once, _ := installed.LoadOrStore(cluster, &sync.Once{})
	once.(*sync.Once).Do(func() {
		if err := cluster.ApplyDefinitions(t.Context(), definitions); err != nil {
			t.Fatal(err)
		}
		s.kubectl("apply", "--server-side", "-f", "manifests/rbac")
	})
	s.settle()
	return s
}

// installed are the clusters that have the definitions and the roles.
var installed sync.Map

// settle gives the stage a namespace of its own.
func (s *stage) settle() {
	s.t.Helper()
	s.namespace = testbed.UniqueName("tests")
	s.kubectl("create", "namespace", s.namespace)
	s.user, s.leases = operatorUser, s.namespace
	s.kubectl("--namespace", s.namespace, "create", "rolebinding", "assay-operator", "--clusterrole=assay-operator", "--user="+s.user)
}

// everywhere has the operator be one of the whole cluster, whose rights and lease do not go
// with the stage's namespace.
func (s *stage) everywhere() {
	s.t.Helper()
	s.user, s.leases = testbed.UniqueName("operator"), testbed.UniqueName("operator")
	s.kubectl("create", "namespace", s.leases)
	s.kubectl("create", "clusterrolebinding", s.user, "--clusterrole=assay-operator", "--user="+s.user)
}

// another is a stage with the same templates, and a namespace and a tester of its own.
func (s *stage) another(t *testing.T) *stage {
	t.Helper()
	other := *s
	other.t = t
	other.settle()
	other.hire()
	return &other
}

// hire makes a tester.
func (s *stage) hire() {
	s.t.Helper()
	tester, err := s.bed.CreateUser(s.t.Context(), testbed.UserOptions{Activate: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.tester = tester
}

// push makes a tester and templates.
func (s *stage) push(templates map[string]testbed.Template) {
	s.t.Helper()
	s.hire()
	for name, template := range templates {
		pushed, err := s.bed.PushTemplate(s.t.Context(), testbed.UniqueName(name), template)
		if err != nil {
			s.t.Fatal(err)
		}
		s.templates[name] = "coder." + pushed.TemplateName
	}
}

// kubectl runs kubectl and fails the test if it fails.
func (s *stage) kubectl(args ...string) string {
	s.t.Helper()
	output, err := s.cluster.Kubectl(s.t.Context(), args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return output
}

// apply applies a manifest in the stage's namespace.
func (s *stage) apply(manifest string) (string, error) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.cluster.Kubectl(s.t.Context(), "--namespace", s.namespace, "apply", "-f", file)
}

func (s *stage) mustApply(manifest string) {
	s.t.Helper()
	if _, err := s.apply(manifest); err != nil {
		s.t.Fatal(err)
	}
}

// controlPlane applies the control plane with the operator's token.
func (s *stage) controlPlane() {
	s.t.Helper()
	s.mustApply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: coder-token}
stringData: {token: %q}
---
apiVersion: coder.com/v1alpha1
kind: CoderControlPlane
metadata: {name: coder}
spec:
  external: {url: %q}
  operatorAccess: {tokenSecretRef: {name: coder-token}}
  templateTests: {ownerUserID: %q}
`, s.tester.Token, s.url, s.tester.ID))
}

// test applies a test of a template's active version.
func (s *stage) test(name, template, more string) {
	s.t.Helper()
	s.mustApply(fmt.Sprintf(`
apiVersion: coder.com/v1alpha1
kind: CoderTemplateTest
metadata: {name: %s}
spec:
  controlPlaneRef: {name: coder}
  template: %s
  version: {active: true}
%s`, name, s.templates[template], more))
}

// patience bounds a wait: a wait that lasts as long has failed.
const patience = 4 * time.Minute

// status is the part of a test's status that is looked at.
type status struct {
	Phase, Reason, Message, OutcomeClass string
	Conditions                           []struct{ Type, Status, Reason string }
}

// workspaceDeleted is the status and the reason of that condition.
func (s status) workspaceDeleted() string {
	for _, c := range s.Conditions {
		if c.Type == "WorkspaceDeleted" {
			return c.Status + "/" + c.Reason
		}
	}
	return ""
}

// await polls the test until its status is as wanted, and returns it.
func (s *stage) await(name, what string, wanted func(status) bool) status {
	s.t.Helper()
	var got status
	for limit := time.After(patience); ; {
		text, err := s.cluster.Kubectl(s.t.Context(), "--namespace", s.namespace, "get", "ctt", name, "-o", "jsonpath={.status}")
		if err != nil {
			s.t.Fatal(err)
		}
		got = status{}
		if text != "" {
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				s.t.Fatalf("status of %s: %v: %s", name, err, text)
			}
		}
		if wanted(got) {
			return got
		}
		select {
		case <-limit:
			s.t.Fatalf("test %s never is %s: %+v", name, what, got)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// awaitEnd waits for the verdict and the end of the workspace.
func (s *stage) awaitEnd(name string) status {
	s.t.Helper()
	return s.await(name, "finished", func(got status) bool {
		return (got.Phase == "Succeeded" || got.Phase == "Failed") && strings.HasPrefix(got.workspaceDeleted(), "True/")
	})
}

// operator is a running operator process.
type operator struct {
	command *exec.Cmd
	log     *os.File
	ended   chan error
}

// operatorUser may do in the stage's namespace what the generated role says, and nothing
// else.
const operatorUser = "assay-operator"

// operate starts an operator for the stage's namespace; the last of equal flags counts.
func (s *stage) operate(args ...string) *operator {
	s.t.Helper()
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	kubeconfig := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := testbed.WriteKubeconfig(kubeconfig, s.cluster.User(s.user)); err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(s.t.TempDir(), "operator.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	args = append([]string{
		"--kubeconfig", kubeconfig, "--namespaces", s.namespace, "--leader-election-namespace", s.leases, "--managed-control-planes=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--log-format", "text", "--log-level", "debug",
	}, args...)
	o := &operator{command: exec.CommandContext(context.WithoutCancel(s.t.Context()), path, args...), log: log, ended: make(chan error, 1)}
	o.command.Env = append(os.Environ(), s.environment...)
	o.command.Stdout, o.command.Stderr = log, log
	if err := o.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { o.ended <- o.command.Wait() }()
	s.t.Cleanup(func() {
		_ = o.command.Process.Kill()
		text, err := os.ReadFile(log.Name())
		if err == nil && s.tester.Token != "" && strings.Contains(string(text), s.tester.Token) {
			s.t.Error("the token is in the operator's log")
		}
		if err == nil && s.t.Failed() {
			s.t.Logf("operator's log:\n%s", text)
		}
	})
	return o
}

// stop ends the operator in order.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	if err := o.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-o.ended:
		if err != nil {
			t.Errorf("the operator ended with %v, want 0", err)
		}
	case <-time.After(patience):
		t.Error("the operator does not end")
	}
}

// kill ends the operator as a lost machine does.
func (o *operator) kill(t *testing.T) {
	t.Helper()
	if err := o.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-o.ended; err == nil {
		t.Fatal("the operator ended in order before it was killed")
	}
}

// leads waits until an operator holds the stage's lease.
func (s *stage) leads() {
	s.t.Helper()
	s.until(2*patience, 500*time.Millisecond, "an operator leads", func() bool {
		return s.kubectl("--namespace", s.namespace, "get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity}") != ""
	})
}

// until polls for a condition.
func (s *stage) until(within, every time.Duration, what string, met func() bool) {
	s.t.Helper()
	for limit := time.After(within); !met(); {
		select {
		case <-limit:
			s.t.Fatalf("it never is so that %s", what)
		case <-time.After(every):
		}
	}
}

// dryRun has the API server check a manifest.
func (s *stage) dryRun(manifest string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.kubectl("--namespace", s.namespace, "apply", "--dry-run=server", "-f", file)
}

// workspaces lists those that the tester has.
func (s *stage) workspaces() []codersdk.Workspace {
	s.t.Helper()
	live, err := s.bed.LiveWorkspaces(s.t.Context(), s.tester)
	if err != nil {
		s.t.Fatal(err)
	}
	return live
}

// requireClean fails the test if the tester has a workspace.
func (s *stage) requireClean() {
	s.t.Helper()
	for _, w := range s.workspaces() {
		s.t.Errorf("workspace %s is left", w.Name)
	}
}

func TestVerdictsThroughKubectl(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{
		"passing": testbed.Passing(), "startup": testbed.StartupFails(), "build": testbed.BuildFails(),
	})
	o := s.operate()
	s.test("waits", "passing", "")
	s.await("waits", "waiting for its control plane", func(got status) bool { return got.Reason == "ControlPlaneNotReady" })
	s.controlPlane()
	s.test("startup", "startup", "")
	s.test("build", "build", "")
	for _, row := range []struct{ name, phase, reason, class string }{
		{"waits", "Succeeded", "Succeeded", "Passed"},
		{"startup", "Failed", "AgentStartError", "TemplateFailed"},
		{"build", "Failed", "BuildFailed", "TemplateFailed"},
	} {
		if got := s.awaitEnd(row.name); got.Phase != row.phase || got.Reason != row.reason || got.OutcomeClass != row.class {
			t.Errorf("test %s: %+v, want %+v", row.name, got, row)
		}
	}
	for _, row := range []struct{ name, condition string }{{"waits", "Ready"}, {"startup", "Stalled"}} {
		s.kubectl("--namespace", s.namespace, "wait", "--timeout=10s", "--for=condition="+row.condition, "ctt/"+row.name)
	}
	if events := s.kubectl("--namespace", s.namespace, "get", "events", "-o", "jsonpath={.items[*].reason}"); !strings.Contains(events, "AgentStartError") {
		t.Errorf("no event tells of the failure: %s", events)
	}
	if table := s.kubectl("--namespace", s.namespace, "get", "ctt"); !strings.Contains(table, "PHASE") || !strings.Contains(table, "AgentStartError") {
		t.Errorf("the columns are\n%s", table)
	}
	s.kubectl("--namespace", s.namespace, "delete", "ctt", "--all", "--timeout=60s")
	o.stop(t)
	s.requireClean()
}

func TestDeletedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"slow": testbed.SlowStartup()})
	s.controlPlane()
	o := s.operate()
	s.test("slow", "slow", "")
	s.await("slow", "waiting for its agents", func(got status) bool { return got.Reason == "WaitingForAgents" })
	s.kubectl("--namespace", s.namespace, "delete", "ctt", "slow", "--timeout=120s")
	s.requireClean()
	o.stop(t)
}

func TestExpires(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), map[string]testbed.Template{"passing": testbed.Passing()})
	s.controlPlane()
	o := s.operate()
	s.test("short", "passing", "  ttlSecondsAfterFinished: 1\n")
	s.kubectl("--namespace", s.namespace, "wait", "--timeout=180s", "--for=delete", "ctt/short")
	s.requireClean()
	o.stop(t)
}

// slowBuild is a passing template whose build takes a few seconds.
func slowBuild() testbed.Template {
	template := testbed.Passing()
	for name, content := range testbed.SlowBuild().Files {
		template = template.With(name, content)
	}
	return template
}

func TestRefusedThroughKubectl(t *testing.T) {
	t.Parallel()
	s := newStage(t, testbed.Require(t), nil)
	_, err := s.apply(`
apiVersion: coder.com/v1alpha1
kind: CoderTemplateTest
metadata: {name: bad}
spec: {controlPlaneRef: {name: coder}, template: docker, version: {name: v1, active: true}}
`)
	if err == nil {
		t.Fatal("a bad spec is taken")
	}
	for _, want := range []string{"spec.template", "exactly one of name, id and active"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to say %q", err, want)
		}
	}
}
