package page

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assay-dev/assay/apps/http/service"
	"github.com/assay-dev/assay/core"
)

// pageLength is how many tests a page lists.
const pageLength = 50

type listBody struct {
	Tests []view
	// Next is the query of the next page, empty on the last one.
	Next string
	// Live: the page is the newest part of an unfiltered list, so new tests belong on it.
	Live     bool
	Filter   filter
	Filtered bool
	Planes   []service.Plane
	// Problem says what is wrong with the filters.
	Problem string
}

// filter is what a person looks for.
type filter struct {
	Result, Plane, Template, Version, From, Before string
}

// results are the choices of the filter for how a test stands.
var results = map[string]core.TestQuery{
	"running":      {Phases: []core.Phase{core.PhasePending, core.PhaseRunning}},
	"passed":       {Classes: []core.OutcomeClass{core.OutcomePassed}},
	"failed":       {Classes: []core.OutcomeClass{core.OutcomeTemplateFailed}},
	"inconclusive": {Classes: []core.OutcomeClass{core.OutcomeInconclusive}},
	"unfinished":   {Unfinished: true},
}

func (p *Pages) list(w http.ResponseWriter, r *http.Request) error {
	asked := r.URL.Query()
	body := listBody{Filter: filter{
		Result: asked.Get("result"), Plane: asked.Get("plane"), Template: strings.TrimSpace(asked.Get("template")),
		Version: strings.TrimSpace(asked.Get("version")), From: asked.Get("from"), Before: asked.Get("before"),
	}}
	body.Filtered = body.Filter != filter{}
	query, problem := body.Filter.query()
	query.After, query.Limit = asked.Get("cursor"), pageLength
	if body.Problem = problem; problem == "" {
		page, err := p.Service.List(r.Context(), query)
		if err != nil {
			return err
		}
		for i := range page.Tests {
			body.Tests = append(body.Tests, p.view(&page.Tests[i]))
		}
		if page.Next != "" {
			asked.Set("cursor", page.Next)
			body.Next = "/?" + asked.Encode()
		}
	}
	body.Live = !body.Filtered && query.After == ""
	var err error
	if body.Planes, err = p.Service.ControlPlanes(r.Context()); err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, "list", frame{Title: "Tests", Here: "tests", Refresh: 10, Body: body})
}

// query is what the filter asks for, or what is wrong with it.
func (f filter) query() (query core.TestQuery, problem string) {
	query, known := results[f.Result]
	if f.Result != "" && !known {
		return core.TestQuery{}, "Result: must be one of " + strings.Join(slices.Sorted(maps.Keys(results)), ", ") + "."
	}
	if f.Plane != "" {
		query.ControlPlanes = []string{f.Plane}
	}
	query.Template, query.Version = f.Template, f.Version
	for _, one := range []struct {
		text string
		into *time.Time
		name string
	}{{f.From, &query.CreatedFrom, "From"}, {f.Before, &query.CreatedBefore, "Before"}} {
		if one.text == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, one.text)
		if err != nil {
			return core.TestQuery{}, one.name + ": must be a day such as 2026-11-30."
		}
		*one.into = day
	}
	return query, ""
}
