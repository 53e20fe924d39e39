package core

import "time"

// ConditionType names a condition of a record.
type ConditionType string

// The conditions of lifecycle section 3.
const (
	// ConditionReady is True when the phase is Succeeded.
	ConditionReady ConditionType = "Ready"
	// ConditionReconciling is True when the phase is Pending or Running; its
	// reason is the current wait.
	ConditionReconciling ConditionType = "Reconciling"
	// ConditionStalled is True when the phase is Failed.
	ConditionStalled ConditionType = "Stalled"
	// ConditionWorkspaceDeleted is True when no workspace of this test can exist,
	// False while one can, Unknown where nothing proves either.
	ConditionWorkspaceDeleted ConditionType = "WorkspaceDeleted"
)

// ConditionStatus is the status of a condition.
type ConditionStatus string

// The condition statuses.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Condition is one aspect of a record, in the form that Kubernetes uses.
type Condition struct {
	Type    ConditionType   `json:"type"`
	Status  ConditionStatus `json:"status"`
	Reason  Reason          `json:"reason"`
	Message string          `json:"message"`
	// LastTransitionTime is when Status last changed, in whole seconds.
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
}

// Condition returns the condition of the type, or a zero Condition, whose Status
// is empty, when the record has none yet.
func (s *Status) Condition(t ConditionType) Condition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return Condition{}
}

// SetCondition stores c. LastTransitionTime becomes now (truncated to seconds)
// when the status differs from the stored one, and is kept otherwise.
func (s *Status) SetCondition(now time.Time, c Condition) {
	c.LastTransitionTime = now.UTC().Truncate(time.Second)
	// The slice can be shared with the record that this one was copied from.
	conditions := make([]Condition, 0, len(s.Conditions)+1)
	replaced := false
	for _, old := range s.Conditions {
		if old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			old, replaced = c, true
		}
		conditions = append(conditions, old)
	}
	if !replaced {
		conditions = append(conditions, c)
	}
	s.Conditions = conditions
}
