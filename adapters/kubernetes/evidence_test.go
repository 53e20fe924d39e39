package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/planes"
)

const (
	evidenceToken     = "the-token-of-the-operator"
	evidenceParameter = "value of a parameter"
	maxSecret         = 900 << 10
)

// indexing builds a client in memory that has the store's indexes.
type indexing struct{ builder *fake.ClientBuilder }

func (i indexing) IndexField(_ context.Context, object client.Object, field string, value client.IndexerFunc) error {
	i.builder.WithIndex(object, field, value)
	return nil
}

func inMemory(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	if err := kubernetes.AddIndexes(t.Context(), indexing{builder}); err != nil {
		t.Fatal(err)
	}
	return builder.Build()
}

func failedTest(namespace, name string) *v1alpha1.CoderTemplateTest {
	return &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CoderTemplateTestSpec{
			ControlPlaneRef: v1alpha1.ControlPlaneReference{Name: "coder"}, Template: "acme.docker",
			Version: v1alpha1.TemplateVersionSelector{Active: true}, TimeoutSeconds: 900,
			Parameters: []v1alpha1.TemplateParameter{{Name: "secret", Value: evidenceParameter}},
		},
	}
}

func planesWithToken(namespace string) *planes.Planes {
	return planes.New(core.ControlPlane{
		Ref: namespace + "/coder", State: core.ControlPlaneUsable,
		Connection: core.Connection{URL: "https://coder", Token: core.NewSecret(evidenceToken)},
	})
}

// evidenceOf has a build log and two scripts of an agent that is named after a parameter.
func evidenceOf(id uuid.UUID, build string) core.Evidence {
	agent := uuid.New()
	return core.Evidence{
		TestID: id,
		Workspace: core.Workspace{ID: uuid.New(), Name: "ktt-1", Latest: core.Build{
			Number: 1, Job: core.Job{Status: core.JobSucceeded},
			Agents: []core.Agent{{ID: agent, Name: evidenceParameter, Status: core.AgentConnected, Lifecycle: core.AgentStartError}},
		}},
		Logs: []core.Log{
			{Source: "build", Text: build},
			{Source: "Startup Script", AgentID: agent, Text: "token " + evidenceToken + "\n" + evidenceParameter + "\nexit 1\n"},
			{Source: "Startup Script", AgentID: agent, Text: evidenceToken[5:] + "\nthe end of a long log\n", Truncated: true},
		},
	}
}

func TestEvidence(t *testing.T) {
	test := failedTest("team", "nightly")
	test.UID = types.UID(uuid.NewString())
	objects := inMemory(t, test)
	sink := kubernetes.NewEvidence(objects, objects, planesWithToken("team"))
	evidence := evidenceOf(uuid.MustParse(string(test.UID)), "made a workspace\n"+evidenceToken+"\n")
	take := func() *corev1.Secret {
		t.Helper()
		if err := sink.Evidence(t.Context(), evidence); err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{}
		if err := objects.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "nightly-evidence"}, secret); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	secret := take()
	for key, want := range map[string]string{
		"build.log":                "made a workspace\n***\n",
		"---.Startup-Script.log":   "token ***\n***\nexit 1\n",
		"---.Startup-Script-2.log": "[the beginning of this log was cut]\nthe end of a long log\n",
	} {
		if got := string(secret.Data[key]); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var state struct {
		Agents []struct{ Name, Lifecycle string }
	}
	if err := json.Unmarshal(secret.Data["workspace.json"], &state); err != nil || len(state.Agents) != 1 ||
		state.Agents[0].Name != "***" || state.Agents[0].Lifecycle != "start_error" {
		t.Errorf("workspace.json is %s, %v", secret.Data["workspace.json"], err)
	}
	if len(secret.Data) != 4 || secret.Labels[kubernetes.ManagedByLabel] != kubernetes.ManagedBy || secret.Labels[kubernetes.TestLabel] != "nightly" {
		t.Errorf("keys %d, labels %v", len(secret.Data), secret.Labels)
	}
	if again := take(); again.ResourceVersion != secret.ResourceVersion {
		t.Error("the same evidence again changed the Secret")
	}
	evidence.Logs[0].Text = "more\n"
	if again := take(); string(again.Data["build.log"]) != "more\n" {
		t.Errorf("later evidence is not kept: %q", again.Data["build.log"])
	}
}

