package main

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assay-dev/assay/adapters/systemclock"
	"github.com/assay-dev/assay/fakes/world"
)

// door is an address that can be shut: connections to it are refused then, and those
// that there were are cut.
type door struct {
	t       *testing.T
	address string
	handler http.Handler
	mu      sync.Mutex
	server  *http.Server
	ended   bool
}

// newDoor makes a shut door in front of the handler, and makes it CODER_URL.
func (tr *trial) newDoor(handler http.Handler) *door {
	tr.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tr.t.Fatal(err)
	}
	defer listener.Close()
	d := &door{t: tr.t, address: listener.Addr().String(), handler: handler}
	tr.env["CODER_URL"] = "http://" + d.address
	tr.t.Cleanup(func() {
		d.shut()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended = true
	})
	return d
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.server != nil {
		return
	}
	listener, err := net.Listen("tcp", d.address)
	for tries := 0; err != nil && tries < 100; tries++ {
		// A passing connection of somebody else may have the port.
		<-time.After(20 * time.Millisecond)
		listener, err = net.Listen("tcp", d.address)
	}
	if err != nil {
		d.t.Errorf("open the door again: %v", err)
		return
	}
	server := &http.Server{Handler: d.handler, ReadHeaderTimeout: time.Minute}
	d.server = server
	go func() { _ = server.Serve(listener) }()
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		_ = d.server.Close()
		d.server = nil
	}
}

// instead answers the first so many requests that match in Coder's place.
func instead(times int64, matches func(*http.Request) bool, answer http.Handler) between {
	return func(coder http.Handler) http.Handler {
		var count atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if matches(r) && count.Add(1) <= times {
				answer.ServeHTTP(w, r)
				return
			}
			coder.ServeHTTP(w, r)
		})
	}
}

// losing hands the first request that matches on to Coder and answers it by itself.
func losing(matches func(*http.Request) bool, answer http.Handler) between {
	return func(coder http.Handler) http.Handler {
		both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			coder.ServeHTTP(&nowhere{header: http.Header{}}, r)
			answer.ServeHTTP(w, r)
		})
		return instead(1, matches, both)(coder)
	}
}

// nowhere is where lost answers go.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header       { return n.header }
func (*nowhere) WriteHeader(int)             {}
func (*nowhere) Write(b []byte) (int, error) { return len(b), nil }

// slow holds back the beginning and the second half of everything that Coder sends.
func slow(coder http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		coder.ServeHTTP(&dripping{w, http.NewResponseController(w), r}, r)
	})
}

type dripping struct {
	http.ResponseWriter
	control *http.ResponseController
	request *http.Request
}

// Unwrap lets a ResponseController reach what it controls.
func (d *dripping) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *dripping) Write(b []byte) (int, error) {
	written := 0
	for _, part := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		select {
		case <-time.After(15 * time.Millisecond):
		case <-d.request.Context().Done():
			return written, d.request.Context().Err()
		}
		n, err := d.ResponseWriter.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		_ = d.control.Flush()
	}
	return written, nil
}

// limit answers the first request that matches with Coder's 429. early counts the
// requests that match and came before the time that it gave.
type limit struct {
	matches func(*http.Request) bool
	// after is how long to wait; as a date if dated, and the answer's own date then
	// begins the wait.
	after time.Duration
	dated bool

	early atomic.Int64
	mu    sync.Mutex
	until time.Duration
}

func (l *limit) between(coder http.Handler) http.Handler {
	clock := systemclock.New()
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", strconv.Itoa(int(l.after.Seconds())))
		if l.dated {
			now := clock.Now()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			w.Header().Set("Retry-After", now.Add(l.after).Format(http.TimeFormat))
		}
		w.Header().Set("X-Coder-Build-Version", world.Version)
		l.mu.Lock()
		l.until = clock.Monotonic() + l.after
		l.mu.Unlock()
		page(http.StatusTooManyRequests, jsonKind, `{"message":"You've been rate limited for sending too many requests!"}`)(w, nil)
	})
	limited := instead(1, l.matches, answer)(coder)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		if l.matches(r) && clock.Monotonic() < l.until {
			l.early.Add(1)
		}
		l.mu.Unlock()
		limited.ServeHTTP(w, r)
	})
}

// asks tells requests whose path ends so.
func asks(end string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, end) }
}
