package server

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The environment variables that stand for flags. What holds a password has no flag:
// arguments are visible to every user of the machine.
const (
	envControlPlanes = "ASSAY_CONTROL_PLANES"
	envDatabaseURL   = "ASSAY_DATABASE_URL"
)

// Options are the server's flags.
type Options struct {
	// Listen is ADDR:PORT.
	Listen string
	// ControlPlanes, Tokens and Webhooks are files.
	ControlPlanes, Tokens, Webhooks string
	// Database is the SQLite file; DatabaseURLFile holds the URL of a PostgreSQL database.
	Database, DatabaseURLFile string

	OIDCIssuer, OIDCAudience, OIDCRoles string
	OIDCNameClaim, OIDCGroupsClaim      string
	TLSCert, TLSKey, SessionKeyFile     string
	// BehindProxy: a proxy in front speaks TLS.
	BehindProxy bool

	// RequestsPerSecond bounds each caller; Burst is how many may come at once.
	RequestsPerSecond float64
	Burst             int

	// KeepEvidence and KeepHistory are how long evidence, and transitions of tests that are
	// gone, are kept.
	KeepEvidence, KeepHistory time.Duration
	// Workers is how many tests step at once.
	Workers int
	// ShutdownGrace is how long requests and steps in hand may take when the server ends.
	ShutdownGrace       time.Duration
	LogFormat, LogLevel string
}

const (
	formatJSON = "json"
	formatText = "text"
)

func (o *Options) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8787", "`ADDRESS:PORT` to listen at; anything but loopback needs authentication and TLS")
	flags.StringVar(&o.ControlPlanes, "control-planes", "", "`FILE` with the Coder deployments that can be tested on (or "+envControlPlanes+"); read again when it changes")
	flags.StringVar(&o.Tokens, "tokens", "", "`FILE` with the hashes of the callers' tokens and their roles; read again when it changes")
	flags.StringVar(&o.OIDCIssuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose ID tokens are taken too")
	flags.StringVar(&o.OIDCAudience, "oidc-audience", "", "`NAME` of this server at the issuer: whom its tokens must be for")
	flags.StringVar(&o.OIDCRoles, "oidc-roles", "", "`FILE` that says which roles the issuer's groups have; read again when it changes")
	flags.StringVar(&o.OIDCNameClaim, "oidc-name-claim", "sub", "`CLAIM` that names the caller: one that nobody can choose")
	flags.StringVar(&o.OIDCGroupsClaim, "oidc-groups-claim", "groups", "`CLAIM` that lists the caller's groups")
	flags.StringVar(&o.TLSCert, "tls-cert", "", "`FILE` with the certificate chain in PEM; read again when it changes")
	flags.StringVar(&o.TLSKey, "tls-key", "", "`FILE` with the certificate's key in PEM")
	flags.BoolVar(&o.BehindProxy, "behind-proxy", false, "a proxy in front speaks TLS, and adds to X-Forwarded-For whose requests it hands on")
	flags.StringVar(&o.SessionKeyFile, "session-key-file", "", "`FILE` with 32 random bytes that seal the page's sessions, the same for all servers; without it sessions end with the server")
	flags.StringVar(&o.Database, "database", "", "`FILE` of the SQLite database (default ${XDG_STATE_HOME:-~/.local/state}/assay/server.db)")
	flags.StringVar(&o.DatabaseURLFile, "database-url-file", "", "`FILE` with the URL of a PostgreSQL database (or the URL in "+envDatabaseURL+"), for several servers")
	flags.StringVar(&o.Webhooks, "webhooks", "", "`FILE` with the receivers of signed messages about tests; read at the start")
	flags.Float64Var(&o.RequestsPerSecond, "requests-per-second", 20, "how many requests a second each caller may send in the long run")
	flags.IntVar(&o.Burst, "burst", 60, "how many requests a caller may send at once")
	flags.DurationVar(&o.KeepEvidence, "keep-evidence", 7*24*time.Hour, "how long the logs of failed tests are kept; 0 keeps none")
	flags.DurationVar(&o.KeepHistory, "keep-history", 30*24*time.Hour, "how long the transitions of tests that are gone are kept")
	flags.IntVar(&o.Workers, "workers", 8, "how many tests step at once")
	flags.DurationVar(&o.ShutdownGrace, "shutdown-grace", 40*time.Second, "how long requests and steps in hand may take when the server ends")
	flags.StringVar(&o.LogFormat, "log-format", formatJSON, "json or text")
	flags.StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
}

// resolve fills in what the environment says, and reports every flag that breaks a rule.
func (o *Options) resolve(env Env) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.ControlPlanes == "" {
		o.ControlPlanes = env.lookup(envControlPlanes)
	}
	if o.ControlPlanes == "" {
		fail("--control-planes: must name the file with the Coder deployments; docs/how-to/http-server.md has one to begin with")
	}
	if o.Database != "" && (o.DatabaseURLFile != "" || env.lookup(envDatabaseURL) != "") {
		fail("--database: names an SQLite file beside a PostgreSQL database (--database-url-file or %s): choose one", envDatabaseURL)
	}
	if strings.Contains(o.Database, "://") {
		fail("--database: must be a file; put the URL of a PostgreSQL database into a file, and name that with --database-url-file: arguments are visible to every user of the machine")
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		fail("--tls-cert, --tls-key: one needs the other")
	}
	if given := []bool{o.OIDCIssuer != "", o.OIDCAudience != "", o.OIDCRoles != ""}; slices.Contains(given, true) && slices.Contains(given, false) {
		fail("--oidc-issuer, --oidc-audience, --oidc-roles: all of them are needed, or none")
	}
	if o.RequestsPerSecond <= 0 || o.Burst < 1 {
		fail("--requests-per-second, --burst: must be more than 0")
	}
	if o.KeepEvidence < 0 || o.KeepHistory < time.Hour {
		fail("--keep-evidence must not be negative, --keep-history must be 1h or more")
	}
	if o.Workers < 1 || o.Workers > 1000 {
		fail("--workers: %d: must be 1 to 1000", o.Workers)
	}
	if o.ShutdownGrace < 0 {
		fail("--shutdown-grace: %s: must be 0 or more", o.ShutdownGrace)
	}
	if !slices.Contains([]string{formatJSON, formatText}, o.LogFormat) {
		fail("--log-format: %q: must be json or text", o.LogFormat)
	}
	if _, err := o.level(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *Options) level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return 0, fmt.Errorf("--log-level: %q: must be debug, info, warn or error", o.LogLevel)
	}
	return level, nil
}

// databasePath is the SQLite file: what was given, else the platform's place for it.
func (o *Options) databasePath(env Env) (string, error) {
	if o.Database != "" {
		return o.Database, nil
	}
	base := env.lookup("XDG_STATE_HOME")
	if base == "" && env.lookup("HOME") != "" {
		base = filepath.Join(env.lookup("HOME"), ".local", "state")
	}
	if base == "" {
		return "", errors.New("no place for the database: give --database FILE, or set HOME or XDG_STATE_HOME")
	}
	return filepath.Join(base, "assay", "server.db"), nil
}
