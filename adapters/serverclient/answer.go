package serverclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// maxProblem bounds the body of a refusal, in bytes.
const maxProblem = 64 << 10

// refusal is what an answer says that is no success.
func refusal(response *http.Response) *Error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	refused := &Error{Status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		refused.retryAfter = time.Duration(min(seconds, 3600)) * time.Second
	}
	// What stands in the way, such as a proxy, answers in its own words.
	var problem ErrorModel
	if json.Unmarshal(text, &problem) != nil {
		return refused
	}
	refused.Detail = core.PrintableLine(valueOf(problem.Detail))
	if problem.Errors != nil {
		for _, detail := range *problem.Errors {
			location := valueOf(detail.Location)
			for _, part := range []string{"body.", "query.", "path."} {
				location = strings.TrimPrefix(location, part)
			}
			refused.Fields = append(refused.Fields, core.FieldError{Field: core.PrintableLine(location), Rule: core.PrintableLine(valueOf(detail.Message))})
		}
	}
	return refused
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

const (
	firstWait   = 500 * time.Millisecond
	longestWait = 10 * time.Second
)

// waiting spaces the repetitions of a request, or of a stream.
type waiting struct {
	clock    ports.Clock
	patience time.Duration
	retrying func(err error)
	// since is when the server was first away, by the monotonic clock.
	since time.Duration
	next  time.Duration
}

func (s *Server) waiting() *waiting {
	return &waiting{clock: s.clock, patience: s.patience, retrying: s.retrying, since: s.clock.Monotonic(), next: firstWait}
}

// again waits until the request may be repeated after err. It returns an error where that
// would take longer than patience lasts.
func (w *waiting) again(ctx context.Context, err error) error {
	wait := w.next
	if refused := new(Error); errors.As(err, &refused) {
		wait = cmp.Or(refused.retryAfter, wait)
	}
	if w.clock.Monotonic()-w.since+wait > w.patience {
		return fmt.Errorf("%w (tried for %v): %w", ErrAway, (w.clock.Monotonic() - w.since).Round(time.Second), err)
	}
	if w.next == firstWait {
		w.retrying(err)
	}
	w.next = min(2*w.next, longestWait)
	due := make(chan struct{})
	timer := w.clock.AfterFunc(wait, func() { close(due) })
	defer timer.Stop()
	select {
	case <-due:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answered begins the patience anew.
func (w *waiting) answered() { w.since, w.next = w.clock.Monotonic(), firstWait }
