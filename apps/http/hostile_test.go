package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/assay-dev/assay/core"
)

// schema is what the tests read of a schema.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Format     string             `json:"format"`
	Enum       []any              `json:"enum"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

// operation is what the tests read of an operation.
type operation struct {
	method, path string
	Parameters   []struct {
		Name, In string
		Schema   *schema
	}
	RequestBody *struct {
		Content map[string]struct{ Schema *schema }
	}
}

// operations are what the server says that it can do.
func (f *fixture) operations() (all []operation, schemas map[string]*schema) {
	f.t.Helper()
	var document struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal([]byte(f.do(asked{method: http.MethodGet, path: "/openapi.json"}).text), &document); err != nil {
		f.t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method, one := range methods {
			one.method, one.path = strings.ToUpper(method), path
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all, document.Components.Schemas
}

// odd are texts that were somebody's trouble once.
var odd = []string{
	"", " ", "'", "\"", "' OR '1'='1", "%", "_", "\x00", "\xff\xfe", "\n", "\u202e", "../..", "%2e%2e", "null", "-1", "1e999", "NaN", "{}", "<script>", "${jndi:x}",
	strings.Repeat("a", 300), "🙂", "coder.webapp", "main", "good", "9223372036854775808", "2026-13-40T99:99:99Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
}

// valueOf draws a value for a schema: mostly one of its type, sometimes anything.
func valueOf(t *rapid.T, schemas map[string]*schema, s *schema, depth int) any {
	if s != nil && s.Ref != "" {
		s = schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s == nil || depth > 4 || rapid.IntRange(0, 9).Draw(t, "anything") == 0 {
		return rapid.SampledFrom([]any{nil, true, 1, -1.5, "text", []any{}, map[string]any{}, []any{[]any{nil}}}).Draw(t, "value")
	}
	if len(s.Enum) > 0 && rapid.Bool().Draw(t, "of the list") {
		return rapid.SampledFrom(s.Enum).Draw(t, "listed")
	}
	kind := fmt.Sprint(s.Type)
	switch {
	case strings.Contains(kind, "object") || s.Properties != nil:
		object := map[string]any{}
		for name, property := range s.Properties {
			if rapid.IntRange(0, 3).Draw(t, "has "+name) > 0 {
				object[name] = valueOf(t, schemas, property, depth+1)
			}
		}
		return object
	case strings.Contains(kind, "array"):
		var list []any
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, valueOf(t, schemas, s.Items, depth+1))
		}
		return list
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return rapid.OneOf(rapid.IntRange(-10, 10000), rapid.Just(1<<40)).Draw(t, "number")
	case strings.Contains(kind, "boolean"):
		return rapid.Bool().Draw(t, "truth")
	default:
		return textOf(t, s)
	}
}

func textOf(t *rapid.T, s *schema) string {
	if s != nil && s.Format == "uuid" && rapid.Bool().Draw(t, "a UUID") {
		return uuid.NewSHA1(uuid.Nil, []byte(rapid.String().Draw(t, "seed"))).String()
	}
	return rapid.OneOf(rapid.SampledFrom(odd), rapid.String()).Draw(t, "text")
}

// TestRequestsThatNobodyExpects sends requests that are drawn from the server's own
// description of its API. Whatever comes, the server answers, as it says, and never that it
// failed itself.
func TestRequestsThatNobodyExpects(t *testing.T) {
	f := serve(t, "--requests-per-second", "100000", "--burst", "100000")
	operations, schemas := f.operations()
	if len(operations) < 10 {
		t.Fatalf("%d operations", len(operations))
	}
	for range 20 {
		rapid.Check(t, func(t *rapid.T) { f.unexpected(t, operations, schemas) })
	}
}

// unexpected sends one such request.
func (f *fixture) unexpected(t *rapid.T, operations []operation, schemas map[string]*schema) {
	o := rapid.SampledFrom(operations).Draw(t, "operation")
	path, query, header := o.path, url.Values{}, map[string]string{}
	for _, parameter := range o.Parameters {
		text := fmt.Sprint(valueOf(t, schemas, parameter.Schema, 3))
		switch parameter.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+parameter.Name+"}", url.PathEscape(text))
		case "query":
			if rapid.Bool().Draw(t, "asks "+parameter.Name) {
				query.Add(parameter.Name, text)
			}
		case "header":
			if rapid.Bool().Draw(t, "sends "+parameter.Name) {
				header[parameter.Name] = headerText(text)
			}
		}
	}
	request := asked{method: o.method, path: path + "?" + query.Encode(), header: header}
	if o.RequestBody != nil {
		text, err := json.Marshal(valueOf(t, schemas, o.RequestBody.Content["application/json"].Schema, 0))
		if err != nil {
			t.Fatal(err)
		}
		// Some are cut short on their way.
		request.body = string(text[:rapid.IntRange(0, len(text)).Draw(t, "cut")])
		if rapid.Bool().Draw(t, "whole") {
			request.body = string(text)
		}
	}
	status, kind, text := f.begins(request)
	if status >= 500 && status != http.StatusServiceUnavailable {
		t.Fatalf("%s %s %v: %d %s\n%s", request.method, request.path, request.body, status, text, f.log.String())
	}
	if status >= 400 && kind != "application/problem+json" {
		t.Fatalf("%s %s: %d is no problem document but %q: %s", request.method, request.path, status, kind, text)
	}
}

// headerText is what of a text can be sent in a header.
func headerText(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, text)
}

// begins sends a request and reads the beginning of its answer: a stream has no end.
func (f *fixture) begins(a asked) (status int, kind, text string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	body, _ := a.body.(string)
	request, err := http.NewRequestWithContext(ctx, a.method, f.URL+a.path, strings.NewReader(body))
	if err != nil {
		return 0, "", "" // no client can send it
	}
	for name, value := range a.header {
		request.Header.Set(name, value)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	kind = response.Header.Get("Content-Type")
	if kind == "text/event-stream" {
		return response.StatusCode, kind, ""
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return response.StatusCode, kind, string(answer)
}

// TestManyWhoWatch has a thousand clients watch, of which every other one takes nothing: the
// others miss nothing, and the server ends in time.
func TestManyWhoWatch(t *testing.T) {
	const clients = 1000
	f := serve(t, "--requests-per-second", "100000", "--burst", "100000")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var opened, watching sync.WaitGroup
	opened.Add(clients)
	seen := make(chan string, clients)
	for i := range clients {
		watching.Go(func() {
			begin := sync.OnceFunc(opened.Done)
			defer begin()
			// A client whose connection is lost comes back to where it was, as browsers do.
			for last := ""; ctx.Err() == nil; {
				if one := f.watchOnce(ctx, &last, begin, i%2 == 1); one != "" {
					seen <- one
					return
				}
			}
		})
	}
	opened.Wait()
	id := f.ended("good").ID
	for got := range clients / 2 {
		select {
		case one := <-seen:
			if one != id {
				t.Errorf("a client saw test %s end, want %s", one, id)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d clients saw the test end", got, clients/2)
		}
	}
	if code := f.stop(); code != 0 {
		t.Errorf("the server ended with exit code %d:\n%s", code, f.log.String())
	}
	cancel()
	watching.Wait()
}

// watchOnce watches all tests from the event last on, over one connection: until a test is
// done, whose ID it returns, or the connection ends. begun is called once the server has
// said where the stream is. A stalled client takes nothing from then on.
func (f *fixture) watchOnce(ctx context.Context, last *string, begun func(), stalled bool) (done string) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		return ""
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Now()) })()
	header := ""
	if *last != "" {
		header = "Last-Event-ID: " + *last + "\r\n"
	}
	if _, err := fmt.Fprintf(connection, "GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", header); err != nil {
		return ""
	}
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		if id, found := strings.CutPrefix(lines.Text(), "id: "); found {
			*last = id
			begun()
			if stalled {
				<-ctx.Done()
			}
		}
		var transition core.TestTransition
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if found && json.Unmarshal([]byte(data), &transition) == nil && transition.Stage == core.StageDone.String() {
			return transition.Test.String()
		}
	}
	return ""
}

// TestSlowBodies has clients that send the beginning of a request and then nothing: each is
// answered or cut off in time, and nobody else waits for them. It takes as long as the
// bounds of a request.
func TestSlowBodies(t *testing.T) {
	if os.Getenv("ASSAY_E2E") == "" {
		t.Skip("set ASSAY_E2E=1 to wait as long as a slow request may take")
	}
	f := serve(t, "--requests-per-second", "10000", "--burst", "10000")
	var ending sync.WaitGroup
	for name, begun := range map[string]string{
		"a body of the API":  "POST /api/v1/tests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"template\":",
		"a form of the page": "POST /tests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ntemplate=",
		"chunks":             "POST /api/v1/tests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"headers":            "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
	} {
		for range 20 {
			ending.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(f.URL, "http://"))
				if err == nil {
					_, err = io.WriteString(connection, begun)
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				defer func() { _ = connection.Close() }()
				defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Now()) })()
				answer, err := io.ReadAll(connection)
				if ctx.Err() != nil {
					t.Errorf("%s: the server waits without end", name)
				}
				if err == nil && len(answer) > 0 && !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
					t.Errorf("%s: the answer is %.80q", name, answer)
				}
			})
		}
	}
	// Meanwhile others are served.
	f.ended("good")
	ending.Wait()
	var left struct{ Tests []test }
	if f.api(http.MethodGet, "/tests", nil, http.StatusOK, &left); len(left.Tests) != 1 {
		t.Errorf("%d tests, want the one that was asked for as a whole", len(left.Tests))
	}
}
