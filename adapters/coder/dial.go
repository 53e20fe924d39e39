package coder

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/assay-dev/assay/core"
	"github.com/assay-dev/assay/ports"
)

const (
	// defaultTimeout bounds each request, its answer's body included.
	defaultTimeout = 30 * time.Second
	// defaultPageSize is how many builds or workspaces are asked for at once.
	defaultPageSize = 100
	// heartbeat is how often Coder pings an open stream.
	heartbeat = 15 * time.Second
)

// Runner asks one Coder deployment, with the rights of one user. It holds idle
// connections for some time after its last request, and nothing else.
type Runner struct {
	// base is the deployment's URL without a trailing slash.
	base  string
	token core.Secret
	// reads reuses connections. changes makes a new one for each request: on a reused
	// one that the peer has closed meanwhile, nobody can tell whether a create request
	// was taken.
	reads, changes *http.Client
	timeout        time.Duration
	streamIdle     time.Duration
	pageSize       int
	// observe is told of each request; nil for nobody.
	observe Observer
}

var _ ports.CodeRunner = (*Runner)(nil)

// Option changes how a Runner works.
type Option func(*Runner)

// WithTimeout bounds each request, 30 s by default. Streams are bounded by it until
// they are open.
func WithTimeout(d time.Duration) Option { return func(r *Runner) { r.timeout = d } }

// WithStreamIdle ends a stream that brought nothing for d, not even Coder's ping:
// 30 s by default, twice Coder's interval.
func WithStreamIdle(d time.Duration) Option { return func(r *Runner) { r.streamIdle = d } }

// WithPageSize says how many builds or workspaces are asked for at once, 100 by
// default.
func WithPageSize(n int) Option { return func(r *Runner) { r.pageSize = n } }

// Dial is a ports.Dialer: New without options.
func Dial(connection core.Connection) (ports.CodeRunner, error) {
	return New(connection)
}

var _ ports.Dialer = Dial

// New makes a Runner for the connection. It does no request; an error says what in
// the connection cannot be used, and never holds its token.
func New(connection core.Connection, options ...Option) (*Runner, error) {
	base, err := parseURL(connection.URL)
	if err != nil {
		return nil, fmt.Errorf("coder URL: %w", err)
	}
	if err := CheckToken(connection.Token); err != nil {
		return nil, fmt.Errorf("coder token: %w", err)
	}
	trust, err := tlsConfig(connection)
	if err != nil {
		return nil, err
	}
	r := &Runner{
		base: strings.TrimRight(base.String(), "/"), token: connection.Token,
		reads: httpClient(trust, false), changes: httpClient(trust, true),
		timeout: defaultTimeout, streamIdle: 2 * heartbeat, pageSize: defaultPageSize,
	}
	for _, option := range options {
		option(r)
	}
	return r, nil
}

// SendsTokenInClear reports whether requests to the URL would carry the token
// unencrypted over a network: plain http to anything but a loopback address.
// Whether to accept that is the caller's decision.
func SendsTokenInClear(rawURL string) bool {
	parsed, err := parseURL(rawURL)
	if err != nil || parsed.Scheme != "http" {
		return false
	}
	host := parsed.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		return !address.Unmap().IsLoopback()
	}
	return !strings.EqualFold(host, "localhost")
}

// CheckURL says why the URL cannot be the address of a deployment, and how to mend it;
// nil when it can. It asks nobody, and its errors hold no password and no query.
func CheckURL(rawURL string) error {
	_, err := parseURL(rawURL)
	return err
}

// CheckToken says why the token cannot be a session token of Coder; nil when it can.
// It asks nobody, and its errors do not hold the token.
func CheckToken(token core.Secret) error {
	if strings.ContainsFunc(token.Reveal(), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("it holds a space, a line break or another character that no token has")
	}
	return nil
}

// parseURL checks the address of a deployment. Its errors show how to mend it.
func parseURL(raw string) (*url.URL, error) {
	const example = `"https://coder.example.com"`
	if strings.TrimSpace(raw) == "" {
		return nil, errors.New("is empty: give one such as " + example)
	}
	if !strings.Contains(raw, "://") {
		if strings.ContainsAny(raw, "@?") {
			// What stands before the one or behind the other can be a secret.
			return nil, errors.New("has no scheme: give one such as " + example)
		}
		return nil, fmt.Errorf("%q has no scheme: write %q", raw, "https://"+raw)
	}
	parsed, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse repeats the URL, and with it a password.
		return nil, errors.New("cannot be parsed: give one such as " + example)
	}
	bare := *parsed
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment, bare.RawFragment = nil, "", false, "", ""
	switch {
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return nil, fmt.Errorf("%q has the scheme %q: use https or http", bare.String(), parsed.Scheme)
	case parsed.Hostname() == "":
		return nil, fmt.Errorf("%q names no host: give one such as "+example, bare.String())
	case parsed.User != nil:
		return nil, fmt.Errorf("holds a user name or password: take it out and write %q, the token is given on its own", bare.String())
	case parsed.RawQuery != "" || parsed.ForceQuery || strings.Contains(raw, "#"):
		return nil, fmt.Errorf("has a query or fragment: take it out and write %q", bare.String())
	}
	return parsed, nil
}

func tlsConfig(connection core.Connection) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: connection.ServerName}
	if connection.CACertificates == "" {
		return config, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(connection.CACertificates)) {
		return nil, errors.New(`coder CA certificates hold no certificate in PEM ("-----BEGIN CERTIFICATE-----")`)
	}
	config.RootCAs = pool
	return config, nil
}

// httpClient makes a client with a transport of its own. A redirect is an answer
// like any other: following one to a login page would take that page for Coder's.
func httpClient(trust *tls.Config, newConnections bool) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       trust.Clone(),
			TLSHandshakeTimeout:   10 * time.Second,
			ForceAttemptHTTP2:     true,
			DisableKeepAlives:     newConnections,
			MaxIdleConns:          16,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
			// A silent connection is found out before requests on it time out.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		},
	}
}
