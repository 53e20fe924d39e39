package coderd

import (
	"bytes"
	"net/http"
	"time"
)

// Hook says what happens to a request on its way. It is called by many goroutines.
type Hook func(*http.Request) Fault

// Fault is what happens to one request. The zero Fault is nothing.
type Fault struct {
	Kind FaultKind
	// Status is what a proxy answers with: 502 for Page and 404 for Plain by default.
	Status int
	// Delay is how long a Slow answer takes, by the clock.
	Delay time.Duration
	// Effect tells that Coder got the request all the same; its answer is lost.
	Effect bool
}

// FaultKind is what happens to a request.
type FaultKind int

// The kinds of faults.
const (
	// Nothing: Coder answers.
	Nothing FaultKind = iota
	// Page: a proxy answers with an HTML page, without Coder's header.
	Page
	// Plain: a proxy answers with JSON that looks like Coder's, without its header.
	Plain
	// Redirect: a proxy sends the caller to a login page.
	Redirect
	// Slow: Coder answers after Delay; the request has its effect before.
	Slow
	// Drop: the connection is closed without an answer.
	Drop
	// Cut: the connection is closed in the middle of Coder's answer.
	Cut
)

// answerThrough answers as the fault wants.
func (s *Server) answerThrough(fault Fault, rw http.ResponseWriter, r *http.Request) {
	if fault.Effect && (fault.Kind == Page || fault.Kind == Plain || fault.Kind == Redirect || fault.Kind == Drop) {
		s.answer(newRecorder(), r)
	}
	status := func(otherwise int) int {
		if fault.Status != 0 {
			return fault.Status
		}
		return otherwise
	}
	switch fault.Kind {
	case Page:
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.WriteHeader(status(http.StatusBadGateway))
		_, _ = rw.Write([]byte("<html><body><h1>The upstream did not answer</h1></body></html>\n"))
	case Plain:
		write(rw, status(http.StatusNotFound), map[string]string{"message": "no such upstream"})
	case Redirect:
		http.Redirect(rw, r, "/login", status(http.StatusFound))
	case Slow:
		s.answerLate(fault.Delay, rw, r)
	case Drop:
		panic(http.ErrAbortHandler)
	case Cut:
		s.cut(rw, r)
	default:
		s.answer(rw, r)
	}
}

// answerLate holds Coder's answer back; a caller that gives up meanwhile gets none.
func (s *Server) answerLate(delay time.Duration, rw http.ResponseWriter, r *http.Request) {
	answer := newRecorder()
	s.answer(answer, r)
	due := make(chan struct{})
	timer := s.clock.AfterFunc(delay, func() { close(due) })
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	case <-due:
	}
	relay(rw, answer, answer.body.Len())
}

// cut sends half of Coder's answer.
func (s *Server) cut(rw http.ResponseWriter, r *http.Request) {
	answer := newRecorder()
	s.answer(answer, r)
	relay(rw, answer, answer.body.Len()/2)
	_ = http.NewResponseController(rw).Flush()
	panic(http.ErrAbortHandler)
}

// relay passes on the first n bytes of an answer.
func relay(rw http.ResponseWriter, answer *recorder, n int) {
	for name, values := range answer.header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(answer.status)
	_, _ = rw.Write(answer.body.Bytes()[:n])
}

// recorder keeps an answer that does not leave.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, status: http.StatusOK} }

func (a *recorder) Header() http.Header         { return a.header }
func (a *recorder) WriteHeader(status int)      { a.status = status }
func (a *recorder) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *recorder) Flush()                      {}
