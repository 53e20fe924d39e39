package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/adapters/report"
	"github.com/assay-dev/assay/adapters/serverclient"
	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/apps/http/service"
)

// TestTheClientTellsTheSame shows that what the client makes of a test is reported as the
// server itself reports it.
func TestTheClientTellsTheSame(t *testing.T) {
	f := serve(t)
	client, err := serverclient.New(serverclient.Config{URL: f.URL, Clock: systemclock.New()})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(change map[string]any) string {
		body := newTest("broken")
		for name, value := range change {
			body[name] = value
		}
		var begun test
		f.api(http.MethodPost, "/tests", body, http.StatusCreated, &begun)
		return f.watcher().awaitEnd(begun.ID).ID
	}
	var running test
	f.api(http.MethodPost, "/tests", newTest("slow"), http.StatusCreated, &running)
	for _, row := range []struct{ name, id string }{
		{"passed", f.ended("good").ID},
		{"failed, with all that can be asked for", begin(map[string]any{
			"name": "all of it", "preset": "small", "parameters": []map[string]string{{"name": "region", "value": "us"}}, "timeoutSeconds": 77,
			"inputsTimeoutSeconds": 5, "ttlSecondsAfterFinished": 0, "retain": true,
		})},
		{"inconclusive", begin(map[string]any{"version": map[string]any{"name": "missing"}, "inputsTimeoutSeconds": 1})},
		{"the active version", begin(map[string]any{"version": map[string]any{"active": true}})},
		{"running", running.ID},
	} {
		t.Run(row.name, func(t *testing.T) {
			record, _, err := client.Test(t.Context(), uuid.MustParse(row.id))
			if err != nil {
				t.Fatal(err)
			}
			// A test that runs can have gone on meanwhile.
			var said service.Test
			for attempt := 0; ; attempt++ {
				f.api(http.MethodGet, "/tests/"+row.id, nil, http.StatusOK, &said)
				if record, _, err = client.Test(t.Context(), uuid.MustParse(row.id)); err != nil {
					t.Fatal(err)
				}
				if said.Message == record.Status.Message || attempt > 100 {
					break
				}
			}
			want := said.Test
			want.Stages, want.Verdict = nil, ""
			if diff := cmp.Diff(asJSON(t, want), asJSON(t, report.NewTest(&record))); diff != "" {
				t.Errorf("the client's report (-server +client):\n%s", diff)
			}
			if record.Stage().String() != said.Stage || record.AtEnd() != said.Finished || record.Spec.TimeoutSeconds != said.TimeoutSeconds ||
				record.DeletionPolicy != string(said.DeletionPolicy) || record.LeakRisk() != said.LeakRisk {
				t.Errorf("record %+v\nserver %+v", record, said)
			}
			if diff := cmp.Diff(said.Parameters, record.Spec.Parameters); diff != "" {
				t.Errorf("parameters (-server +client):\n%s", diff)
			}
			if diff := cmp.Diff(said.TTLSecondsAfterFinished, record.Spec.TTLSecondsAfterFinished); diff != "" {
				t.Errorf("time to live (-server +client):\n%s", diff)
			}
		})
	}
	listed, more, err := client.Tests(t.Context(), 2)
	if err != nil || len(listed) != 2 || !more {
		t.Errorf("%d tests of 2, more: %v, error %v", len(listed), more, err)
	}
	all, more, err := client.Tests(t.Context(), 0)
	if err != nil || len(all) < 4 || more || all[0].ID != listed[0].ID {
		t.Errorf("%d tests of all, more: %v, error %v", len(all), more, err)
	}
	f.api(http.MethodDelete, "/tests/"+running.ID, nil, http.StatusAccepted, nil)
}

func asJSON(t *testing.T, document any) map[string]any {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
