package service

import (
	"time"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/core"
)

// Test is a test as callers see it: what every report says of one, and what only a server
// knows.
type Test struct {
	report.Test

	ControlPlane string `json:"controlPlane" doc:"The control plane that the test runs on."`
	// Parameters are by name; values are for those who may test.
	Parameters              []core.Parameter `json:"parameters,omitempty" doc:"The parameters. Their values are empty in lists, and for callers who may not test."`
	TimeoutSeconds          int              `json:"timeoutSeconds" doc:"The bound of the run up to the verdict, in seconds."`
	InputsTimeoutSeconds    int              `json:"inputsTimeoutSeconds,omitempty" doc:"The bound of the waits before the workspace is made, in seconds."`
	TTLSecondsAfterFinished *int             `json:"ttlSecondsAfterFinished,omitempty" doc:"How long the record stays once nothing is left to do, in seconds."`

	Stage string `json:"stage" enum:"inputs,create,build,agents,delete,cleanup,done" doc:"Where the test stands."`
	// DeletionRequestedAt is set once somebody asked the test to stop.
	DeletionRequestedAt time.Time           `json:"deletionRequestedAt,omitzero" doc:"When somebody asked the test to stop and go."`
	DeletionPolicy      core.DeletionPolicy `json:"deletionPolicy" enum:"delete,retain" doc:"What is asked for the workspace of the finished test."`
	Conditions          []core.Condition    `json:"conditions,omitempty" doc:"The conditions, in the form that Kubernetes uses."`
	Explanation         *Explanation        `json:"explanation,omitempty" doc:"The reason in words."`
	// WorkspaceExplanation explains what became of the workspace.
	WorkspaceExplanation *Explanation `json:"workspaceExplanation,omitempty" doc:"What became of the workspace, in words."`
	// Finished: the verdict stands, and nothing more happens by itself.
	Finished bool `json:"finished" doc:"The verdict stands, or the test was stopped, and nothing more happens by itself."`
}

// Explanation says in words what a reason means, and what to do about it.
type Explanation struct {
	Meaning  string `json:"meaning"`
	WhatToDo string `json:"whatToDo"`
}

// Page is a part of the tests that a query finds, newest first.
type Page struct {
	Tests []Test `json:"tests"`
	Next  string `json:"next,omitempty" doc:"Give it as cursor to get the next page. Absent on the last one."`
}

// newTest tells of a test what its record says, parameters' values left out.
func newTest(record *core.Record) Test {
	policy, _ := core.ParseDeletionPolicy(record.DeletionPolicy)
	test := Test{
		Test: report.NewTest(record), ControlPlane: record.Spec.ControlPlaneRef,
		TimeoutSeconds: record.Spec.TimeoutSeconds, InputsTimeoutSeconds: record.Spec.InputsTimeoutSeconds,
		TTLSecondsAfterFinished: record.Spec.TTLSecondsAfterFinished,
		Stage:                   record.Stage().String(), DeletionRequestedAt: record.DeletionRequestedAt, DeletionPolicy: policy,
		Conditions: record.Status.Conditions, Finished: record.AtEnd(),
		Explanation:          explained(record.Status.Reason.Explain()),
		WorkspaceExplanation: explained(record.Status.Condition(core.ConditionWorkspaceDeleted).Reason.ExplainDeletion()),
	}
	if record.Status.Phase.Final() {
		test.Verdict = report.VerdictOf(record, false)
	}
	for _, parameter := range record.Spec.Parameters {
		test.Parameters = append(test.Parameters, core.Parameter{Name: parameter.Name})
	}
	return test
}

func explained(words core.Explanation) *Explanation {
	if words == (core.Explanation{}) {
		return nil
	}
	return &Explanation{Meaning: words.Meaning, WhatToDo: words.WhatToDo}
}
