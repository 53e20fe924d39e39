package kubernetes_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/assay-dev/assay/adapters/kubernetes"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/fakes/clock"
	"github.com/assay-dev/assay/ports"
)

func TestControlPlanes(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	external := func(name string, change func(spec *v1alpha1.CoderControlPlaneSpec)) *v1alpha1.CoderControlPlane {
		plane := &v1alpha1.CoderControlPlane{ObjectMeta: meta(name), Spec: v1alpha1.CoderControlPlaneSpec{
			External:       &v1alpha1.ExternalControlPlane{URL: "https://coder.example.com/prefix", ServerName: "coder"},
			OperatorAccess: v1alpha1.OperatorAccess{TokenSecretRef: &v1alpha1.SecretKeyReference{Name: "secret"}},
			TemplateTests:  v1alpha1.TemplateTestPolicy{OwnerUserID: "owner", AllowRetain: true},
		}}
		change(&plane.Spec)
		return plane
	}
	deleting := external("deleting", func(*v1alpha1.CoderControlPlaneSpec) {})
	deleting.Finalizers = []string{"example.com/held"}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta("secret"), StringData: map[string]string{"token": "the-token\n", "empty": " ", "ca": "PEM"}},
		external("good", func(spec *v1alpha1.CoderControlPlaneSpec) {
			spec.External.CASecretRef = &v1alpha1.SecretKeyReference{Name: "secret", Key: "ca"}
		}),
		&v1alpha1.CoderControlPlane{ObjectMeta: meta("managed")},
		external("no-token", func(spec *v1alpha1.CoderControlPlaneSpec) { spec.OperatorAccess.TokenSecretRef = nil }),
		external("no-secret", func(spec *v1alpha1.CoderControlPlaneSpec) { spec.OperatorAccess.TokenSecretRef.Name = "missing" }),
		external("no-key", func(spec *v1alpha1.CoderControlPlaneSpec) { spec.OperatorAccess.TokenSecretRef.Key = "other" }),
		external("empty", func(spec *v1alpha1.CoderControlPlaneSpec) { spec.OperatorAccess.TokenSecretRef.Key = "empty" }),
		external("no-ca", func(spec *v1alpha1.CoderControlPlaneSpec) {
			spec.External.CASecretRef = &v1alpha1.SecretKeyReference{Name: "secret", Key: "other"}
		}),
		deleting,
	} {
		if err := c.live.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.live.Delete(t.Context(), deleting); err != nil {
		t.Fatal(err)
	}
	planes := kubernetes.NewControlPlanes(c.live, c.live, clock.New(time.Now()))
	for _, row := range []struct {
		name    string
		state   core.ControlPlaneState
		message string
		why     string
	}{
		{"good", core.ControlPlaneUsable, "", "everything is there"},
		{"managed", core.ControlPlaneUnready, "has no URL yet", "nothing runs there yet"},
		{"no-token", core.ControlPlaneNoAccess, "set operatorAccess.tokenSecretRef", "nobody gave one"},
		{"no-secret", core.ControlPlaneNoAccess, `the Secret "missing" does not exist`, "it may come"},
		{"no-key", core.ControlPlaneNoAccess, `has no key "other"`, "a typing mistake"},
		{"empty", core.ControlPlaneNoAccess, `the key "empty" of the Secret "secret" is empty`, "white space is no token"},
		{"no-ca", core.ControlPlaneUnready, "external.caSecretRef: ", "trusting others than asked for is no way out"},
		{"deleting", core.ControlPlaneGone, "is being deleted", "it is going"},
		{"missing", core.ControlPlaneGone, "it does not exist", "it is not there"},
	} {
		for _, fresh := range []ports.Freshness{ports.Cached, ports.Live} {
			got, err := planes.ControlPlane(t.Context(), kubernetes.Reference(namespace, row.name), fresh)
			if err != nil || got.State != row.state || !strings.Contains(got.Message, row.message) {
				t.Errorf("%s: %+v, error %v; want state %d, %q: %s", row.name, got, err, row.state, row.message, row.why)
			}
		}
	}
	good, err := planes.ControlPlane(t.Context(), kubernetes.Reference(namespace, "good"), ports.Live)
	if err != nil {
		t.Fatal(err)
	}
	want := core.Connection{
		URL: "https://coder.example.com/prefix", Token: core.NewSecret("the-token"), CACertificates: "PEM", ServerName: "coder",
	}
	if good.Connection != want || good.Policy != (core.Policy{OwnerUserID: "owner", AllowRetain: true}) {
		t.Errorf("connection %+v and policy %+v", good.Connection, good.Policy)
	}
	if _, err := planes.ControlPlane(t.Context(), "no-namespace", ports.Live); err == nil {
		t.Error("a reference without a namespace is taken")
	}
}

