package coder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// FuzzJudge: only an answer with Coder's version header and a JSON message can be Coder's
// word, whatever else is in it.
func FuzzJudge(f *testing.F) {
	const page = "<html><body>{\"message\":\"x\"}</body></html>"
	for _, status := range []int{200, 204, 302, 400, 401, 403, 404, 406, 409, 410, 412, 425, 429, 500, 502} {
		f.Add(status, "v2.36.1", "application/json", `{"message":"no"}`, "", "7", true, false)
		f.Add(status, "", "application/json", `{"message":"no"}`, "", "", false, false)
		f.Add(status, "v2.36.1", "text/html; charset=utf-8", page, "", "", true, false)
	}
	f.Add(404, "v2.36.1", "application/json", `{"detail":"no message"}`, "", "", false, false)
	f.Add(404, "v2.36.1", "Application/JSON;charset=utf-8", `{"message":""}`, "", "", false, false)
	f.Add(404, "v2.36.1", "application/json", `{"message":404}`, "", "", false, false)
	f.Add(409, "v2.36.1", "application/json", `{"message":"\u0000\ud800\n`+strings.Repeat("ü", 200)+`"}`, "", "", true, false)
	f.Add(403, "v2.36.1", "application/json", `{"message":"cut of`, "", "", true, false)
	f.Add(403, "v2.36.1", "application/json", strings.Repeat(" ", maxErrorBody)+`{"message":"too late"}`, "", "", true, false)
	f.Add(302, "v2.36.1", "application/json", "", "https://login.example.com/path?token=s3cret", "", true, false)
	f.Add(302, "", "", "", "://%zz", "", true, false)
	f.Add(200, "v2.36.1", "text/event-stream", "", "", "", false, true)
	f.Add(200, "v2.36.1", "application/json", "", "", "", false, true)
	f.Fuzz(func(t *testing.T, status int, version, kind, body, location, retry string, change, stream bool) {
		header := http.Header{}
		for name, value := range map[string]string{
			codersdk.BuildVersionHeader: version, "Content-Type": kind, "Location": location, "Retry-After": retry,
		} {
			if value != "" {
				header.Set(name, value)
			}
		}
		q := request{op: "ask", change: change, stream: stream}
		failure := q.judge(&http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))})
		if failure == nil {
			if version == "" || status < 200 || status > 299 {
				t.Fatal("a success that is not Coder's")
			}
			return
		}
		var said struct {
			Message string `json:"message"`
		}
		coders := version != "" && json.NewDecoder(strings.NewReader(body)).Decode(&said) == nil && said.Message != ""
		byCoder := failure.Class != core.FailureUnavailable && failure.Class != core.FailureUncertain
		if byCoder && (!coders || status < 400 || status > 499) {
			t.Errorf("%s is taken for Coder's word", failure)
		}
		if !byCoder && change != (failure.Class == core.FailureUncertain) {
			t.Errorf("change: %t, but %s", change, failure)
		}
		if failure.Status != status || failure.RetryAfter < 0 || failure.RetryAfter > 0 && failure.Class != core.FailureRateLimited {
			t.Errorf("%+v", failure)
		}
		line := strings.IndexFunc(failure.Message, unicode.IsControl) < 0
		if len(failure.Message) > maxMessage || !utf8.ValidString(failure.Message) || !line {
			t.Errorf("a message of %d bytes, one line: %t: %q", len(failure.Message), line, failure.Message)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	const date = "Mon, 05 Jan 2026 09:00:00 GMT"
	for _, value := range []string{
		"7", " 7 ", "0", "-7", "+7", "7.5", "1e3", "99999999999", "2147483647", "Mon, 05 Jan 2026 09:00:30 GMT", "Mon, 05 Jan 2026 08:59:00 GMT",
		"Monday, 05-Jan-26 09:00:30 GMT", "Mon Jan  5 09:00:30 2026", "soon", "", "Fri, 31 Dec 9999 23:59:59 GMT",
	} {
		f.Add(value, date)
	}
	f.Add("Mon, 05 Jan 2026 09:00:30 GMT", "")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT")
	f.Fuzz(func(t *testing.T, value, date string) {
		header := http.Header{"Retry-After": {value}, "Date": {date}}
		wait := retryAfter(header)
		if wait < 0 {
			t.Fatalf("wait %s", wait)
		}
		if seconds, err := strconv.ParseInt(value, 10, 31); err == nil && seconds >= 0 && value[0] != '+' && value[0] != '-' &&
			wait != time.Duration(seconds)*time.Second {
			t.Errorf("%q is %s", value, wait)
		}
		if _, err := http.ParseTime(date); err != nil && wait > 0 && strings.ContainsAny(value, ":") {
			t.Errorf("%q is %s from an answer without a date", value, wait)
		}
	})
}

