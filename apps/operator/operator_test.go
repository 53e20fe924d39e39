package operator

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/fakes/runner"
)

func TestGraphIsComplete(t *testing.T) {
	var m manager.Manager
	env := Env{Clock: clock.New(time.Time{}), Random: strings.NewReader(""), Dial: runner.NewDirectory().Dial, Stderr: &bytes.Buffer{}}
	if err := fx.ValidateApp(graph(env, Options{}, &rest.Config{}), fx.Populate(&m)); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	for _, row := range []struct {
		why    string
		args   []string
		code   int
		stderr string
	}{
		{"no workers, no work", []string{"--workers", "0"}, exitUsage, "--workers: 0: must be 1 to 1000"},
		{"an unknown format", []string{"--log-format", "xml"}, exitUsage, `--log-format: "xml": must be json or text`},
		{"an unknown level", []string{"--log-level", "loud"}, exitUsage, `--log-level: "loud": must be debug, info, warn or error`},
		{"a grace below nothing", []string{"--shutdown-grace", "-1s"}, exitUsage, "--shutdown-grace: -1s: must be 0 or more"},
		{"a namespace without a name", []string{"--namespaces", "a,"}, exitUsage, "--namespaces: a name is empty"},
		{"an argument", []string{"run"}, exitUsage, "--help"},
		{"no API server", nil, exitFailed, "give --kubeconfig"},
	} {
		var stdout, stderr bytes.Buffer
		env := Env{
			Args: row.args, Stdout: &stdout, Stderr: &stderr,
			Config: func(string) (*rest.Config, error) { return nil, errors.New("no configuration has been provided") },
		}
		if code := Run(t.Context(), env); code != row.code || !strings.Contains(stderr.String(), row.stderr) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", row.why, code, stderr.String(), row.code, row.stderr)
		}
	}
	var stdout bytes.Buffer
	if code := Run(t.Context(), Env{Args: []string{"--help"}, Stdout: &stdout}); code != exitOK || !strings.Contains(stdout.String(), "--leader-elect") {
		t.Errorf("--help: exit code %d, %q", code, stdout.String())
	}
}

func TestTurns(t *testing.T) {
	turns := newTurns(3)
	first, ok := turns.take("slow")
	if !ok {
		t.Fatal("the first turn is refused")
	}
	if _, ok := turns.take("slow"); !ok {
		t.Error("a plane may have all workers but one")
	}
	if _, ok := turns.take("slow"); ok {
		t.Error("a plane took every worker: another one's tests would wait for it")
	}
	if _, ok := turns.take("other"); !ok {
		t.Error("another plane is refused")
	}
	first()
	if _, ok := turns.take("slow"); !ok {
		t.Error("a turn that ended is not given again")
	}
	if _, ok := newTurns(1).take("only"); !ok {
		t.Error("a single worker must work")
	}
}

