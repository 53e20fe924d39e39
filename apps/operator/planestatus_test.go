package operator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/assay-dev/assay/adapters/kubernetes/managed"
	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// told is a status in one line.
func told(status *v1alpha1.CoderControlPlaneStatus) string {
	var words []string
	for _, kind := range []string{conditionAvailable, conditionOperatorAccess, conditionReconciling, conditionStalled} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		words = append(words, fmt.Sprintf("%s=%s/%s", kind, c.Status, c.Reason))
	}
	return string(status.Phase) + " " + strings.Join(words, " ")
}

func TestStatusOfAControlPlane(t *testing.T) {
	ready := accessSeen{state: accessReady, message: "the operator is in"}
	pods := func(replicas, ready int32, current bool) *managed.State {
		return &managed.State{Replicas: replicas, ReadyReplicas: ready, Current: current}
	}
	for _, row := range []struct {
		why  string
		seen planeSeen
		want string
		// ready is operatorAccessReady where it was true before; after, when it is looked at again.
		ready bool
		after time.Duration
	}{
		{
			"somebody else's, and all is well",
			planeSeen{access: ready},
			"Ready Available=True/Ready OperatorAccess=True/Ready Reconciling=False/Settled Stalled=False/Settled", true, lookWhileReady,
		},
		{
			"it does not answer: what was known about the token stands",
			planeSeen{silent: "refused"},
			"Pending Available=False/CoderUnavailable OperatorAccess=Unknown/CoderUnavailable Reconciling=True/CoderUnavailable Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"a token that is missing can come with the next change of its Secret",
			planeSeen{access: accessSeen{state: accessMissing}},
			"Ready Available=True/Ready OperatorAccess=False/OperatorAccessNotReady Reconciling=True/OperatorAccessNotReady Stalled=False/Settled", false, lookWhileUnready,
		},
		{
			"one that people have to ask for is nothing to wait for",
			planeSeen{access: accessSeen{state: accessBlocked}},
			"Ready Available=True/Ready OperatorAccess=False/OperatorAccessNotReady Reconciling=False/Settled Stalled=True/OperatorAccessNotReady", false, lookWhileReady,
		},
		{
			"a certificate's Secret that is missing",
			planeSeen{invalid: "external.caSecretRef: missing"},
			"Pending Available=False/ConnectionInvalid OperatorAccess=Unknown/CoderUnavailable Reconciling=True/ConnectionInvalid Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"ours, starting",
			planeSeen{pods: pods(1, 0, false), silent: "refused"},
			"Pending Available=False/PodsNotReady OperatorAccess=Unknown/CoderUnavailable Reconciling=True/PodsNotReady Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"ours, up",
			planeSeen{pods: pods(2, 2, true), access: ready},
			"Ready Available=True/Ready OperatorAccess=True/Ready Reconciling=False/Settled Stalled=False/Settled", true, lookWhileReady,
		},
		{
			"ours, changing its version",
			planeSeen{pods: pods(2, 1, false), access: ready},
			"Ready Available=True/Ready OperatorAccess=True/Ready Reconciling=True/PodsNotReady Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"ours, with no pods asked for",
			planeSeen{pods: pods(0, 0, true)},
			"Pending Available=False/ScaledToZero OperatorAccess=Unknown/CoderUnavailable Reconciling=True/ScaledToZero Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"ours, and the cluster refuses it for good",
			planeSeen{pods: pods(0, 0, false), refused: "another's Service"},
			"Pending Available=False/DeploymentRefused OperatorAccess=Unknown/CoderUnavailable Reconciling=False/Settled Stalled=True/DeploymentRefused", true, lookWhileReady,
		},
		{
			"ours, and the cluster fails this time",
			planeSeen{pods: pods(0, 0, false), deployFailed: "conflict"},
			"Pending Available=False/DeployFailed OperatorAccess=Unknown/CoderUnavailable Reconciling=True/DeployFailed Stalled=False/Settled", true, lookWhileUnready,
		},
		{
			"a token is to be renewed before the next look",
			planeSeen{access: accessSeen{state: accessReady, lookAgain: noon.Add(time.Minute)}},
			"Ready Available=True/Ready OperatorAccess=True/Ready Reconciling=False/Settled Stalled=False/Settled", true, time.Minute,
		},
	} {
		plane := &v1alpha1.CoderControlPlane{}
		plane.Generation, plane.Status.OperatorAccessReady = 7, true
		row.seen.url = "https://coder"
		got := statusOf(plane, row.seen, noon)
		if told(&got) != row.want || got.OperatorAccessReady != row.ready {
			t.Errorf("%s:\n got %s, access %v\nwant %s, access %v", row.why, told(&got), got.OperatorAccessReady, row.want, row.ready)
		}
		if after := nextLook(&row.seen, &got, noon); after != row.after {
			t.Errorf("%s: looked at again after %s, want %s", row.why, after, row.after)
		}
		if got.ObservedGeneration != 7 || got.URL != "https://coder" {
			t.Errorf("%s: generation %d, URL %q", row.why, got.ObservedGeneration, got.URL)
		}
		plane.Status = got
		if again := statusOf(plane, row.seen, noon.Add(time.Hour)); !equality.Semantic.DeepEqual(again, got) {
			t.Errorf("%s: the same look an hour later writes the status again", row.why)
		}
	}
}