// FuzzWorkspace maps whatever Coder may send for a workspace.
func FuzzWorkspace(f *testing.F) {
	const id = "30000001-0000-4000-8000-000000000001"
	for _, build := range []string{
		`"job":{"status":"succeeded","tags":{"scope":"organization","owner":""}},"transition":"start","resources":[{"agents":[{"id":"a0000001-0000-4000-8000-000000000001","status":"connected","lifecycle_state":"ready"},{"parent_id":"a0000001-0000-4000-8000-000000000001"}]}]`,
		`"job":{"status":"succeeded"},"transition":"delete"`, `"job":{"status":"failed","error":"Coder: Build has been detected as hung for 5 minutes and has been terminated by the reaper.","completed_at":"2026-01-05T09:00:00Z"}`,
		`"job":{"status":"later"},"transition":"sideways","build_number":-1`, `"job":null,"resources":[null,{"agents":null}],"matched_provisioners":{"count":-1}`,
	} {
		f.Add([]byte(`{"id":"` + id + `","latest_build":{"id":"b0000001-0000-4000-8000-000000000001","workspace_id":"` + id + `",` + build + `}}`))
	}
	for _, body := range []string{``, `null`, `{}`, `[]`, `{"id":"` + id + `"}`, `{"id":"` + id + `","latest_build":{"id":"` + id + `","workspace_id":"` + uuid.Nil.String() + `"}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var sent codersdk.Workspace
		if json.NewDecoder(bytes.NewReader(body)).Decode(&sent) != nil {
			return
		}
		workspace, err := toWorkspace("read workspace", sent)
		if err != nil {
			var failure *core.Failure
			if !errors.As(err, &failure) || failure.Class != core.FailureMismatch || workspace.ID != uuid.Nil {
				t.Fatalf("%v with %+v", err, workspace)
			}
			return
		}
		latest := &workspace.Latest
		deleted := latest.Transition == core.TransitionDelete && latest.Job.Status == core.JobSucceeded
		switch {
		case workspace.ID == uuid.Nil || latest.ID == uuid.Nil || latest.WorkspaceID != workspace.ID:
			t.Errorf("workspace %s, build %s of %s", workspace.ID, latest.ID, latest.WorkspaceID)
		case workspace.Deleted != deleted:
			t.Errorf("deleted: %t after a %s build that %s", workspace.Deleted, latest.Transition, latest.Job.Status)
		case len(latest.Job.Tags) != len(sent.LatestBuild.Job.Tags) || !slices.IsSorted(latest.Job.Tags):
			t.Errorf("tags %q", latest.Job.Tags)
		}
	})
}

// FuzzRecords maps whatever Coder may send for a user, a version, and the organizations
// of a user: a membership that nobody can judge is a mismatch.
func FuzzRecords(f *testing.F) {
	const id = `"00900001-0000-4000-8000-000000000001"`
	f.Add([]byte(`{"id":`+id+`,"username":"tester","roles":[{"name":"auditor"}]}`), []byte(`{`+id+`:["organization-admin"]}`), []byte(`[{"id":`+id+`,"name":"acme"}]`))
	f.Add([]byte(`{"id":`+id+`,"template_id":null,"job":{"status":"succeeded"}}`), []byte(`{`+id+`:null}`), []byte(`[]`))
	f.Add([]byte(`null`), []byte(`null`), []byte(`[{"id":`+id+`}]`))
	f.Add([]byte(`{"roles":[null]}`), []byte(`{}`), []byte(`[null]`))
	f.Fuzz(func(t *testing.T, object, roles, organizations []byte) {
		var user codersdk.User
		if json.Unmarshal(object, &user) == nil {
			if got := toUser(user); got.ID != user.ID || len(got.SiteRoles) != len(user.Roles) {
				t.Errorf("user %+v", got)
			}
		}
		var version codersdk.TemplateVersion
		if json.Unmarshal(object, &version) == nil {
			if got := toVersion(version); got.ID != version.ID || (version.TemplateID == nil) != (got.TemplateID == uuid.Nil) && *version.TemplateID != uuid.Nil {
				t.Errorf("version %+v", got)
			}
		}
		var held map[uuid.UUID][]string
		var listed []codersdk.Organization
		if json.Unmarshal(roles, &held) != nil || json.Unmarshal(organizations, &listed) != nil {
			return
		}
		joined, err := memberships("read owner", held, listed)
		if err != nil {
			return
		}
		for organization, own := range held {
			i := slices.IndexFunc(joined, func(m core.Membership) bool { return m.OrganizationID == organization })
			if i < 0 || !slices.Equal(joined[i].Roles, own) {
				t.Errorf("the roles in organization %s are lost: %+v", organization, joined)
			}
		}
	})
}

// FuzzReadEvent reads streams of events: each event is one that the bytes spell out, and
// none is read past the end.
func FuzzReadEvent(f *testing.F) {
	for _, stream := range []string{
		"event: data\ndata: {}\n\n", "event:ping\n\n", "data: a\ndata: b\n\n", "\n\n\n", "event: data\r\ndata: {}\r\n\r\n", "event: data\ndata: {}", ": comment\n\n",
		"data\n\n", "event: error\ndata: {\"message\":\"no\"}\n\nevent: data\ndata: null\n\n", "data: \xff\x00\n\n", strings.Repeat("data: x\n", 3000) + "\n",
	} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		reader := bufio.NewReaderSize(bytes.NewReader(stream), 16)
		size := 0
		for {
			read, err := readEvent(reader)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%v", err)
				}
				return
			}
			size += len(read.kind) + len(read.data)
			if read.kind == "" && read.data == nil || size > len(stream) || strings.ContainsRune(read.kind, '\n') {
				t.Fatalf("event %q with %q after %d bytes of %d", read.kind, read.data, size, len(stream))
			}
			workspace, err := request{op: "watch workspace"}.workspaceOf(read, uuid.Nil)
			if err == nil && workspace != nil {
				t.Errorf("an event tells of a workspace without an ID: %+v", workspace)
			}
		}
	})
}
