// Package serverclient has tests run on assay's server. client.gen.go is the client that
// is generated from the server's OpenAPI document, for whoever wants each operation as it
// is. Server is what most programs want: it repeats what may be repeated, follows a test
// over lost connections, and speaks in the types of package core.
package serverclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

// DefaultPatience is how long a server may be away before a call gives up.
const DefaultPatience = time.Minute

const (
	// requestTime bounds one request that is no stream.
	requestTime = 30 * time.Second
	// maxAnswer bounds the body of an answer, in bytes. The largest is evidence, which the
	// server bounds at some MiB.
	maxAnswer = 64 << 20
)

// Config says which server, and as whom.
type Config struct {
	// URL is the server's address, such as "https://assay.example.com". A path is taken for
	// the one below which a proxy serves it.
	URL string
	// Token is a token of the server; empty for one without authentication.
	Token core.Secret
	// CACertificates are further certificate authorities in PEM.
	CACertificates string
	// AllowClearText lets the token travel over http:// to other machines.
	AllowClearText bool
	// Patience is how long the server may be away; 0 means DefaultPatience.
	Patience time.Duration
	// Retrying hears of the first failure in a row that is followed by another try; nil for
	// nobody. It must not block.
	Retrying func(err error)
	Clock    ports.Clock
}

// Server is assay's server, as one caller sees it. It is safe for concurrent use.
type Server struct {
	client   *Client
	patience time.Duration
	retrying func(err error)
	clock    ports.Clock
}

// New makes a Server. It asks nobody. Its errors name no field and hold no token.
func New(config Config) (*Server, error) {
	address, err := checkURL(config)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if config.CACertificates != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(config.CACertificates)) {
			return nil, errors.New("the certificate authorities hold no certificate in PEM")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	client, err := NewClient(address,
		WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: refuseRedirects}),
		WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			if token := config.Token.Reveal(); token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}))
	if err != nil {
		return nil, err
	}
	if config.Patience == 0 {
		config.Patience = DefaultPatience
	}
	if config.Retrying == nil {
		config.Retrying = func(error) {}
	}
	return &Server{client: client, patience: config.Patience, retrying: config.Retrying, clock: config.Clock}, nil
}

// refuseRedirects keeps the token from going where somebody else says.
func refuseRedirects(request *http.Request, _ []*http.Request) error {
	return fmt.Errorf("the server sends the request on to %s: give that address if it is the server's", request.URL.Host)
}

func checkURL(config Config) (string, error) {
	const example = `"https://assay.example.com"`
	parsed, err := url.Parse(strings.TrimSpace(config.URL))
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		// What was given can hold a password, so it is not shown.
		return "", errors.New("must be the address of a server, such as " + example)
	case parsed.User != nil:
		return "", errors.New("must hold no name and no password: tokens are given in another way")
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return "", errors.New("must end before ? and #, such as " + example)
	case parsed.Scheme == "http" && config.Token.Reveal() != "" && !config.AllowClearText && !isLoopback(parsed.Hostname()):
		return "", errors.New("the token would travel in plain text: use https")
	}
	return strings.TrimRight(parsed.String(), "/"), nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// Error is a request that the server refused. Nothing was changed.
type Error struct {
	// Status is the status code of HTTP.
	Status int
	// Detail is the server's word for it.
	Detail string
	// Fields are the parts of the request that break a rule.
	Fields []core.FieldError
	// retryAfter is how long the server wants to be left alone.
	retryAfter time.Duration
}

func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = http.StatusText(e.Status)
	}
	for _, field := range e.Fields {
		text += "; " + strings.TrimPrefix(field.Field+": ", ": ") + field.Rule
	}
	return fmt.Sprintf("%s (HTTP %d)", text, e.Status)
}

// ErrAway is wrapped by errors of a server that did not answer for as long as the caller's
// patience lasted. Whether the request took effect is unknown.
var ErrAway = errors.New("the server does not answer")

// Create has the server make the test that the record describes, and returns its record:
// the ID is the server's. However often the request had to be sent, one test is made for
// a key.
func (s *Server) Create(ctx context.Context, record core.Record, key string) (core.Record, error) {
	body := newTest(record)
	var test Test
	err := s.do(ctx, func(ctx context.Context) (*http.Response, error) {
		return s.client.CreateTest(ctx, &CreateTestParams{IdempotencyKey: &key}, body)
	}, &test)
	if err != nil {
		return core.Record{}, err
	}
	return recordOf(&test)
}