func TestStatusTellsWhatToDo(t *testing.T) {
	seen := planeSeen{pods: &managed.State{Replicas: 3, Problem: "quota: too many pods"}}
	status := statusOf(&v1alpha1.CoderControlPlane{}, seen, noon)
	if c := meta.FindStatusCondition(status.Conditions, conditionAvailable); c.Message != "0 of 3 pods are ready: quota: too many pods" {
		t.Errorf("the message is %q", c.Message)
	}
	plane := &v1alpha1.CoderControlPlane{}
	plane.Spec.OperatorAccess.TokenSecretRef = &v1alpha1.SecretKeyReference{Name: "brought"}
	if status := statusOf(plane, planeSeen{}, noon); status.OperatorTokenSecretRef == nil || status.OperatorTokenSecretRef.Name != "brought" {
		t.Error("the status does not name the Secret that people brought")
	}
}

// TestTestsThatADeletionWaitsFor is the rule by which a control plane stays.
func TestTestsThatADeletionWaitsFor(t *testing.T) {
	attempt := metav1.NewTime(noon)
	deleted := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "WorkspaceDeleted", Status: status, Reason: reason}}
	}
	for _, row := range []struct {
		why    string
		change func(test *v1alpha1.CoderTemplateTest)
		waits  bool
	}{
		{"a test whose workspace exists", func(*v1alpha1.CoderTemplateTest) {}, true},
		{"nothing was sent", func(test *v1alpha1.CoderTemplateTest) { test.Status.WorkspaceID = "" }, false},
		{"a create may be under way", func(test *v1alpha1.CoderTemplateTest) {
			test.Status.WorkspaceID, test.Status.CreateAttemptTime = "", &attempt
		}, true},
		{"it is done", func(test *v1alpha1.CoderTemplateTest) { test.Finalizers = nil }, false},
		{"its workspace is being deleted", func(test *v1alpha1.CoderTemplateTest) { test.Status.Conditions = deleted("False", "Deleting") }, true},
		{"its workspace is gone", func(test *v1alpha1.CoderTemplateTest) { test.Status.Conditions = deleted("True", "Deleted") }, false},
		{"it keeps its workspace", func(test *v1alpha1.CoderTemplateTest) { test.Status.Conditions = deleted("False", "Retained") }, false},
		{"a workspace that is perhaps another's is never touched", func(test *v1alpha1.CoderTemplateTest) {
			test.Status.WorkspaceID, test.Status.CreateAttemptTime = "", &attempt
			test.Status.Conditions = deleted("Unknown", "OwnershipUnknown")
		}, false},
	} {
		test := &v1alpha1.CoderTemplateTest{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{v1alpha1.CleanupFinalizer}}}
		test.Status.WorkspaceID = "some"
		row.change(test)
		if got := cleans(test); got != row.waits {
			t.Errorf("%s: waited for: %v, want %v", row.why, got, row.waits)
		}
	}
}