func TestEvidenceIsCutToWhatASecretTakes(t *testing.T) {
	test := failedTest("team", "nightly")
	test.UID = types.UID(uuid.NewString())
	objects := inMemory(t, test)
	evidence := evidenceOf(uuid.MustParse(string(test.UID)), strings.Repeat("a line of the build log\n", 60000)+"the last line\n")
	for range 300 {
		evidence.Workspace.Latest.Agents = append(evidence.Workspace.Latest.Agents, core.Agent{ID: uuid.New(), Name: strings.Repeat("n", 2000)})
		evidence.Logs = append(evidence.Logs, core.Log{Source: "x", AgentID: evidence.Logs[1].AgentID, Text: strings.Repeat("y", 8000)})
	}
	if err := kubernetes.NewEvidence(objects, objects, planesWithToken("team")).Evidence(t.Context(), evidence); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := objects.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "nightly-evidence"}, secret); err != nil {
		t.Fatal(err)
	}
	total := 0
	for key, value := range secret.Data {
		total += len(key) + len(value)
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("the key %q is refused: %v", key, problems)
		}
	}
	if total > maxSecret || total < maxSecret/2 {
		t.Errorf("%d bytes are kept of %d allowed", total, maxSecret)
	}
	log := string(secret.Data["build.log"])
	if !strings.HasPrefix(log, "[the beginning of this log was cut]\na line of the build log\n") || !strings.HasSuffix(log, "the last line\n") {
		t.Errorf("the build log is %.80q … %q", log, log[max(0, len(log)-40):])
	}
	if got := string(secret.Data["omitted"]); got != "103 more logs\n" {
		t.Errorf("omitted is %q", got)
	}
	if !json.Valid(secret.Data["workspace.json"]) {
		t.Error("workspace.json is no JSON any more")
	}
}

func TestEvidenceThatCannotBeKept(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("down")
	test := failedTest("team", "nightly")
	test.UID = types.UID(uuid.NewString())
	id := uuid.MustParse(string(test.UID))
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "nightly-evidence", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderTemplateTest", Name: "nightly", UID: "an older test of this name",
		}}},
		Data: map[string][]byte{"mine": []byte("keep")},
	}
	for _, row := range []struct {
		why     string
		objects []client.Object
		funcs   interceptor.Funcs
		planes  *planes.Planes
		id      uuid.UUID
		says    string
	}{
		{"the Secret is another test's", []client.Object{test, foreign}, interceptor.Funcs{}, planesWithToken("team"), id, "belongs to somebody else"},
		{"the test is not known", nil, interceptor.Funcs{}, planesWithToken("team"), id, "no such test"},
		{"nothing can be read", []client.Object{test}, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return unavailable
			},
		}, planesWithToken("team"), id, "down"},
		{"nothing can be written", []client.Object{test}, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return unavailable
			},
		}, planesWithToken("team"), id, "down"},
		{"the token is not known", []client.Object{test}, interceptor.Funcs{}, planes.New(), id, "token to mask"},
		{"the control plane cannot be read", []client.Object{test}, interceptor.Funcs{}, func() *planes.Planes {
			p := planesWithToken("team")
			p.Fail(errors.New("planes are down"))
			return p
		}(), id, "planes are down"},
	} {
		objects := inMemory(t, row.objects...)
		failing := interceptor.NewClient(objects, row.funcs)
		err := kubernetes.NewEvidence(failing, failing, row.planes).Evidence(t.Context(), evidenceOf(row.id, "text"))
		if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), evidenceToken) {
			t.Errorf("%s: error %v, want it to say %q", row.why, err, row.says)
		}
		var secrets corev1.SecretList
		if err := objects.List(t.Context(), &secrets); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets.Items {
			if string(secret.Data["mine"]) != "keep" || len(secret.Data) != 1 {
				t.Errorf("%s: the Secret %s is %v", row.why, secret.Name, secret.Data)
			}
		}
	}
}

func TestEvidenceName(t *testing.T) {
	if got := kubernetes.EvidenceName("nightly"); got != "nightly-evidence" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("a.", 126) + "a"
	other := long[:252] + "b"
	one, two := kubernetes.EvidenceName(long), kubernetes.EvidenceName(other)
	for _, name := range []string{one, two} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || !strings.HasSuffix(name, "-evidence") {
			t.Errorf("%q: %v", name, problems)
		}
	}
	if one == two {
		t.Error("two long names have one Secret")
	}
}

// TestEvidenceInACluster shows on a real API server that a Secret of the largest size is
// taken, and goes with its test.
func TestEvidenceInACluster(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	test := failedTest(namespace, strings.Repeat("n", 250))
	if err := c.live.Create(t.Context(), test); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cache to know the test", func(ctx context.Context) (bool, error) {
		err := c.cached.Get(ctx, client.ObjectKeyFromObject(test), &v1alpha1.CoderTemplateTest{})
		return err == nil, client.IgnoreNotFound(err)
	})
	sink := kubernetes.NewEvidence(c.cached, c.live, planesWithToken(namespace))
	id := uuid.MustParse(string(test.UID))
	key := types.NamespacedName{Namespace: namespace, Name: kubernetes.EvidenceName(test.Name)}
	secret := &corev1.Secret{}
	for _, build := range []string{strings.Repeat("0123456789abcde\n", 1<<16), "short, with " + evidenceToken + "\n"} {
		if err := sink.Evidence(t.Context(), evidenceOf(id, build)); err != nil {
			t.Fatal(err)
		}
		if err := c.live.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(secret.Data["build.log"]); got != "short, with ***\n" {
		t.Errorf("the build log is %q", got)
	}
	if err := c.live.Delete(t.Context(), test); err != nil {
		t.Fatal(err)
	}
	// The collector looks for new kinds, such as those of this cluster, every 30 s.
	gone := func(ctx context.Context) (bool, error) {
		err := c.live.Get(ctx, key, &corev1.Secret{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, gone); err != nil {
		t.Errorf("the Secret does not go with its test: %v", err)
	}
}
