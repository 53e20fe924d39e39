package coder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

// maxBody bounds the body of an answer, in bytes. The largest are lists of builds
// and logs, which Coder itself cuts at 1 MiB of text.
const maxBody = 64 << 20

// request is one request to Coder.
type request struct {
	// op says what is asked, for people.
	op     string
	method string
	// path is below /api/v2, its parts escaped.
	path  string
	query url.Values
	// body is sent as JSON, and archive, if set, instead of it as it is.
	body    any
	archive []byte
	// change tells that the request can take effect in Coder: it is sent at most
	// once.
	change bool
	// stream tells that the answer is a stream of events.
	stream bool
}

// get reads an object. The headers are those of the answer, of a failure too; nil
// when none came.
func (r *Runner) get(ctx context.Context, op, path string, query url.Values, into any) (http.Header, error) {
	return r.do(ctx, request{op: op, method: http.MethodGet, path: path, query: query}, decode(into))
}

// ask reads what takes a POST to describe; it changes nothing.
func (r *Runner) ask(ctx context.Context, op, path string, body, into any) error {
	_, err := r.do(ctx, request{op: op, method: http.MethodPost, path: path, body: body}, decode(into))
	return err
}

// change sends a request that changes something, once.
func (r *Runner) change(ctx context.Context, q request, into any) error {
	q.change = true
	_, err := r.do(ctx, q, decode(into))
	return err
}

// decode reads one JSON value.
func decode(into any) func(io.Reader) error {
	return func(body io.Reader) error { return json.NewDecoder(body).Decode(into) }
}

// do sends the request and has read take the body of a success. Every error is a
// *core.Failure.
func (r *Runner) do(ctx context.Context, q request, read func(io.Reader) error) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	response, failure := r.open(ctx, q)
	if response == nil {
		return nil, failure
	}
	defer response.Body.Close()
	defer drain(response.Body)
	if failure != nil {
		return response.Header, failure
	}
	if err := read(io.LimitReader(response.Body, maxBody)); err != nil {
		return response.Header, q.unreadable(ctx, response.StatusCode, err)
	}
	return response.Header, nil
}

// open sends the request. The answer, whose body the caller closes, is a success of
// Coder's; with a failure comes the answer that told it, or nil when there was none.
func (r *Runner) open(ctx context.Context, q request) (*http.Response, *core.Failure) {
	var sent atomic.Bool
	mark := func() { sent.Store(true) }
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { mark() },
		WroteHeaders:         mark,
		GotFirstResponseByte: mark,
	})
	message, err := r.message(ctx, q)
	if err != nil {
		return nil, q.unanswered(ctx, false, err)
	}
	client := r.reads
	if q.change {
		client = r.changes
	}
	began := time.Now()
	response, err := client.Do(message)
	r.tell(q, response, time.Since(began))
	if err != nil {
		return nil, q.unanswered(ctx, sent.Load(), err)
	}
	return response, q.judge(response)
}

// tell has the request observed.
func (r *Runner) tell(q request, response *http.Response, took time.Duration) {
	if r.observe == nil {
		return
	}
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	r.observe(q.method, routeOf(q.path), status, took)
}

func (r *Runner) message(ctx context.Context, q request) (*http.Request, error) {
	target := r.base + "/api/v2" + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	contentType := ""
	switch {
	case q.archive != nil:
		body, contentType = bytes.NewReader(q.archive), codersdk.ContentTypeTar
	case q.body != nil:
		encoded, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body, contentType = bytes.NewReader(encoded), "application/json"
	}
	message, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if q.change {
		// Without a way to read the body again, the transport has nothing to send a
		// second time.
		message.GetBody = nil
	}
	if contentType != "" {
		message.Header.Set("Content-Type", contentType)
	}
	if q.stream {
		message.Header.Set("Accept", "text/event-stream")
	}
	message.Header.Set("User-Agent", "assay")
	if !r.token.Empty() {
		message.Header.Set(codersdk.SessionTokenHeader, r.token.Reveal())
	}
	return message, nil
}

// drain reads a little of what is left, so that the connection can be used again.
func drain(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxErrorBody)
}

// serverTime is the answer's Date. Without one the answer is not what was asked
// for: Coder dates every answer.
func serverTime(op string, header http.Header) (time.Time, error) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil || date.IsZero() {
		return time.Time{}, mismatch(op, "the answer has no usable Date")
	}
	return date.UTC().Truncate(time.Second), nil
}

// mismatch is the failure of an answer that does not name what was asked for.
func mismatch(op, format string, arguments ...any) *core.Failure {
	return &core.Failure{
		Class: core.FailureMismatch, Op: op, Status: http.StatusOK,
		Message: bounded(fmt.Sprintf(format, arguments...)),
	}
}
