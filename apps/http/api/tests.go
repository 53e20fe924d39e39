package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

// NewTest is the body of a request for a test.
type NewTest struct {
	Name            string          `json:"name,omitempty" maxLength:"100" doc:"What people call the test."`
	ControlPlaneRef string          `json:"controlPlaneRef,omitempty" maxLength:"64" doc:"The control plane to test on. It may be left out where you see one alone."`
	Template        string          `json:"template" maxLength:"65" example:"coder.docker" doc:"The template: <organization>.<template>."`
	Version         VersionSelector `json:"version" doc:"The version: exactly one of name, id and active."`
	// The rules are those of core.Spec; only what every JSON reader can check is said here.
	Parameters              []ParameterValue `json:"parameters,omitempty" maxItems:"64" doc:"Values for the version's parameters. They are stored in plain text: never secrets."`
	Preset                  string           `json:"preset,omitempty" maxLength:"128" doc:"A preset of the version. Parameters win over it."`
	TimeoutSeconds          int              `json:"timeoutSeconds,omitempty" minimum:"60" maximum:"7200" default:"900" doc:"Bounds the run up to the verdict; cleanup goes on after it."`
	InputsTimeoutSeconds    int              `json:"inputsTimeoutSeconds,omitempty" minimum:"1" maximum:"7200" doc:"Bounds the waits before the workspace is made; unset for no bound of its own."`
	TTLSecondsAfterFinished *int             `json:"ttlSecondsAfterFinished,omitempty" minimum:"0" maximum:"315360000" doc:"Deletes the record of the finished test so long after its workspace is gone; unset to keep it."`
	Retain                  bool             `json:"retain,omitempty" doc:"Keeps the workspace of a failed test, where the control plane allows it."`
}

// VersionSelector selects a version of a template.
type VersionSelector struct {
	Name   string `json:"name,omitempty" maxLength:"64" example:"v1.4.0" doc:"The name of a version."`
	ID     string `json:"id,omitempty" maxLength:"36" doc:"The ID of a version."`
	Active bool   `json:"active,omitempty" doc:"The version that is active when Coder is first asked."`
}

// ParameterValue is a value for a parameter of the version.
type ParameterValue struct {
	Name  string `json:"name" maxLength:"128"`
	Value string `json:"value" maxLength:"4096"`
}

func (n *NewTest) asked() service.NewTest {
	spec := core.Spec{
		Template: n.Template, Version: core.VersionSelector(n.Version), Preset: n.Preset, TimeoutSeconds: n.TimeoutSeconds,
		InputsTimeoutSeconds: n.InputsTimeoutSeconds, TTLSecondsAfterFinished: n.TTLSecondsAfterFinished, ControlPlaneRef: n.ControlPlaneRef,
	}
	for _, parameter := range n.Parameters {
		spec.Parameters = append(spec.Parameters, core.Parameter(parameter))
	}
	return service.NewTest{Name: n.Name, Spec: spec, Retain: n.Retain}
}

// TestID is the path of one test.
type TestID struct {
	ID uuid.UUID `path:"id" format:"uuid" doc:"The test's ID."`
}

// testAnswer is a test.
type testAnswer struct {
	Status   int    `header:"-"`
	Location string `header:"Location" doc:"Where the test is."`
	Body     service.Test
}

func (h *handlers) registerTests(api huma.API) {
	huma.Register(api, operation("create-test", http.MethodPost, "/tests", "Start a test", func(o *huma.Operation) {
		o.Description = "Stores a test and begins it. With an Idempotency-Key the request can be repeated: for 24 hours it makes no second test, and answers 200 with the first one."
		o.DefaultStatus = http.StatusCreated
		o.Responses = map[string]*huma.Response{"200": {
			Description: "The Idempotency-Key was used for the same request before: its test.",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[service.Test](), true, "")}},
		}}
		o.Errors = append(o.Errors, http.StatusConflict, http.StatusUnprocessableEntity)
	}), h.create)
	huma.Register(api, operation("list-tests", http.MethodGet, "/tests", "List tests", func(o *huma.Operation) {
		o.Description = "Newest first, in pages. Values of one filter are alternatives; several filters must all fit."
		o.Errors = append(o.Errors, http.StatusUnprocessableEntity)
	}), h.list)
	huma.Register(api, operation("get-test", http.MethodGet, "/tests/{id}", "Look at a test", func(o *huma.Operation) {
		o.Errors = append(o.Errors, http.StatusNotFound)
	}), h.get)
	huma.Register(api, operation("delete-test", http.MethodDelete, "/tests/{id}", "Stop a test and clean up", func(o *huma.Operation) {
		o.Description = "Stores the wish that the test stops. Its workspace is deleted, and its record goes once nothing can exist any more. Repeating it changes nothing."
		o.DefaultStatus = http.StatusAccepted
		o.Errors = append(o.Errors, http.StatusNotFound)
	}), h.stop)
	huma.Register(api, operation("set-deletion-policy", http.MethodPut, "/tests/{id}/deletion-policy", "Retain a workspace, or let it go", func(o *huma.Operation) {
		o.Description = "Says what becomes of the workspace of the test once it failed. Set back to delete, a retained workspace is deleted."
		o.Errors = append(o.Errors, http.StatusNotFound, http.StatusUnprocessableEntity)
	}), h.setPolicy)
	huma.Register(api, operation("forget-test", http.MethodPost, "/tests/{id}/forget", "Drop the record of a test that nothing can finish", func(o *huma.Operation) {
		o.Description = "For administrators, after the test was asked to stop: drops the record whatever became of the workspace, which the answer names."
		o.Errors = append(o.Errors, http.StatusNotFound, http.StatusConflict)
	}), h.forget)
}

type createInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" doc:"Your own name for this request: 1 to 128 printable characters."`
	Body NewTest
}

func (h *handlers) create(ctx context.Context, input *createInput) (*testAnswer, error) {
	test, created, err := h.Create(ctx, input.Body.asked(), input.Key)
	if err != nil {
		return nil, h.said(ctx, "body.", err)
	}
	answer := &testAnswer{Status: http.StatusCreated, Location: Prefix + "/tests/" + test.ID.String(), Body: test}
	if !created {
		answer.Status = http.StatusOK
	}
	return answer, nil
}

type listInput struct {
	Phases        []core.Phase        `query:"phase" enum:"Pending,Running,Succeeded,Failed" doc:"Only tests in one of these phases."`
	Classes       []core.OutcomeClass `query:"class" enum:"Passed,TemplateFailed,Inconclusive" doc:"Only tests whose verdict is of one of these classes."`
	ControlPlanes []string            `query:"controlPlane" maxItems:"50" doc:"Only tests on one of these control planes."`
	Template      string              `query:"template" maxLength:"65" doc:"Only tests of this template."`
	Version       string              `query:"version" maxLength:"64" doc:"Only tests of the version of this name or ID."`
	From          time.Time           `query:"from" doc:"Only tests made at this time or later."`
	Before        time.Time           `query:"before" doc:"Only tests made before this time."`
	Unfinished    bool                `query:"unfinished" doc:"Only tests for which something is left to do."`
	Limit         int                 `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The length of a page."`
	Cursor        string              `query:"cursor" maxLength:"256" doc:"The next of the answer before."`
}

func (h *handlers) list(ctx context.Context, input *listInput) (*struct{ Body service.Page }, error) {
	page, err := h.List(ctx, core.TestQuery{
		Phases: input.Phases, Classes: input.Classes, ControlPlanes: input.ControlPlanes, Template: input.Template, Version: input.Version,
		CreatedFrom: input.From, CreatedBefore: input.Before, Unfinished: input.Unfinished, After: input.Cursor, Limit: input.Limit,
	})
	if err != nil {
		return nil, h.said(ctx, "query.", err)
	}
	return &struct{ Body service.Page }{page}, nil
}

func (h *handlers) get(ctx context.Context, input *TestID) (*struct{ Body service.Test }, error) {
	test, err := h.Get(ctx, input.ID)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body service.Test }{test}, nil
}

// Stopped says what came of the wish that a test stops.
type Stopped struct {
	Gone bool         `json:"gone" doc:"The record went at once: nothing of the test can exist."`
	Test service.Test `json:"test" doc:"The test as it is now, or as it was before it went."`
}

func (h *handlers) stop(ctx context.Context, input *TestID) (*struct{ Body Stopped }, error) {
	test, gone, err := h.Stop(ctx, input.ID)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body Stopped }{Stopped{gone, test}}, nil
}

type policyInput struct {
	TestID
	Body struct {
		DeletionPolicy core.DeletionPolicy `json:"deletionPolicy" enum:"delete,retain"`
	}
}

func (h *handlers) setPolicy(ctx context.Context, input *policyInput) (*struct{ Body service.Test }, error) {
	test, err := h.SetPolicy(ctx, input.ID, input.Body.DeletionPolicy)
	if err != nil {
		return nil, h.said(ctx, "body.", err)
	}
	return &struct{ Body service.Test }{test}, nil
}

func (h *handlers) forget(ctx context.Context, input *TestID) (*struct{ Body service.Test }, error) {
	test, err := h.Forget(ctx, input.ID)
	if err != nil {
		return nil, h.said(ctx, "path.", err)
	}
	return &struct{ Body service.Test }{test}, nil
}