// TestExternalURLs refuses an address that would send the operator's token in clear, at
// admission and again where it is used: older objects were never asked.
func TestExternalURLs(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	planes := kubernetes.NewControlPlanes(c.live, c.live, clock.New(time.Now()))
	for _, row := range []struct {
		url, refused string
	}{
		{"https://coder.example.com", ""},
		{"http://coder.example.com", "must be https"},
		{"http://10.0.0.1:7080", "must be https"},
		{"http://127.0.0.1:3000/prefix", ""},
		{"http://localhost:3000", ""},
		{"http://[::1]:3000", ""},
		{"http://coder.coder.svc:80", ""},
		{"http://coder.coder.svc.cluster.local", ""},
		{"http://coder.svc.example.com", "must be https"},
		{"http://evil.example.com/.svc", "must be https"},
		{"ftp://coder.example.com", "must be an http or https URL"},
		{"coder.example.com", "must be an http or https URL"},
	} {
		plane := &v1alpha1.CoderControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "url-"},
			Spec:       v1alpha1.CoderControlPlaneSpec{External: &v1alpha1.ExternalControlPlane{URL: row.url}},
		}
		_, problem, err := planes.Connection(t.Context(), plane)
		if inClear := row.refused == "must be https"; err != nil || inClear != strings.Contains(problem, "use https") {
			t.Errorf("%s: the connection says %q, error %v", row.url, problem, err)
		}
		err = c.live.Create(t.Context(), plane)
		if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%s: admission says %v, want %q", row.url, err, row.refused)
		}
	}
}

// TestLeavingControlPlane goes on with the last connection while a deletion waits, even when
// the token's Secret went first, and is gone once the time is over.
func TestLeavingControlPlane(t *testing.T) {
	c := requireCluster(t)
	namespace := c.namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token"}, StringData: map[string]string{"token": "the-token"}}
	plane := &v1alpha1.CoderControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "coder", Finalizers: []string{v1alpha1.GraceFinalizer}},
		Spec: v1alpha1.CoderControlPlaneSpec{
			External:       &v1alpha1.ExternalControlPlane{URL: "https://coder.example.com"},
			OperatorAccess: v1alpha1.OperatorAccess{TokenSecretRef: &v1alpha1.SecretKeyReference{Name: "token"}},
		},
	}
	for _, object := range []client.Object{secret, plane} {
		if err := c.live.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	virtual := clock.New(time.Now())
	planes := kubernetes.NewControlPlanes(c.live, c.live, virtual)
	look := func(why string, planes *kubernetes.ControlPlanes, state core.ControlPlaneState) core.ControlPlane {
		t.Helper()
		got, err := planes.ControlPlane(t.Context(), kubernetes.Reference(namespace, "coder"), ports.Live)
		if err != nil || got.State != state {
			t.Fatalf("%s: %+v, error %v; want state %d", why, got, err, state)
		}
		return got
	}
	before := look("it is there", planes, core.ControlPlaneUsable)
	if err := c.live.Delete(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	look("its deletion waits", planes, core.ControlPlaneLeaving)
	if err := c.live.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if got := look("its Secret is gone", planes, core.ControlPlaneLeaving); got.Connection != before.Connection || got.Connection.Token.Empty() {
		t.Errorf("the connection is %+v", got.Connection)
	}
	look("an operator that never saw the Secret", kubernetes.NewControlPlanes(c.live, c.live, virtual), core.ControlPlaneGone)
	virtual.Advance(kubernetes.Grace + time.Second)
	look("its time is over", planes, core.ControlPlaneGone)
	if err := c.live.Get(t.Context(), client.ObjectKeyFromObject(plane), plane); err != nil {
		t.Fatal(err)
	}
	plane.Finalizers = nil
	if err := c.live.Update(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
}