func TestOnlyChangesThatMatterWake(t *testing.T) {
	base := func() *v1alpha1.CoderControlPlane {
		return &v1alpha1.CoderControlPlane{
			ObjectMeta: metav1.ObjectMeta{Generation: 1, ResourceVersion: "1"},
			Status:     v1alpha1.CoderControlPlaneStatus{URL: "https://coder", OperatorAccessReady: true},
		}
	}
	for _, row := range []struct {
		why    string
		change func(plane *v1alpha1.CoderControlPlane)
		wakes  bool
	}{
		{"a pod more or less", func(p *v1alpha1.CoderControlPlane) { p.Status.ReadyReplicas = 3 }, false},
		{"a label", func(p *v1alpha1.CoderControlPlane) { p.Labels = map[string]string{"a": "b"} }, false},
		{"the spec", func(p *v1alpha1.CoderControlPlane) { p.Generation = 2 }, true},
		{"another address", func(p *v1alpha1.CoderControlPlane) { p.Status.URL = "https://other" }, true},
		{"access", func(p *v1alpha1.CoderControlPlane) { p.Status.OperatorAccessReady = false }, true},
		{"another token", func(p *v1alpha1.CoderControlPlane) {
			p.Status.OperatorTokenSecretRef = &v1alpha1.SecretKeyReference{Name: "new", Key: "token"}
		}, true},
		{"its end", func(p *v1alpha1.CoderControlPlane) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
	} {
		after := base()
		row.change(after)
		if got := connectionChanged().Update(event.UpdateEvent{ObjectOld: base(), ObjectNew: after}); got != row.wakes {
			t.Errorf("%s wakes: %v, want %v", row.why, got, row.wakes)
		}
	}
}

func TestWhatATestWritesItselfDoesNotWakeIt(t *testing.T) {
	base := func() *v1alpha1.CoderTemplateTest {
		return &v1alpha1.CoderTemplateTest{ObjectMeta: metav1.ObjectMeta{
			UID: "one", Generation: 1, ResourceVersion: "1", Finalizers: []string{v1alpha1.CleanupFinalizer},
			Annotations: map[string]string{v1alpha1.DeletionPolicyAnnotation: "retain"},
		}}
	}
	for _, row := range []struct {
		why    string
		change func(test *v1alpha1.CoderTemplateTest)
		wakes  bool
	}{
		{"its status", func(test *v1alpha1.CoderTemplateTest) { test.ResourceVersion, test.Status.Phase = "2", "Running" }, false},
		{"a label", func(test *v1alpha1.CoderTemplateTest) { test.Labels = map[string]string{"a": "b"} }, false},
		{"its deletion", func(test *v1alpha1.CoderTemplateTest) { test.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		{"its hold", func(test *v1alpha1.CoderTemplateTest) { test.Finalizers = nil }, true},
		{"its policy", func(test *v1alpha1.CoderTemplateTest) { test.Annotations = nil }, true},
		{"another test of its name", func(test *v1alpha1.CoderTemplateTest) { test.UID = "two" }, true},
	} {
		after := base()
		row.change(after)
		if got := changedByOthers().Update(event.UpdateEvent{ObjectOld: base(), ObjectNew: after}); got != row.wakes {
			t.Errorf("%s wakes: %v, want %v", row.why, got, row.wakes)
		}
	}
	if !changedByOthers().Create(event.CreateEvent{Object: base()}) {
		t.Error("a new test does not wake")
	}
}

func TestSecretsOfAControlPlane(t *testing.T) {
	plane := &v1alpha1.CoderControlPlane{
		Spec: v1alpha1.CoderControlPlaneSpec{
			External:       &v1alpha1.ExternalControlPlane{CASecretRef: &v1alpha1.SecretKeyReference{Name: "ca"}},
			OperatorAccess: v1alpha1.OperatorAccess{TokenSecretRef: &v1alpha1.SecretKeyReference{Name: "token"}},
		},
		Status: v1alpha1.CoderControlPlaneStatus{OperatorTokenSecretRef: &v1alpha1.SecretKeyReference{Name: "made"}},
	}
	if got := strings.Join(secretsOf(plane), " "); got != "token made ca" {
		t.Errorf("its secrets are %q", got)
	}
	if got := secretsOf(&v1alpha1.CoderControlPlane{}); len(got) != 0 {
		t.Errorf("a control plane without secrets has %v", got)
	}
}

// TestStepInHandOutlivesTheOperator is cut off once its grace is over, and at once without one.
func TestStepInHandOutlivesTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		operates, end := context.WithCancel(t.Context())
		r := &testReconciler{grace: time.Minute}
		step, done := r.inHand(operates)
		defer done()
		end()
		<-time.After(time.Minute - 1)
		synctest.Wait()
		if step.Err() != nil {
			t.Error("the step is cut off before its grace is over")
		}
		<-time.After(1)
		synctest.Wait()
		if step.Err() == nil {
			t.Error("the step goes on when its grace is over")
		}
		hasty, done := (&testReconciler{}).inHand(operates)
		defer done()
		synctest.Wait()
		if hasty.Err() == nil {
			t.Error("without a grace a step goes on")
		}
	})
}

// TestTheClientLimitsNothing guards against a limit that client-go sets where none is set.
func TestTheClientLimitsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: one}}]
clusters: [{name: one, cluster: {server: "https://kubernetes.example.com"}}]
`
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := loadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://kubernetes.example.com" || config.QPS >= 0 {
		t.Errorf("host %q with %v requests a second", config.Host, config.QPS)
	}
}
