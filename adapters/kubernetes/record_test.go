package kubernetes

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// filled sets every field of a status, by reflection, so that one that is added to the
// core later and not to the API is noticed.
func filled(t *testing.T) core.Status {
	t.Helper()
	var status core.Status
	fill(t, reflect.ValueOf(&status).Elem())
	return status
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch value := v.Addr().Interface().(type) {
	case *uuid.UUID:
		*value = uuid.New()
		return
	case *time.Time:
		*value = noon
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text of " + v.Type().String())
	case reflect.Int, reflect.Int64:
		v.SetInt(409)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("a status has a field of kind %v now", v.Kind())
	}
}

func TestStatusKeepsEveryField(t *testing.T) {
	want := filled(t)
	written := writeStatus(&want)
	got, err := statusOf(uuid.New(), &written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the status differs after it was stored (-want +got):\n%s", diff)
	}
}

func TestEmptyStatusStoresNothing(t *testing.T) {
	if got := writeStatus(&core.Status{}); !reflect.DeepEqual(got, v1alpha1.CoderTemplateTestStatus{}) {
		t.Errorf("an empty status is stored as %+v", got)
	}
}

// object is a test as the API server returns it.
func object() *v1alpha1.CoderTemplateTest {
	inputs, ttl := int32(30), int32(0)
	return &v1alpha1.CoderTemplateTest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "nightly", UID: types.UID("11111111-1111-4111-8111-111111111111"), Generation: 1,
			ResourceVersion: "42", CreationTimestamp: metav1.NewTime(noon), Finalizers: []string{"other", v1alpha1.CleanupFinalizer},
			Annotations: map[string]string{v1alpha1.DeletionPolicyAnnotation: "Retain"},
		},
		Spec: v1alpha1.CoderTemplateTestSpec{
			ControlPlaneRef: v1alpha1.ControlPlaneReference{Name: "main"}, Template: "acme.docker",
			Version: v1alpha1.TemplateVersionSelector{Active: true}, Preset: "large",
			Parameters:           []v1alpha1.TemplateParameter{{Name: "region", Value: "eu"}},
			InputsTimeoutSeconds: &inputs, TTLSecondsAfterFinished: &ttl,
		},
	}
}

func TestRecordOf(t *testing.T) {
	ttl := 0
	want := core.Record{
		ID: uuid.MustParse("11111111-1111-4111-8111-111111111111"), Name: "team/nightly", Generation: 1, CreatedAt: noon,
		Spec: core.Spec{
			Template: "acme.docker", Version: core.VersionSelector{Active: true}, Preset: "large",
			Parameters: []core.Parameter{{Name: "region", Value: "eu"}}, TimeoutSeconds: core.DefaultTimeoutSeconds,
			InputsTimeoutSeconds: 30, TTLSecondsAfterFinished: &ttl, ControlPlaneRef: "team/main",
		},
		DeletionPolicy: "Retain", Held: true, Revision: "42",
	}
	got, err := RecordOf(object())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the record differs (-want +got):\n%s", diff)
	}
	deleted := object()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: noon}, []string{"other"}
	if got, err = RecordOf(deleted); err != nil || !got.DeletionRequested() || got.Held {
		t.Errorf("an object that is being deleted is %+v, error %v", got, err)
	}
}

func TestNewObjectWasObservedNever(t *testing.T) {
	test := object()
	test.Status.ObservedGeneration = -1
	if got, err := RecordOf(test); err != nil || !reflect.DeepEqual(got.Status, core.Status{}) {
		t.Errorf("the status that the API server gives a new test is read as %+v, error %v", got.Status, err)
	}
}

func TestMarkerOfAnOlderOperator(t *testing.T) {
	test := object()
	at := metav1.NewTime(noon)
	test.Status.CreateAttemptTime = &at
	first, err := RecordOf(test)
	if err != nil {
		t.Fatal(err)
	}
	second, err := RecordOf(test.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if !first.Status.HasMarker() || first.Status.CreateAttemptID != second.Status.CreateAttemptID {
		t.Errorf("its marker is %v, then %v; want the same one each time", first.Status.CreateAttemptID, second.Status.CreateAttemptID)
	}
	later := metav1.NewTime(noon.Add(time.Second))
	test.Status.CreateAttemptTime = &later
	if third, err := RecordOf(test); err != nil || third.Status.CreateAttemptID == first.Status.CreateAttemptID {
		t.Errorf("another attempt has the same ID (error %v)", err)
	}
}

func TestStatusThatNoOperatorWrites(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(test *v1alpha1.CoderTemplateTest)
		want   string
	}{
		{"an ID that is none", func(test *v1alpha1.CoderTemplateTest) { test.Status.WorkspaceID = "mine" }, "status.workspaceID"},
		{"an object that has no UID yet", func(test *v1alpha1.CoderTemplateTest) { test.UID = "" }, "its UID"},
	} {
		test := object()
		row.change(test)
		if _, err := RecordOf(test); err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "team/nightly") {
			t.Errorf("%s: error is %v, want one that names the test and %q", row.why, err, row.want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, row := range []struct {
		key string
		ok  bool
	}{{"team/main", true}, {"main", false}, {"/main", false}, {"team/", false}, {"", false}} {
		if _, err := parseKey(row.key); (err == nil) != row.ok {
			t.Errorf("%q: error is %v, want ok %v", row.key, err, row.ok)
		}
	}
	if key, err := parseKey(Reference("team", "main")); err != nil || key.Namespace != "team" || key.Name != "main" {
		t.Errorf("the reverse of Reference is %v, error %v", key, err)
	}
}
