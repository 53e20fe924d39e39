package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/assay-dev/assay/adapters/kubernetes/v1alpha1"
	"github.com/assay-dev/assay/core"
)

// RecordOf reads a test as the core knows it. An error means that the status holds what
// no operator writes, for example an ID that is none.
func RecordOf(test *v1alpha1.CoderTemplateTest) (core.Record, error) {
	id, err := uuid.Parse(string(test.UID))
	if err != nil {
		return core.Record{}, fmt.Errorf("read test %s/%s: its UID: %w", test.Namespace, test.Name, err)
	}
	status, err := statusOf(id, &test.Status)
	if err != nil {
		return core.Record{}, fmt.Errorf("read test %s/%s: %w", test.Namespace, test.Name, err)
	}
	record := core.Record{
		ID: id, Name: test.Namespace + "/" + test.Name, Generation: test.Generation,
		CreatedAt: test.CreationTimestamp.UTC(), Spec: specOf(test),
		DeletionPolicy: test.Annotations[v1alpha1.DeletionPolicyAnnotation],
		Held:           slices.Contains(test.Finalizers, v1alpha1.CleanupFinalizer),
		Revision:       test.ResourceVersion, Status: status,
	}
	if test.DeletionTimestamp != nil {
		record.DeletionRequestedAt = test.DeletionTimestamp.UTC()
	}
	return record, nil
}

// Reference is how the core refers to a control plane.
func Reference(namespace, name string) string { return namespace + "/" + name }

