package sqlstore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

// FuzzStoredRecord reads documents as a database may hold them: written by this version,
// by an older or newer one, or by hand.
func FuzzStoredRecord(f *testing.F) {
	for _, document := range []string{
		`{"id":"7e57ab1e-0000-4000-8000-000000000001","generation":1,"createdAt":"2026-01-05T09:00:00.123456Z",` +
			`"spec":{"template":"acme.docker","version":{"active":true},"parameters":[{"name":"region","value":"eu"}],` +
			`"timeoutSeconds":900,"ttlSecondsAfterFinished":0,"controlPlaneRef":"main"},"deletionPolicy":"retain","held":true,` +
			`"status":{"phase":"Running","reason":"WaitingForBuild","message":"the start build is running","startTime":"2026-01-05T09:00:00Z",` +
			`"workspaceName":"ktt-7e57ab1e0000400080000000000","createAttemptTime":"2026-01-05T09:00:00Z",` +
			`"createAttemptID":"aa0b0000-0000-4000-8000-00000000000f","createAnswer":{"status":409},` +
			`"workspaceID":"30000001-0000-4000-8000-000000000001","conditions":[{"type":"Ready","status":"False",` +
			`"reason":"WaitingForBuild","message":"","lastTransitionTime":"2026-01-05T09:00:00Z"}]}}`,
		`{}`, `null`, `[]`, ``, `{"id":"not-a-uuid"}`, `{"id":"{7e57ab1e-0000-4000-8000-000000000001}"}`, `{"held":1}`, `{"createdAt":"2026-01-05"}`,
		`{"createdAt":"0001-01-01T01:00:00+01:00","deletionRequestedAt":"0001-01-01T01:00:00+01:00"}`,
		`{"createdAt":"9999-12-31T23:59:59-23:59"}`, `{"createdAt":"0000-01-01T00:00:00+23:59"}`,
		`{"status":{"conditions":[]},"spec":{"parameters":[]}}`, `{"status":{"createAnswer":{}}}`, `{"generation":9223372036854775808}`,
		"{\"name\":\"\\u0000\\ud800\xff\"}", `{"ID":"7e57ab1e-0000-4000-8000-000000000001","newer":{"field":[1]}} `, `{} {}`,
	} {
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, document string) {
		first, err := decode(7, document)
		if err != nil {
			if diff := cmp.Diff(core.Record{}, first); diff != "" {
				t.Errorf("a document that cannot be read gives a record (-want +got):\n%s", diff)
			}
			return
		}
		stored, err := encode(&first)
		if err != nil {
			t.Fatalf("what was read cannot be stored again: %v", err)
		}
		second, err := decode(7, stored.document)
		if err != nil {
			t.Fatalf("what was stored again cannot be read: %v\n%s", err, stored.document)
		}
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("storing changes the record (-before +after):\n%s", diff)
		}
		if stored.deletionRequestedAt.Valid != first.DeletionRequested() || stored.workspaceID.Valid != (first.Status.WorkspaceID != uuid.Nil) {
			t.Errorf("the columns do not say what the document says: %+v", stored)
		}
		if revision, err := parseRevision(&first); err != nil || revision != 7 {
			t.Errorf("revision %d, %v", revision, err)
		}
	})
}
