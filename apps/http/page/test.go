package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/apps/http/access"
	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

type testBody struct {
	Test        view
	Transitions []core.TestTransition
	// Evidence is nil where there is none.
	Evidence *core.StoredEvidence
	// MayTest: the caller may ask something of this test.
	MayTest bool
}

func (p *Pages) test(w http.ResponseWriter, r *http.Request) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return &service.Error{Kind: service.NotFound, Message: "That is no test's ID."}
	}
	body, err := p.testBody(r.Context(), id)
	if err != nil {
		return err
	}
	f := frame{Title: body.Test.Title, Here: "tests", Body: body}
	if !body.Test.Finished {
		f.Refresh = 5
	}
	switch r.URL.Query().Get("fragment") {
	case "row":
		f.Body = body.Test
		return p.render(r.Context(), w, http.StatusOK, "list", "row", f)
	default:
		return p.show(w, r, http.StatusOK, "test", f)
	}
}

func (p *Pages) testBody(ctx context.Context, id uuid.UUID) (testBody, error) {
	test, err := p.Service.Get(ctx, id)
	if err != nil {
		return testBody{}, err
	}
	body := testBody{Test: p.view(&test), MayTest: access.CallerOf(ctx).May(access.Tester, test.ControlPlane)}
	if body.Transitions, err = p.Service.Transitions(ctx, id, 0, 0); err != nil {
		return testBody{}, err
	}
	evidence, err := p.Service.Evidence(ctx, id)
	var known *service.Error
	switch {
	case err == nil:
		body.Evidence = &evidence
	case !errors.As(err, &known) || known.Kind != service.NotFound:
		return testBody{}, err
	}
	return body, nil
}

// stop stops a test, or deletes the record of a finished one: whichever the button said.
// One that said to stop a test which has ended meanwhile does nothing, lest it delete the
// verdict and the evidence that nobody saw yet.
func (p *Pages) stop(w http.ResponseWriter, r *http.Request) error {
	stop := p.Service.StopUnlessFinished
	if r.PostFormValue("finished") == "true" {
		stop = p.Service.Stop
	}
	return p.ask(w, r, func(id uuid.UUID) (gone bool, err error) {
		_, gone, err = stop(r.Context(), id)
		return gone, err
	})
}

func (p *Pages) policy(w http.ResponseWriter, r *http.Request) error {
	return p.ask(w, r, func(id uuid.UUID) (gone bool, err error) {
		_, err = p.Service.SetPolicy(r.Context(), id, core.DeletionPolicy(r.PostFormValue("deletionPolicy")))
		return false, err
	})
}

// ask does what a button asks of a test, and shows the test again.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request, do func(id uuid.UUID) (gone bool, err error)) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return &service.Error{Kind: service.NotFound, Message: "That is no test's ID."}
	}
	gone, err := do(id)
	if err != nil {
		return err
	}
	to := "/tests/" + id.String()
	if gone {
		to = "/"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

func (p *Pages) planes(w http.ResponseWriter, r *http.Request) error {
	planes, err := p.Service.ControlPlanes(r.Context())
	if err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, "planes", frame{Title: "Control planes", Here: "planes", Body: planes})
}

func (p *Pages) sweep(w http.ResponseWriter, r *http.Request) error {
	report, err := p.Service.Sweep(r.Context(), r.PathValue("name"), sweepAge)
	if err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, "sweep", frame{Title: "Left workspaces", Here: "planes", Body: report})
}
