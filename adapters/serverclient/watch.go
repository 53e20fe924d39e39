package serverclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
)

const (
	// silence is how long a stream may be silent before its connection counts as lost: the
	// server gives a sign of life every 15 s.
	silence = 45 * time.Second
	// maxEvent bounds a line of a stream, in bytes.
	maxEvent = 1 << 20
)

// Watch hands the transitions of a test to on, in their order and each once, from the first
// one after the number on: 0 is the first of all. For uuid.Nil it hands over those of all
// tests that the caller may see, and those from now on for a number below 0. A connection
// that is lost is made anew. Watch returns nil once the test's record is gone, and else the
// error of on, of ctx, or of a server that refuses or is away (ErrAway).
func (s *Server) Watch(ctx context.Context, test uuid.UUID, after int64, on func(core.TestTransition) error) error {
	wait := s.waiting()
	for {
		reader := &stream{after: after, on: on}
		err := s.stream(ctx, test, reader)
		if reader.alive {
			wait.answered()
		}
		after = reader.after
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errGone):
			return nil
		case err == nil:
			// The server ends a stream that lasted long enough.
			continue
		case !passing(err):
			return err
		}
		if err := wait.again(ctx, err); err != nil {
			return err
		}
	}
}

// errGone: the test's record is gone.
var errGone = errors.New("the test is gone")

func (s *Server) stream(ctx context.Context, test uuid.UUID, reader *stream) error {
	// Whoever hears nothing for too long gives up the connection.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := s.clock.AfterFunc(silence, cancel)
	defer func() { timer.Stop() }()
	var last *string
	if reader.after >= 0 {
		last = new(strconv.FormatInt(reader.after, 10))
	}
	var response *http.Response
	var err error
	if test == uuid.Nil {
		response, err = s.client.WatchTests(ctx, &WatchTestsParams{LastEventID: last})
	} else {
		response, err = s.client.WatchTest(ctx, test, &WatchTestParams{LastEventID: last})
	}
	if err != nil {
		return &lostError{err}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return refusal(response)
	}
	return reader.read(response.Body, func() {
		timer.Stop()
		timer = s.clock.AfterFunc(silence, cancel)
	})
}

// stream reads server-sent events (HTML standard, section 9.2), as far as this server uses
// them.
type stream struct {
	after int64
	on    func(core.TestTransition) error
	// alive: something came.
	alive bool
}

// read reads until the stream ends: errGone for the end of a test, nil for one that the
// server wants to be asked for anew. It calls heard for each line.
func (s *stream) read(body io.Reader, heard func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	event, data, id := "", []byte(nil), int64(0)
	for lines.Scan() {
		s.alive = true
		heard()
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) > 0:
			switch string(name) {
			case "event":
				event = string(value)
			case "data":
				data = append(data[:0], value...)
			case "id":
				id, _ = strconv.ParseInt(string(value), 10, 64)
			}
			continue
		case event == "" && len(data) == 0:
			// Where the stream is, before its first event.
			s.after = max(s.after, id)
		case event == "gone":
			return errGone
		case event == "end":
			return nil
		case event == "transition":
			if err := s.take(data); err != nil {
				return err
			}
		}
		event, data, id = "", data[:0], 0
	}
	if err := lines.Err(); err != nil {
		return &lostError{err}
	}
	return &lostError{io.ErrUnexpectedEOF}
}

func (s *stream) take(data []byte) error {
	var transition core.TestTransition
	if err := json.Unmarshal(data, &transition); err != nil {
		return fmt.Errorf("the server's event is no transition: %w", err)
	}
	// After a lost connection some can come twice.
	if transition.Seq <= s.after {
		return nil
	}
	if err := s.on(transition); err != nil {
		return err
	}
	s.after = transition.Seq
	return nil
}