// Test is the record of a test as it is now, as far as the server tells of it, and how long
// its stages took.
func (s *Server) Test(ctx context.Context, id uuid.UUID) (core.Record, []Stage, error) {
	var test Test
	err := s.do(ctx, func(ctx context.Context) (*http.Response, error) { return s.client.GetTest(ctx, id) }, &test)
	if err != nil {
		return core.Record{}, nil, err
	}
	record, err := recordOf(&test)
	if test.Stages == nil {
		return record, nil, err
	}
	return record, *test.Stages, err
}

// Tests are the records of up to limit tests, the newest first, without the values of
// their parameters; more tells that there are further ones. 0 is no bound.
func (s *Server) Tests(ctx context.Context, limit int) (records []core.Record, more bool, err error) {
	cursor := ""
	for {
		length := int64(core.MaxTestPage)
		if limit > 0 {
			length = min(length, int64(limit-len(records)))
		}
		params := ListTestsParams{Limit: &length}
		if cursor != "" {
			params.Cursor = &cursor
		}
		var page Page
		err := s.do(ctx, func(ctx context.Context) (*http.Response, error) { return s.client.ListTests(ctx, &params) }, &page)
		if err != nil || page.Tests == nil {
			return records, false, err
		}
		for i := range *page.Tests {
			record, err := recordOf(&(*page.Tests)[i])
			if err != nil {
				return nil, false, err
			}
			records = append(records, record)
		}
		switch {
		case page.Next == nil:
			return records, false, nil
		case limit > 0 && len(records) >= limit:
			return records, true, nil
		}
		cursor = *page.Next
	}
}

// Stop stores the wish that a test stops, cleans up and goes. Repeating it changes nothing.
func (s *Server) Stop(ctx context.Context, id uuid.UUID) error {
	return s.do(ctx, func(ctx context.Context) (*http.Response, error) { return s.client.DeleteTest(ctx, id) }, nil)
}

// SetDeletionPolicy says what becomes of the workspace once the test has failed.
func (s *Server) SetDeletionPolicy(ctx context.Context, id uuid.UUID, policy core.DeletionPolicy) error {
	return s.do(ctx, func(ctx context.Context) (*http.Response, error) {
		return s.client.SetDeletionPolicy(ctx, id, PolicyInputBody{DeletionPolicy: PolicyInputBodyDeletionPolicy(policy)})
	}, nil)
}

// Evidence is what was read about a failed test; found is false where there is none.
func (s *Server) Evidence(ctx context.Context, record core.Record) (evidence core.Evidence, found bool, err error) {
	var stored StoredEvidence
	err = s.do(ctx, func(ctx context.Context) (*http.Response, error) { return s.client.GetEvidence(ctx, record.ID) }, &stored)
	if IsNotFound(err) {
		return core.Evidence{}, false, nil
	}
	if err != nil {
		return core.Evidence{}, false, err
	}
	return evidenceOf(&stored, record), true, nil
}

// ControlPlanes are the control planes that the caller may see.
func (s *Server) ControlPlanes(ctx context.Context) ([]Plane, error) {
	var planes []Plane
	err := s.do(ctx, func(ctx context.Context) (*http.Response, error) { return s.client.ListControlPlanes(ctx) }, &planes)
	return planes, err
}

// IsNotFound reports whether the server has no such thing, or the caller may not see it.
func IsNotFound(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// do sends a request that may be repeated until the server answers, and decodes the answer
// into into unless that is nil.
func (s *Server) do(ctx context.Context, send func(ctx context.Context) (*http.Response, error), into any) error {
	wait := s.waiting()
	for {
		err := once(ctx, send, into)
		if !passing(err) || ctx.Err() != nil {
			return err
		}
		if err := wait.again(ctx, err); err != nil {
			return err
		}
	}
}

func once(ctx context.Context, send func(ctx context.Context) (*http.Response, error), into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	response, err := send(ctx)
	if err != nil {
		return &lostError{err}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusal(response)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return &lostError{err}
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer is not that of an assay server: %w", err)
	}
	return nil
}

// lostError is a request whose answer did not come.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// passing reports whether the request may be repeated, because later it may go better.
func passing(err error) bool {
	var lost *lostError
	var refused *Error
	switch {
	case errors.As(err, &lost):
		var certificate *tls.CertificateVerificationError
		return !errors.As(err, &certificate)
	case errors.As(err, &refused):
		switch refused.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
	}
	return false
}
