package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// eventSink tells each transition of a test as an event of its object. The recorder
// queues; nobody waits for it.
type eventSink struct{ recorder events.EventRecorder }

var _ ports.StatusSink = eventSink{}

// Transition implements ports.StatusSink.
func (s eventSink) Transition(transition core.StoredTransition) {
	before, after := &transition.Before, &transition.After
	test := reference(after)
	if before.Status.Phase != after.Status.Phase || before.Status.Reason != after.Status.Reason {
		kind := corev1.EventTypeNormal
		if after.Status.Phase == core.PhaseFailed {
			kind = corev1.EventTypeWarning
		}
		s.recorder.Eventf(test, nil, kind, string(after.Status.Reason), "Test", "%s", after.Status.Message)
	}
	was, is := before.Status.Condition(core.ConditionWorkspaceDeleted), after.Status.Condition(core.ConditionWorkspaceDeleted)
	if is.Reason != "" && (was.Status != is.Status || was.Reason != is.Reason) {
		kind := corev1.EventTypeNormal
		if is.Status == core.ConditionUnknown {
			kind = corev1.EventTypeWarning
		}
		s.recorder.Eventf(test, nil, kind, string(is.Reason), "CleanUp", "%s", is.Message)
	}
}

// reference is the test's object, as far as an event needs it.
func reference(record *core.Record) *v1alpha1.CoderTemplateTest {
	namespace, name, _ := strings.Cut(record.Name, "/")
	return &v1alpha1.CoderTemplateTest{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "CoderTemplateTest"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(record.ID.String())},
	}
}