// parseKey splits what Reference, or a record's name, puts together.
func parseKey(key string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, fmt.Errorf("%q is not of the form namespace/name", key)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func specOf(test *v1alpha1.CoderTemplateTest) core.Spec {
	spec := core.Spec{
		Template:        test.Spec.Template,
		Version:         core.VersionSelector(test.Spec.Version),
		Preset:          test.Spec.Preset,
		TimeoutSeconds:  int(test.Spec.TimeoutSeconds),
		ControlPlaneRef: Reference(test.Namespace, test.Spec.ControlPlaneRef.Name),
	}
	for _, parameter := range test.Spec.Parameters {
		spec.Parameters = append(spec.Parameters, core.Parameter(parameter))
	}
	if seconds := test.Spec.InputsTimeoutSeconds; seconds != nil {
		spec.InputsTimeoutSeconds = int(*seconds)
	}
	if seconds := test.Spec.TTLSecondsAfterFinished; seconds != nil {
		ttl := int(*seconds)
		spec.TTLSecondsAfterFinished = &ttl
	}
	return spec.WithDefaults()
}

func statusOf(test uuid.UUID, s *v1alpha1.CoderTemplateTestStatus) (core.Status, error) {
	status := core.Status{
		ObservedGeneration: max(0, s.ObservedGeneration), Phase: core.Phase(s.Phase), Reason: core.Reason(s.Reason), Message: s.Message,
		StartTime: timeOf(s.StartTime), CompletionTime: timeOf(s.CompletionTime),
		Pins: core.Pins{
			TemplateVersionName: s.TemplateVersionName, WorkspaceName: s.WorkspaceName, DeploymentID: s.DeploymentID,
		},
		CreateAttemptTime: timeOf(s.CreateAttemptTime), StartBuildRan: s.StartBuildRan, AgentsReadyTime: timeOf(s.AgentsReadyTime),
		DeleteAttempts: int(s.DeleteAttempts),
		OutcomeClass:   core.OutcomeClass(s.OutcomeClass), LastWaitReason: core.Reason(s.LastWaitReason), ErrorCode: s.ErrorCode,
	}
	for _, id := range []struct {
		field, value string
		into         *uuid.UUID
	}{
		{"organizationID", s.OrganizationID, &status.OrganizationID},
		{"templateID", s.TemplateID, &status.TemplateID},
		{"templateVersionID", s.TemplateVersionID, &status.TemplateVersionID},
		{"ownerID", s.OwnerID, &status.OwnerID},
		{"operatorUserID", s.OperatorUserID, &status.OperatorUserID},
		{"createAttemptID", s.CreateAttemptID, &status.CreateAttemptID},
		{"workspaceID", s.WorkspaceID, &status.WorkspaceID},
		{"startBuildID", s.StartBuildID, &status.StartBuildID},
		{"deleteBuildID", s.DeleteBuildID, &status.DeleteBuildID},
	} {
		if id.value == "" {
			continue
		}
		parsed, err := uuid.Parse(id.value)
		if err != nil {
			return core.Status{}, fmt.Errorf("status.%s: %w", id.field, err)
		}
		*id.into = parsed
	}
	if s.CreateAnswer != nil {
		status.CreateAnswer = &core.CreateAnswer{Status: int(s.CreateAnswer.Status), Message: s.CreateAnswer.Message}
	}
	for _, c := range s.Conditions {
		status.Conditions = append(status.Conditions, core.Condition{
			Type: core.ConditionType(c.Type), Status: core.ConditionStatus(c.Status), Reason: core.Reason(c.Reason),
			Message: c.Message, LastTransitionTime: c.LastTransitionTime.UTC(), ObservedGeneration: c.ObservedGeneration,
		})
	}
	completeMarker(test, &status)
	return status, nil
}

// completeMarker gives the marker of an older operator, which knew no IDs of attempts,
// an ID: always the same one for the same marker.
func completeMarker(test uuid.UUID, status *core.Status) {
	if status.CreateAttemptTime.IsZero() || status.CreateAttemptID != uuid.Nil {
		return
	}
	status.CreateAttemptID = uuid.NewSHA1(test, []byte(status.CreateAttemptTime.UTC().Format(time.RFC3339)))
}

// writeStatus is the reverse of statusOf.
func writeStatus(status *core.Status) v1alpha1.CoderTemplateTestStatus {
	s := v1alpha1.CoderTemplateTestStatus{
		ObservedGeneration: status.ObservedGeneration, Phase: string(status.Phase), Reason: string(status.Reason),
		Message: status.Message, OutcomeClass: string(status.OutcomeClass), LastWaitReason: string(status.LastWaitReason),
		ErrorCode: status.ErrorCode,
		StartTime: timeIn(status.StartTime), CompletionTime: timeIn(status.CompletionTime),
		OrganizationID: idIn(status.OrganizationID), TemplateID: idIn(status.TemplateID),
		TemplateVersionID: idIn(status.TemplateVersionID), TemplateVersionName: status.TemplateVersionName,
		OwnerID: idIn(status.OwnerID), WorkspaceName: status.WorkspaceName, DeploymentID: status.DeploymentID,
		OperatorUserID:    idIn(status.OperatorUserID),
		CreateAttemptTime: timeIn(status.CreateAttemptTime), CreateAttemptID: idIn(status.CreateAttemptID),
		WorkspaceID: idIn(status.WorkspaceID), StartBuildID: idIn(status.StartBuildID), StartBuildRan: status.StartBuildRan,
		AgentsReadyTime: timeIn(status.AgentsReadyTime), DeleteBuildID: idIn(status.DeleteBuildID),
		DeleteAttempts: int32(status.DeleteAttempts), //nolint:gosec // one every half hour at most: it stays small
	}
	if answer := status.CreateAnswer; answer != nil {
		s.CreateAnswer = &v1alpha1.CreateAnswer{Status: int32(answer.Status), Message: answer.Message} //nolint:gosec // 400 to 499
	}
	for _, c := range status.Conditions {
		s.Conditions = append(s.Conditions, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason), Message: c.Message,
			LastTransitionTime: metav1.NewTime(c.LastTransitionTime), ObservedGeneration: c.ObservedGeneration,
		})
	}
	return s
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func timeIn(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	in := metav1.NewTime(t)
	return &in
}

func idIn(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}
