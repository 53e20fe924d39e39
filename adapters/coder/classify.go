package coder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coder/coder/v2/codersdk"

	"github.com/assay-dev/assay/core"
)

const (
	// maxMessage bounds Failure.Message, in bytes.
	maxMessage = 160
	// maxErrorBody bounds what is read of an answer that tells a failure.
	maxErrorBody = 64 << 10
)

// ForeignAnswer begins the Message of every failure that somebody else than Coder
// told, such as a proxy or a login page.
const ForeignAnswer = "not Coder: "

// outcome is what became of a request that did not succeed.
type outcome struct {
	// sent tells that a connection took the request: from then on bytes of it may
	// have left.
	sent bool
	// answered tells that a whole answer came.
	answered bool
	// coders tells that Coder itself spoke: the answer carries its version header and
	// JSON, with a message if the status tells a failure. A proxy's pages do not.
	coders bool
	status int
}

// rules put an outcome into the domain's words; the first that applies decides. A
// change is anything that can take effect in Coder.
var rules = []struct {
	what    string
	applies func(outcome) bool
	read    core.FailureClass
	change  core.FailureClass
}{
	{"no connection: dial, name or TLS failed", func(o outcome) bool { return !o.sent }, core.FailureUnavailable, core.FailureNoEffect},
	{"no answer, or only a part of one", func(o outcome) bool { return !o.answered }, core.FailureUnavailable, core.FailureUncertain},
	{"somebody else's answer", func(o outcome) bool { return !o.coders }, core.FailureUnavailable, core.FailureUncertain},
	{"not a 4xx", func(o outcome) bool { return o.status < 400 || o.status > 499 }, core.FailureUnavailable, core.FailureUncertain},
	{"401", is(http.StatusUnauthorized), core.FailureUnauthorized, core.FailureUnauthorized},
	{"403", is(http.StatusForbidden), core.FailureForbidden, core.FailureForbidden},
	{"404", is(http.StatusNotFound), core.FailureNotFound, core.FailureNotFound},
	{"406", is(http.StatusNotAcceptable), core.FailureImporting, core.FailureImporting},
	{"425, with which reads of a version say the same as 406", is(http.StatusTooEarly), core.FailureImporting, core.FailureImporting},
	{"409", is(http.StatusConflict), core.FailureConflict, core.FailureConflict},
	{"410", is(http.StatusGone), core.FailureGone, core.FailureGone},
	{"429", is(http.StatusTooManyRequests), core.FailureRateLimited, core.FailureRateLimited},
	{"any other 4xx", func(outcome) bool { return true }, core.FailureRejected, core.FailureRejected},
}

func is(status int) func(outcome) bool {
	return func(o outcome) bool { return o.status == status }
}

// failure makes the error of a request from what became of it.
func (q request) failure(o outcome, message string) *core.Failure {
	for _, rule := range rules {
		if !rule.applies(o) {
			continue
		}
		class := rule.read
		if q.change {
			class = rule.change
		}
		return &core.Failure{Class: class, Op: q.op, Status: o.status, Message: bounded(message)}
	}
	panic("the last rule applies to every outcome")
}

// judge reads an answer's status and headers. It returns nil for a success of Coder,
// and otherwise the failure that the answer tells; it reads the body then.
func (q request) judge(response *http.Response) *core.Failure {
	o := outcome{sent: true, answered: true, status: response.StatusCode}
	if lack := notCoders(response, q.stream); lack != "" {
		return q.failure(o, ForeignAnswer+"the answer "+lack)
	}
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return nil
	}
	// Details and validations are not even decoded: they can repeat values.
	var said struct {
		Message string `json:"message"`
	}
	err := json.NewDecoder(io.LimitReader(response.Body, maxErrorBody)).Decode(&said)
	if err != nil || said.Message == "" {
		return q.failure(o, ForeignAnswer+"the answer lacks a JSON message")
	}
	o.coders = true
	failure := q.failure(o, said.Message)
	if failure.Class == core.FailureRateLimited {
		failure.RetryAfter = retryAfter(response.Header)
	}
	return failure
}

// notCoders says what keeps an answer from being Coder's own, or "".
func notCoders(response *http.Response, stream bool) string {
	if response.StatusCode >= 300 && response.StatusCode <= 399 {
		if to, err := response.Location(); err == nil {
			// The query of a login page can hold secrets.
			return fmt.Sprintf("redirects to %s://%s%s", to.Scheme, to.Host, to.EscapedPath())
		}
		return "redirects"
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	kind = strings.TrimSpace(kind)
	if strings.EqualFold(kind, "text/html") {
		return "is an HTML page"
	}
	if response.Header.Get(codersdk.BuildVersionHeader) == "" {
		return "lacks the header " + codersdk.BuildVersionHeader
	}
	want := "application/json"
	if stream && response.StatusCode == http.StatusOK {
		want = "text/event-stream"
	}
	if !strings.EqualFold(kind, want) {
		return "is not " + want
	}
	return ""
}

// unanswered is the failure of a request that brought no answer. sent tells whether a
// connection took it.
func (q request) unanswered(ctx context.Context, sent bool, err error) *core.Failure {
	return q.failure(outcome{sent: sent}, networkText(ctx, err))
}

// unreadable is the failure of a success whose body is no good: it was cut off, or
// is not what Coder sends.
func (q request) unreadable(ctx context.Context, status int, err error) *core.Failure {
	if ctx.Err() != nil {
		return q.failure(outcome{sent: true, status: status}, networkText(ctx, err))
	}
	// A decoder's error can repeat what it read.
	return q.failure(outcome{sent: true, answered: true, status: status}, "the answer cannot be read as Coder's")
}

// networkText says in short what the network did, without the URL, which can be
// long and is known to whoever asked.
func networkText(ctx context.Context, err error) string {
	var cause *url.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	switch {
	case errors.Is(context.Cause(ctx), errStreamIdle):
		return errStreamIdle.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return "the request was canceled"
	default:
		return err.Error()
	}
}

// retryAfter reads how long Coder asks to wait: seconds, or a date, which is
// compared with the answer's own date. It is 0 when that says nothing.
func retryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		// Out of range it is the largest there is: long.
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, until.Sub(now))
}

// bounded cuts a message to maxMessage bytes at a rune's boundary and takes out what
// would break a line.
func bounded(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "?"))
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut]
}
